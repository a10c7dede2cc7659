// Every classic on a healthy network and under the swarm.

#include "drydock/sim/explore/classics/classics.h"

#include <chrono>
#include <set>
#include <string>

#include "drydock/sim/explore/explorer.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::drydock::testing_matchers::IsOk;

class ClassicTest : public ::testing::TestWithParam<const Scenario*> {};

std::string FirstFailure(const ExploreReport& report) {
  if (report.failures.empty()) return "none";
  const SeedResult& first = report.failures.begin()->second;
  return "seed " + std::to_string(first.seed) + ": " + std::string(Name(first.verdict)) + ": " +
         first.text;
}

TEST_P(ClassicTest, HealthyNetworkGivesRightData) {
  ExploreOptions options;
  options.seeds = 50;
  options.plans = NoFaults();
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(*GetParam(), options));
  EXPECT_EQ(report.count(Verdict::kCorrect), 50u) << FirstFailure(report);
}

TEST_P(ClassicTest, SwarmGivesRightDataOrAnError) {
  ExploreOptions options;
  options.seeds = 150;
  options.twice_every = 10;
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(*GetParam(), options));
  EXPECT_EQ(report.failed(), 0u) << FirstFailure(report);
  // Neither end is the only one: otherwise the faults were too harsh, or not there.
  EXPECT_GT(report.count(Verdict::kCorrect), 30u);
  EXPECT_GT(report.count(Verdict::kCleanError), GetParam()->retries() ? 0u : 30u);
  EXPECT_GT(report.rules.size(), 20u);
}

// A program that tries again owes success, and nothing less, once the faults are over.
TEST_P(ClassicTest, HealedSwarmLetsThemEnd) {
  ExploreOptions options;
  options.seeds = 150;
  options.twice_every = 0;
  options.heal_after = std::chrono::milliseconds(20);
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(*GetParam(), options));
  EXPECT_EQ(report.failed(), 0u) << FirstFailure(report);
  if (GetParam()->retries()) {
    EXPECT_EQ(report.count(Verdict::kCorrect), 150u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ClassicTest, ::testing::ValuesIn(Classics()), [](const auto& test) {
  std::string name(test.param->name());
  for (char& letter : name) letter = letter == '-' ? '_' : letter;
  return name;
});

TEST(ClassicsTest, OneOfThemTriesAgain) { EXPECT_TRUE(TryAgain().retries()); }

TEST(ClassicsTest, HaveDifferentNames) {
  std::set<std::string_view> names;
  for (const Scenario* scenario : Classics()) names.insert(scenario->name());
  EXPECT_EQ(names.size(), Classics().size());
}

}  // namespace
}  // namespace drydock::sim::explore
