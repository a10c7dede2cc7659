// Programs of the transfer engine: right whatever the unpublished figures are, and whichever NIC
// dies.

#include "drydock/apps/explore/transfer_scenario.h"

#include <cstdint>

#include "drydock/apps/explore/alltoall_scenario.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/profile_sweep.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/profile/unpublished.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using sim::explore::ExploreOptions;
using sim::explore::ExploreReport;
using sim::explore::NoFaults;
using sim::explore::PlanSource;
using sim::explore::Verdict;

ExploreReport Explore(const PlanSource& plans,
                      const sim::explore::Scenario& scenario = TransferScenario()) {
  ExploreOptions options;
  options.seeds = 60;
  options.twice_every = 0;
  options.plans = plans;
  return sim::explore::Explore(scenario, options).value();
}

void ExpectAllCorrect(const ExploreReport& report) {
  EXPECT_EQ(report.count(Verdict::kCorrect), 60u);
  for (const auto& [seed, result] : report.failures) ADD_FAILURE() << seed << ": " << result.text;
}

TEST(TransferScenarioTest, IsRightWithAllThatIsPlausible) {
  ExpectAllCorrect(Explore(sim::explore::WithDrawnFigures(NoFaults())));
}

// The device tries for a minute before it reports a peer that is silent: longer than the engine
// waits for a NIC of its own.
TEST(TransferScenarioTest, IsRightWhereTheDeviceIsPatientWithAPeerThatIsGone) {
  PlanSource plans = NoFaults();
  plans.figures = [](std::uint64_t) {
    return sim::Figures{{"unreachable_timeout", 60'000'000'000},
                        {"unresponsive_timeout", 60'000'000'000}};
  };
  ExpectAllCorrect(Explore(plans));
}

// All routings, in place and not, rail-aligned and not: by the seed.
TEST(AllToAllScenarioTest, IsRightWithAllThatIsPlausible) {
  ExpectAllCorrect(Explore(sim::explore::WithDrawnFigures(NoFaults()), AllToAllScenario()));
}

// The seeds' own faults: none of 60 runs takes a wrong result for a right one, or breaks a rule.
TEST(AllToAllScenarioTest, EndsRightOrWithAnErrorWhateverGoesWrong) {
  const ExploreReport report = Explore(sim::explore::Swarm(), AllToAllScenario());
  for (const auto& [seed, result] : report.failures) ADD_FAILURE() << seed << ": " << result.text;
  EXPECT_GT(report.count(Verdict::kCorrect), 10u);
}

}  // namespace
}  // namespace drydock::apps
