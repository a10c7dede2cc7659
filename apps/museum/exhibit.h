// One bug of the museum: what its label says, and its program, wrong and repaired.
//
//   const Exhibit& FlagOvertakes();             // in exhibits.h; its program is in flag_overtakes/
//   ScenarioOf(FlagOvertakes(), Twin::kWrong)   // what explore runs: "museum-flag-overtakes"

#ifndef DRYDOCK_APPS_MUSEUM_EXHIBIT_H_
#define DRYDOCK_APPS_MUSEUM_EXHIBIT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "drydock/sim/explore/parameters.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/trial.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::museum {

// The same program with the mistake, and without.
enum class Twin : std::uint8_t { kWrong, kRepaired };

// What it is: a value of static storage.
struct Exhibit {
  std::string_view name;     // of its folder, with "-" for "_"
  std::string_view project;  // where it happened: owner/repository
  std::string_view origin;   // "pull request 856"
  std::string_view kind;     // of mistakes: order, again, overrun, ...
  std::string_view cause;    // one line
  // What the wrong twin comes to, and for a finding the rule that it breaks.
  sim::explore::Verdict verdict = sim::explore::Verdict::kWrongData;
  std::string_view check = {};
  // A fault plan (docs/faults.md) that the mistake needs to show; empty: none.
  std::string_view faults = {};
  std::span<const sim::explore::Parameter> parameters = {};
  sim::explore::Outcome (*run)(sim::explore::Trial& trial, Twin twin) = nullptr;
};

// "museum-flag-overtakes", "museum-flag-overtakes-repaired".
std::string ScenarioName(const Exhibit& exhibit, Twin twin);

// One twin, for whatever runs scenarios.
class TwinScenario final : public sim::explore::Scenario {
 public:
  // `exhibit` outlives it.
  TwinScenario(const Exhibit& exhibit, Twin twin);

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return exhibit_.cause; }
  std::span<const sim::explore::Parameter> parameters() const override {
    return exhibit_.parameters;
  }
  sim::explore::Outcome Run(sim::explore::Trial& trial) const override {
    return exhibit_.run(trial, twin_);
  }

  const Exhibit& exhibit() const { return exhibit_; }
  Twin twin() const { return twin_; }

 private:
  const Exhibit& exhibit_;
  const Twin twin_;
  const std::string name_;
};

// The faults that both twins run under.
sim::explore::PlanSource PlansOf(const Exhibit& exhibit);

}  // namespace drydock::museum

#endif  // DRYDOCK_APPS_MUSEUM_EXHIBIT_H_
