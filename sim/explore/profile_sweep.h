// Programs that are right only for our guess of unpublished figures: runs with other figures in the
// machines' profile (sim/profile/unpublished.h), and for a run that fails, the figures on which its
// failure depends.

#ifndef DRYDOCK_SIM_EXPLORE_PROFILE_SWEEP_H_
#define DRYDOCK_SIM_EXPLORE_PROFILE_SWEEP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/profile/unpublished.h"

namespace drydock::sim::explore {

// The figures of a seed: about half of all are drawn, the others stay as they are. Of those that
// are drawn, a quarter is the least plausible value and a quarter the greatest, and the rest lies
// between, every power of two as likely as the others. A function of the seed, on every machine.
Figures DrawFigures(std::uint64_t seed);

// The same faults and schedules, with the figures of each seed.
PlanSource WithDrawnFigures(PlanSource plans);

// Between these two values of the one figure that a failure needs, it begins.
struct Edge {
  std::int64_t right = 0;  // the profile's side: the run's verdict is another one
  std::int64_t wrong = 0;

  friend bool operator==(const Edge&, const Edge&) = default;
};

struct Dependence {
  // With these alone the run has its verdict; no smaller set does, where there are three at most,
  // or else none of them can be spared. Empty: it has it with the profile's own figures, too.
  Figures figures;
  std::optional<Edge> edge;  // of a single figure that has more than two values
  std::uint64_t runs = 0;    // that it took
};

// Runs `spec` with parts of its figures, each in a process of its own. kInternal: no process to be
// had. REQUIRES: as RunIsolated; the run of `spec` has `verdict`.
absl::StatusOr<Dependence> FindDependence(const Scenario& scenario, const RunSpec& spec,
                                          Verdict verdict);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_PROFILE_SWEEP_H_
