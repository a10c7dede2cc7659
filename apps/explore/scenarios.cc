#include "drydock/apps/explore/scenarios.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/explore/alltoall_scenario.h"
#include "drydock/apps/explore/transfer_scenario.h"
#include "drydock/apps/explore/write_scenario.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/sim/explore/classics/classics.h"

namespace drydock::apps {

using sim::explore::Scenario;

std::vector<const Scenario*> Scenarios() {
  std::vector<const Scenario*> scenarios = {&WriteScenario(), &WriteLastScenario()};
  for (const Scenario* classic : sim::explore::Classics()) scenarios.push_back(classic);
  scenarios.push_back(&TransferScenario());
  scenarios.push_back(&sim::explore::Failover());
  scenarios.push_back(&AllToAllScenario());
  return scenarios;
}

absl::StatusOr<const Scenario*> FindScenario(const std::string& name) {
  std::vector<std::string> names;
  for (const Scenario* scenario : Scenarios()) {
    if (scenario->name() == name) return scenario;
    names.emplace_back(scenario->name());
  }
  if (const Scenario* twin = museum::FindTwin(name); twin != nullptr) return twin;
  return absl::InvalidArgumentError(
      absl::StrCat("--scenario=", name, " does not exist: ", absl::StrJoin(names, ", ")));
}

}  // namespace drydock::apps
