// One provider of libfabric as rows: by the library's own calls, and by our backend. Both open the
// same interface with the same attributes and look at the same parts of each completion, so that
// what differs is the layer.

#ifndef DRYDOCK_TESTING_BENCHMARKS_LIBFABRIC_PATHS_H_
#define DRYDOCK_TESTING_BENCHMARKS_LIBFABRIC_PATHS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/testing/benchmarks/path_of_ends.h"
#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {

// fi_writemsg with FI_REMOTE_CQ_DATA, fi_cq_read of both queues, and what the loops want to know of
// each entry; nothing in between. kNotFound: the provider offers no interface here.
absl::StatusOr<std::unique_ptr<PairPath>> OpenRawLibfabricPath(const std::string& provider,
                                                               const Buffers& buffers);

// fabric/libfabric, by the contract.
absl::StatusOr<std::unique_ptr<PairPath>> OpenLibfabricBackendPath(const std::string& provider,
                                                                   const Buffers& buffers);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_LIBFABRIC_PATHS_H_
