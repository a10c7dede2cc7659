// The transfer program: right whatever the figures are that nobody has published, and whichever NIC
// dies.

#include "apps/explore/transfer_scenario.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "sim/explore/explorer.h"
#include "sim/explore/plan_source.h"
#include "sim/explore/profile_sweep.h"
#include "sim/explore/run_seed.h"
#include "sim/profile/unpublished.h"

namespace apps {
namespace {

using sim::explore::ExploreOptions;
using sim::explore::ExploreReport;
using sim::explore::NoFaults;
using sim::explore::PlanSource;
using sim::explore::Verdict;

ExploreReport Explore(const PlanSource& plans) {
  ExploreOptions options;
  options.seeds = 60;
  options.twice_every = 0;
  options.plans = plans;
  return sim::explore::Explore(TransferScenario(), options).value();
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

}  // namespace
}  // namespace apps
