// The flags of the network's schedule: --strategy, --max-runs, --no-reduction.

#ifndef DRYDOCK_APPS_EXPLORE_SCHEDULE_FLAGS_H_
#define DRYDOCK_APPS_EXPLORE_SCHEDULE_FLAGS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/strategy/strategy.h"

namespace drydock::apps {

// All orders of one seed.
struct ExhaustiveChoice {
  sim::Grain grain = sim::Grain::kOperations;
  bool reduction = true;
  std::uint64_t max_runs = 0;
};

struct ScheduleChoice {
  sim::explore::Strategy strategy;             // of each seed
  std::optional<ExhaustiveChoice> exhaustive;  // instead
};

// Reads the flags. Where `pct` is to count the steps of a run, it counts those of `run`.
// kInvalidArgument: one line.
absl::StatusOr<ScheduleChoice> ReadScheduleFlags(const sim::explore::Scenario& scenario,
                                                 const sim::explore::RunSpec& run);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_SCHEDULE_FLAGS_H_
