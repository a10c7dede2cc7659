// How the schedule of each run is chosen: a name that a person can type, and a scheduler for each
// seed.
//
//   random          the times that the seed draws: no scheduler
//   walk            each time any of the steps that are possible, with equal odds
//   pct:D[:STEPS]   priorities, with D-1 changes in about STEPS steps         (pct.h)
//   starve          a NIC, an endpoint or its completions frozen for a while  (starve.h)
//   order:3.0.1     these choices of operations, then always the first; order:packets:3.0.1: of
//                   packets                                                   (order.h)
//
// All orders of a small program: exhaustive.h.

#ifndef DRYDOCK_SIM_EXPLORE_STRATEGY_STRATEGY_H_
#define DRYDOCK_SIM_EXPLORE_STRATEGY_STRATEGY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/events/scheduler.h"

namespace drydock::sim::explore {

// Makes the scheduler of one run, a function of the seed; empty: none, times are drawn.
using Schedule = std::function<std::unique_ptr<Scheduler>(std::uint64_t seed)>;

struct Strategy {
  std::string name = "random";  // as ParseStrategy takes it
  Schedule schedule;
  // True for `pct` when its text names no number of steps: a caller that can run the program should
  // count them (run_seed.h) and set the number.
  bool wants_steps = false;
};

// Steps that `pct` assumes when they were not counted.
inline constexpr std::size_t kUsualSteps = 100;

// kInvalidArgument: one line that lists the strategies.
absl::StatusOr<Strategy> ParseStrategy(absl::string_view text);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_STRATEGY_STRATEGY_H_
