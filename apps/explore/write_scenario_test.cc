// The write program under the swarm: right data or one clean error when the client counts, and
// found out when it trusts the last write.

#include "drydock/apps/explore/write_scenario.h"

#include <string>

#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using fabric::faults::Fault;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;
using sim::explore::Explore;
using sim::explore::ExploreOptions;
using sim::explore::ExploreReport;
using sim::explore::RunSpec;
using sim::explore::SeedResult;
using sim::explore::Verdict;
using ::testing::Ge;
using ::testing::HasSubstr;

ExploreOptions Seeds(std::uint64_t seeds) {
  ExploreOptions options;
  options.seeds = seeds;
  return options;
}

std::string FirstFailure(const ExploreReport& report) {
  if (report.failures.empty()) return "none";
  const SeedResult& first = report.failures.begin()->second;
  return "seed " + std::to_string(first.seed) + ": " + std::string(Name(first.verdict)) + ": " +
         first.text;
}

TEST(WriteScenarioTest, CountingSurvivesTheSwarm) {
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(WriteScenario(), Seeds(500)));
  EXPECT_EQ(report.failed(), 0u) << FirstFailure(report);
  EXPECT_THAT(report.count(Verdict::kCorrect), Ge(100u));
  EXPECT_THAT(report.count(Verdict::kCleanError), Ge(100u));
}

TEST(WriteScenarioTest, CountingIsRightOnAHealthyNetwork) {
  ExploreOptions options = Seeds(50);
  options.plans = sim::explore::NoFaults();
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(WriteScenario(), options));
  EXPECT_EQ(report.count(Verdict::kCorrect), 50u) << FirstFailure(report);
}

TEST(WriteScenarioTest, TrustInTheLastWriteIsFoundWrong) {
  for (const auto& plans : {sim::explore::Swarm(), sim::explore::NoFaults()}) {
    ExploreOptions options = Seeds(100);
    options.plans = plans;
    ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(WriteLastScenario(), options));
    EXPECT_THAT(report.count(Verdict::kWrongData), Ge(1u)) << plans.name;
    EXPECT_EQ(report.failed(), report.count(Verdict::kWrongData)) << FirstFailure(report);
    EXPECT_THAT(report.failures.begin()->second.text, HasSubstr("page"));
  }
}

// The server is told of a failure, the bytes have landed all the same, and no other client comes.
TEST(WriteScenarioTest, ServerThatSawAFailureDoesNotKeepItsClientWaiting) {
  FaultPlan plan;
  plan.rules.push_back(FaultRule::Of(Fault::kRemoteAbort));
  plan.rules[0].when.operations = {fabric::OperationKind::kWrite};
  plan.rules[0].when.nth = 3;
  const SeedResult result = RunSeed(WriteScenario(), 1, sim::explore::SamePlan("abort", plan));
  EXPECT_EQ(result.verdict, Verdict::kCorrect) << result.text;
  EXPECT_EQ(result.rules.at(0).fired, 1u);
}

TEST(WriteScenarioTest, OnACalmNetworkEvenTheWrongProtocolIsRight) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    RunSpec spec;
    spec.seed = seed;
    spec.disturbed.emplace();
    EXPECT_EQ(RunOnce(WriteLastScenario(), spec).verdict, Verdict::kCorrect) << "seed " << seed;
  }
}

TEST(WriteScenarioTest, DisturbedOperationsAreAsTheyAlwaysAre) {
  RunSpec spec;
  spec.seed = 7;
  const SeedResult always = RunOnce(WriteScenario(), spec);
  spec.disturbed.emplace();
  EXPECT_NE(RunOnce(WriteScenario(), spec).digest, always.digest);
  for (std::uint64_t operation = 0; operation < 100; ++operation)
    spec.disturbed->push_back(operation);
  EXPECT_EQ(RunOnce(WriteScenario(), spec).digest, always.digest);
}

TEST(WriteScenarioTest, ParametersAreItsSizes) {
  RunSpec spec;
  const std::uint64_t usual = RunOnce(WriteScenario(), spec).events;
  spec.parameters = {{"pages", 1}, {"page_bytes", 64}};
  const SeedResult small = RunOnce(WriteScenario(), spec);
  EXPECT_EQ(small.verdict, Verdict::kCorrect) << small.text;
  EXPECT_LT(small.events, usual / 2);
}

}  // namespace
}  // namespace drydock::apps
