// Two simulated machines in this process, in virtual time: one writes, the other one receives.

#ifndef DRYDOCK_APPS_BATCH_SIMULATED_RUN_H_
#define DRYDOCK_APPS_BATCH_SIMULATED_RUN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "drydock/apps/batch/load.h"
#include "drydock/apps/batch/watch.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::batch {

struct SimulatedRun {
  const sim::Profile* profile = nullptr;  // outlives the run
  std::uint64_t seed = 1;
  bool progress = false;            // on a terminal: a line on standard error
  MetricsRun* metrics = nullptr;    // null: the NICs' counters are not read
  const TraceRun* trace = nullptr;  // observes the run, and outlives it; null: none
};

// Errors: kInvalidArgument for GPUs or NICs that the machine lacks; those of the transfers;
// kInternal for findings of the simulator's checks.
absl::StatusOr<BatchResult> RunSimulated(const SimulatedRun& run, const Load& load);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_SIMULATED_RUN_H_
