// All scenarios that explore knows.

#ifndef DRYDOCK_APPS_EXPLORE_SCENARIOS_H_
#define DRYDOCK_APPS_EXPLORE_SCENARIOS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/explore/scenario.h"

namespace drydock::apps {

// In the order in which they are listed: without those of the museum, half of which are wrong.
// Static storage.
std::vector<const sim::explore::Scenario*> Scenarios();

// Also a twin of an exhibit of the museum, by the name that its capsules have. kInvalidArgument
// lists the names that exist.
absl::StatusOr<const sim::explore::Scenario*> FindScenario(const std::string& name);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_SCENARIOS_H_
