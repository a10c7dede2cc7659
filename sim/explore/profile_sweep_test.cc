// Other values for unpublished figures: how they are drawn, and on which of them a failure is found
// to depend.

#include "drydock/sim/explore/profile_sweep.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/classics/classics.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/testing/test_scenarios.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::testing::IsEmpty;

TEST(DrawFiguresTest, EveryPartOfARangeComesUp) {
  std::map<std::string, std::set<std::int64_t>> values;
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Figures figures = DrawFigures(seed);
    ASSERT_THAT(CheckFigures(figures), IsOk());
    EXPECT_EQ(DrawFigures(seed), figures);
    for (const auto& [name, value] : figures) {
      values[name].insert(value);
      ++drawn[name];
    }
  }
  for (const UnpublishedFigure& figure : UnpublishedFigures()) {
    const std::string name(figure.name);
    EXPECT_GT(drawn[name], 150) << name;
    EXPECT_LT(drawn[name], 250) << name;
    EXPECT_EQ(*values[name].begin(), figure.least) << name;
    EXPECT_EQ(*values[name].rbegin(), figure.most) << name;
    const auto few =
        static_cast<std::size_t>(std::min<std::int64_t>(figure.most - figure.least, 20));
    EXPECT_GT(values[name].size(), few) << name;  // of a choice, both
  }
}

// A world that fails as `fails` says of its profile.
TestScenario Where(std::function<bool(const Profile&)> fails) {
  return TestScenario([fails = std::move(fails)](Trial& trial) {
    return fails(trial.world().profile()) ? Outcome::WrongData("wrong")
                                          : Outcome::Of(absl::OkStatus());
  });
}

RunSpec With(const Figures& figures) {
  RunSpec spec;
  spec.figures = figures;
  return spec;
}

const Figures kSome = {{"ack_delay", 50'000},
                       {"engine_window", 1},
                       {"path_spread", 0},
                       {"rnr_delay", 10'000'000},
                       {"unresponsive_timeout", 60'000'000'000}};

TEST(FindDependenceTest, OneFigureAndWhereItBegins) {
  const TestScenario scenario =
      Where([](const Profile& profile) { return profile.rnr_delay >= coro::Duration(700'000); });
  ASSERT_OK_AND_ASSIGN(const Dependence found,
                       FindDependence(scenario, With(kSome), Verdict::kWrongData));
  EXPECT_EQ(found.figures, (Figures{{"rnr_delay", 10'000'000}}));
  ASSERT_TRUE(found.edge.has_value());
  EXPECT_LT(found.edge->right, 700'000);
  EXPECT_GE(found.edge->right, 690'000);
  EXPECT_GE(found.edge->wrong, 700'000);
  EXPECT_LE(found.edge->wrong, 710'000);
}

TEST(FindDependenceTest, ValuesBelowTheProfilesAreSearchedDownwards) {
  const TestScenario scenario =
      Where([](const Profile& profile) { return profile.engine_window < 9; });
  ASSERT_OK_AND_ASSIGN(const Dependence found,
                       FindDependence(scenario, With(kSome), Verdict::kWrongData));
  EXPECT_EQ(found.figures, (Figures{{"engine_window", 1}}));
  EXPECT_EQ(found.edge, (Edge{9, 8}));
}

TEST(FindDependenceTest, SwitchHasNoValuesBetween) {
  const TestScenario scenario =
      Where([](const Profile& profile) { return profile.device.cq_doorbell; });
  Figures figures = kSome;
  figures["cq_doorbell"] = 1;
  ASSERT_OK_AND_ASSIGN(const Dependence found,
                       FindDependence(scenario, With(figures), Verdict::kWrongData));
  EXPECT_EQ(found.figures, (Figures{{"cq_doorbell", 1}}));
  EXPECT_FALSE(found.edge.has_value());
}

TEST(FindDependenceTest, TheSmallestSetOfSeveral) {
  const TestScenario two = Where([](const Profile& profile) {
    return profile.engine_window == 1 && profile.ack_delay == coro::Duration(50'000);
  });
  ASSERT_OK_AND_ASSIGN(const Dependence of_two,
                       FindDependence(two, With(kSome), Verdict::kWrongData));
  EXPECT_EQ(of_two.figures, (Figures{{"ack_delay", 50'000}, {"engine_window", 1}}));
  EXPECT_FALSE(of_two.edge.has_value());
  const TestScenario all = Where([](const Profile& profile) {
    return profile.engine_window == 1 && profile.ack_delay == coro::Duration(50'000) &&
           profile.path_spread == coro::Duration(0) &&
           profile.rnr_delay == coro::Duration(10'000'000);
  });
  ASSERT_OK_AND_ASSIGN(const Dependence of_four,
                       FindDependence(all, With(kSome), Verdict::kWrongData));
  Figures four = kSome;
  four.erase("unresponsive_timeout");
  EXPECT_EQ(of_four.figures, four);
}

TEST(FindDependenceTest, NoneWhereItFailsAnyway) {
  const TestScenario scenario = Where([](const Profile&) { return true; });
  ASSERT_OK_AND_ASSIGN(const Dependence found,
                       FindDependence(scenario, With(kSome), Verdict::kWrongData));
  EXPECT_THAT(found.figures, IsEmpty());
  EXPECT_EQ(found.runs, 1u);
}

TEST(ProfileSweepTest, ProgramThatIsRightOnlyForOurGuessIsFound) {
  ExploreOptions options;
  options.seeds = 40;
  options.plans = NoFaults();
  ASSERT_OK_AND_ASSIGN(const ExploreReport guess, Explore(Failover(), options));
  EXPECT_EQ(guess.count(Verdict::kCorrect), 40u);
  options.plans = WithDrawnFigures(NoFaults());
  ASSERT_OK_AND_ASSIGN(const ExploreReport others, Explore(Failover(), options));
  EXPECT_GE(others.count(Verdict::kUnexplainedError), 5u);
  EXPECT_EQ(others.count(Verdict::kUnexplainedError) + others.count(Verdict::kCorrect), 40u);
  const SeedResult& first = others.failures.begin()->second;
  ASSERT_OK_AND_ASSIGN(const Dependence found,
                       FindDependence(Failover(), SpecOf(options, first.seed), first.verdict));
  ASSERT_EQ(found.figures.size(), 1u);
  EXPECT_EQ(found.figures.begin()->first, "unresponsive_timeout");
  EXPECT_LT(found.edge->right, 3'000'000'000);
}

// Programs that make no such guess are right with all of it.
TEST(ProfileSweepTest, ProgramsThatMakeNoGuessStayRight) {
  ExploreOptions options;
  options.seeds = 40;
  options.twice_every = 0;
  options.plans = WithDrawnFigures(NoFaults());
  for (const Scenario* scenario : {&PingPong(), &TryAgain(), &CreditFlow()}) {
    ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(*scenario, options));
    EXPECT_EQ(report.failed(), 0u) << scenario->name();
  }
}

TEST(ProfileSweepTest, CapsuleKeepsTheFigures) {
  const RunSpec spec = With(kSome);
  const TracedRun run = RunTraced(PingPong(), spec);
  const std::string text = FormatCapsule(MakeCapsule(PingPong(), spec, run));
  ASSERT_OK_AND_ASSIGN(const Capsule capsule, ParseCapsule(text));
  EXPECT_EQ(capsule.run.figures, kSome);
  EXPECT_EQ(RunTraced(PingPong(), capsule.run).result.digest, run.result.digest);
  EXPECT_NE(RunTraced(PingPong(), RunSpec()).result.digest, run.result.digest);
}

}  // namespace
}  // namespace drydock::sim::explore
