// The simulator as rows.

#ifndef DRYDOCK_TESTING_BENCHMARKS_SIM_PATHS_H_
#define DRYDOCK_TESTING_BENCHMARKS_SIM_PATHS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {

// Virtual time, default profile, everything that is checked by default is checked.
absl::StatusOr<std::unique_ptr<WritePath>> OpenVirtualTimePath(const Buffers& buffers);

// Real time without delays, default profile, on the thread that polls.
absl::StatusOr<std::unique_ptr<WritePath>> OpenLivePath(const Buffers& buffers);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_SIM_PATHS_H_
