// Tells the story of a run in a few sentences.

#ifndef DRYDOCK_SIM_EXPLORE_STORY_H_
#define DRYDOCK_SIM_EXPLORE_STORY_H_

#include <string>
#include <vector>

#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/subject.h"
#include "drydock/sim/explore/traced_run.h"

namespace drydock::sim::explore {

// One sentence a line: how large the run is, and what its conditions are where they are not the
// usual ones (strategy, figures, healing); each fault that fires, each operation that is not calm
// and the ones that it overtakes, and the outcome. Long for a run that was not shrunk: of each kind
// the first few, and how many more there are.
std::vector<std::string> TellStory(const Subject& subject, const RunSpec& spec,
                                   const TracedRun& run);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_STORY_H_
