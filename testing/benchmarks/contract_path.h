// Any backend of the contract as a way to write from one endpoint to another.

#ifndef DRYDOCK_TESTING_BENCHMARKS_CONTRACT_PATH_H_
#define DRYDOCK_TESTING_BENCHMARKS_CONTRACT_PATH_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/coro/clock.h"
#include "drydock/fabric/fabric.h"
#include "drydock/testing/benchmarks/path_of_ends.h"
#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {

// The backend under a path. The fabrics may be one.
struct ContractBackend {
  std::string name;                   // of the row
  std::shared_ptr<void> keeps_alive;  // the world of the fabrics, or null
  std::shared_ptr<fabric::Fabric> initiator;
  std::shared_ptr<fabric::Fabric> target;
  // Advances time after a poll that found nothing, if polling alone does not. Null: not needed.
  coro::Clock* idle = nullptr;
};

// Opens the first NIC of both fabrics. `buffers` outlives the path. Two threads may drive it where
// its endpoints share nothing: not those of one simulated world. Errors: those of the backend.
absl::StatusOr<std::unique_ptr<PairPath>> OpenContractPath(const ContractBackend& backend,
                                                           const Buffers& buffers);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_CONTRACT_PATH_H_
