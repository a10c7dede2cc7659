// The staircase: how 32 NICs of a p5.48xlarge came to their full rate in a published program, step
// by step, each a configuration of one engine here.

#ifndef DRYDOCK_APPS_BATCH_STEPS_H_
#define DRYDOCK_APPS_BATCH_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/batch/load.h"
#include "drydock/apps/batch/simulated_run.h"

namespace drydock::apps::batch {

struct Step {
  std::string name;    // the change from the step before
  std::string source;  // of the published figure
  Load load;
  double line_gbps = 0;       // of all NICs
  double gbps = 0;            // simulated: over a run as long as the published one
  double predicted_gbps = 0;  // by sim/model
  double published_gbps = 0;
};

// `pages`: that each NIC of a step writes here; 0: several windows, for a thread that drives 32
// NICs goes round them in turns, of which a few have to be seen, and a hundred where the links are
// the limit, for there the turns take long to settle. What is simulated is extended to the length
// of the published runs: the rate of the steady state, and the time that connections take where
// they are not made before. kInvalidArgument: nothing was published of such a machine.
absl::StatusOr<std::vector<Step>> RunSteps(const SimulatedRun& run, std::uint64_t pages);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_STEPS_H_
