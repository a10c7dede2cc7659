// efa-run --seeds: a program under many seeds, which of them fail, and a capsule of each way to
// fail.

#ifndef DRYDOCK_APPS_EFA_RUN_MANY_SEEDS_H_
#define DRYDOCK_APPS_EFA_RUN_MANY_SEEDS_H_

#include "absl/status/statusor.h"
#include "drydock/apps/efa_run/request.h"

namespace drydock::apps {

// Runs them all, and says on standard error what comes of them. Returns the exit status: 0 when
// none failed, 1, or 2 when the program cannot be run. kInvalidArgument: the fault plan is none, or
// the folder of capsules cannot be written. kUnavailable: no processes are left. REQUIRES: seeds.
absl::StatusOr<int> RunAllSeeds(const Request& request);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EFA_RUN_MANY_SEEDS_H_
