// The transfer engine as a row: two engines with a NIC each, on one loop and in one world.

#ifndef DRYDOCK_TESTING_BENCHMARKS_ENGINE_PATH_H_
#define DRYDOCK_TESTING_BENCHMARKS_ENGINE_PATH_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {

// As OpenLivePath (sim_paths.h), but the writes are pages of transfers: `window` of them are under
// way as long as there are any, and the target counts distinct pages. Its Write takes any window,
// and keeps to this one.
absl::StatusOr<std::unique_ptr<WritePath>> OpenLiveEnginePath(const Buffers& buffers,
                                                              std::size_t window);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_ENGINE_PATH_H_
