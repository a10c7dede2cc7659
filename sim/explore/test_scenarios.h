// Scenarios with the bugs that an explorer has to notice.

#ifndef SIM_EXPLORE_TEST_SCENARIOS_H_
#define SIM_EXPLORE_TEST_SCENARIOS_H_

#include <functional>
#include <string_view>
#include <utility>

#include "sim/explore/scenario.h"

namespace sim::explore {

class TestScenario final : public Scenario {
 public:
  explicit TestScenario(std::function<Outcome(Trial&)> run) : run_(std::move(run)) {}

  std::string_view name() const override { return "test"; }
  std::string_view description() const override { return "a test's own"; }
  Outcome Run(Trial& trial) const override { return run_(trial); }

 private:
  const std::function<Outcome(Trial&)> run_;
};

}  // namespace sim::explore

#endif  // SIM_EXPLORE_TEST_SCENARIOS_H_
