// A folder of runs that are worth having again: capsules, SCENARIO-NUMBER.capsule.
//
// Several processes may use it at the same time: a file is there whole or not at all, and
// equal capsules have one name: the number is that of the text.

#ifndef DRYDOCK_SIM_EXPLORE_CORPUS_FOLDER_H_
#define DRYDOCK_SIM_EXPLORE_CORPUS_FOLDER_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/scenario.h"

namespace drydock::sim::explore {

// The capsules of the scenario with these parameters, by path; none where there is no such folder.
// Other files are left alone, and so are other scenarios' capsules and other parameters'.
// kInvalidArgument, kUnimplemented: one line with the path of a file that is no capsule, or none
// that this scenario can run.
absl::StatusOr<std::map<std::string, Capsule>> ReadCorpus(const std::string& folder,
                                                          const Scenario& scenario,
                                                          const Parameters& parameters);

// Writes the capsule into the folder, which is made where it does not exist. Returns its path.
// kInvalidArgument: cannot be written.
absl::StatusOr<std::string> AddToCorpus(const std::string& folder, const Capsule& capsule);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CORPUS_FOLDER_H_
