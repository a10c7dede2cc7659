// The simulator as rows.

#ifndef TESTING_BENCHMARKS_SIM_PATHS_H_
#define TESTING_BENCHMARKS_SIM_PATHS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "testing/benchmarks/write_path.h"

namespace bench {

// Virtual time, default profile, everything that is checked by default is checked.
absl::StatusOr<std::unique_ptr<WritePath>> OpenVirtualTimePath(const Buffers& buffers);

// Real time without delays, default profile, on the thread that polls.
absl::StatusOr<std::unique_ptr<WritePath>> OpenLivePath(const Buffers& buffers);

}  // namespace bench

#endif  // TESTING_BENCHMARKS_SIM_PATHS_H_
