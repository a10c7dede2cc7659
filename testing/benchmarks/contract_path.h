// Any backend of the contract as a row: two open NICs of it, written to by the common loop.

#ifndef TESTING_BENCHMARKS_CONTRACT_PATH_H_
#define TESTING_BENCHMARKS_CONTRACT_PATH_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coro/clock.h"
#include "fabric/fabric.h"
#include "testing/benchmarks/write_loop.h"
#include "testing/benchmarks/write_path.h"

namespace bench {

// One side. Members die in reverse order, the endpoint first.
struct ContractEnd {
  std::unique_ptr<fabric::Domain> domain;
  std::unique_ptr<fabric::CompletionQueue> queue;
  std::unique_ptr<fabric::AddressVector> peers;
  std::unique_ptr<fabric::MemoryRegion> region;
  std::unique_ptr<fabric::Endpoint> endpoint;
};

// The backend under a path. The fabrics may be one. Members die in reverse order.
struct ContractBackend {
  std::string name;                   // of the row
  std::shared_ptr<void> keeps_alive;  // what the fabrics live in, or null
  std::shared_ptr<fabric::Fabric> initiator;
  std::shared_ptr<fabric::Fabric> target;
  // Where polling alone makes no time pass: what does, when nothing is there. Null: nothing needed.
  coro::Clock* idle = nullptr;
};

class ContractPath final : public WritePath {
 public:
  // Opens the first NIC of both fabrics. `buffers` outlives the path. Errors: those of the backend.
  static absl::StatusOr<std::unique_ptr<WritePath>> Open(ContractBackend backend,
                                                         const Buffers& buffers);

  std::string name() const override { return backend_.name; }
  absl::Status Write(const Shape& shape, std::uint64_t count) override;

  // --- What WriteInWindows calls ---
  PostOutcome Post(std::size_t slot, std::size_t bytes);
  PollOutcome PollInitiator() { return Poll(*initiator_.queue); }
  PollOutcome PollTarget() { return Poll(*target_.queue); }
  void Idle() {
    if (backend_.idle != nullptr) backend_.idle->WaitUntil(coro::kNever);
  }
  absl::Status error() const { return error_; }

 private:
  explicit ContractPath(ContractBackend backend) : backend_(std::move(backend)) {}

  PollOutcome Poll(fabric::CompletionQueue& queue);

  ContractBackend backend_;
  ContractEnd initiator_;
  ContractEnd target_;
  fabric::WriteRequest request_;  // the parts that all writes have in common
  std::array<fabric::Completion, 16> completions_;
  absl::Status error_;
};

}  // namespace bench

#endif  // TESTING_BENCHMARKS_CONTRACT_PATH_H_
