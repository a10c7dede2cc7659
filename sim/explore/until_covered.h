// As many seeds as it takes: until the last ones showed nothing new.

#ifndef DRYDOCK_SIM_EXPLORE_UNTIL_COVERED_H_
#define DRYDOCK_SIM_EXPLORE_UNTIL_COVERED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/scenario.h"

namespace drydock::sim::explore {

struct CoveredReport {
  ExploreReport report;
  // Every `sometimes` that a seed came by has held in some seed, and the last block of seeds saw no
  // point and no cell that was new. False: the seeds were used up before.
  bool covered = false;
  std::vector<std::string> never_held;  // names of those `sometimes` that did not
};

// Explores options.seeds seeds at most, in blocks of `block`, and stops after the first block that
// added nothing. Depends on no number of jobs. Errors: those of Explore; kInvalidArgument: a block
// of no seeds.
absl::StatusOr<CoveredReport> ExploreUntilCovered(const Scenario& scenario,
                                                  const ExploreOptions& options,
                                                  std::uint64_t block);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_UNTIL_COVERED_H_
