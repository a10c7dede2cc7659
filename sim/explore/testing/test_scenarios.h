// Scenarios with the bugs that an explorer has to notice.

#ifndef DRYDOCK_SIM_EXPLORE_TESTING_TEST_SCENARIOS_H_
#define DRYDOCK_SIM_EXPLORE_TESTING_TEST_SCENARIOS_H_

#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "drydock/sim/explore/scenario.h"

namespace drydock::sim::explore {

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

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_TESTING_TEST_SCENARIOS_H_
