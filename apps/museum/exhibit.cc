#include "drydock/apps/museum/exhibit.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/fabric/faults/plan_json.h"

namespace drydock::museum {

std::string ScenarioName(const Exhibit& exhibit, Twin twin) {
  return absl::StrCat("museum-", std::string(exhibit.name),
                      twin == Twin::kRepaired ? "-repaired" : "");
}

TwinScenario::TwinScenario(const Exhibit& exhibit, Twin twin)
    : exhibit_(exhibit), twin_(twin), name_(ScenarioName(exhibit, twin)) {}

sim::explore::PlanSource PlansOf(const Exhibit& exhibit) {
  if (exhibit.faults.empty()) return sim::explore::NoFaults();
  auto plan = fabric::faults::ParseFaultPlan({exhibit.faults.data(), exhibit.faults.size()});
  DD_CHECK(plan.ok(), "the exhibit's fault plan can be read");
  return sim::explore::SamePlan(std::string(exhibit.name), *std::move(plan));
}

}  // namespace drydock::museum
