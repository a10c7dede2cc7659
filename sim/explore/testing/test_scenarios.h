// Scenarios with the bugs that an explorer has to notice.

#ifndef SIM_EXPLORE_TESTING_TEST_SCENARIOS_H_
#define SIM_EXPLORE_TESTING_TEST_SCENARIOS_H_

#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "sim/explore/scenario.h"

namespace sim::explore {

class TestScenario final : public Scenario {
 public:
  explicit TestScenario(std::function<Outcome(Trial&)> run,
                        std::span<const Parameter> parameters = {})
      : run_(std::move(run)), parameters_(parameters) {}

  std::string_view name() const override { return "test"; }
  std::string_view description() const override { return "a test's own"; }
  std::span<const Parameter> parameters() const override { return parameters_; }
  Outcome Run(Trial& trial) const override { return run_(trial); }

 private:
  const std::function<Outcome(Trial&)> run_;
  const std::span<const Parameter> parameters_;
};

}  // namespace sim::explore

#endif  // SIM_EXPLORE_TESTING_TEST_SCENARIOS_H_
