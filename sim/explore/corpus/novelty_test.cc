#include "drydock/sim/explore/corpus/novelty.h"

#include <string>
#include <vector>

#include "drydock/fabric/coverage/report.h"
#include "drydock/sim/explore/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::drydock::fabric::coverage::PointKind;
using ::testing::ElementsAre;

SeedResult CorrectRun() { return SeedResult(); }

SeedResult RunThatHeld(const std::string& point, std::uint64_t times) {
  SeedResult result;
  result.coverage.points[{PointKind::kSometimes, point}] = {.runs = 1, .held = times};
  return result;
}

TEST(FeaturesOfTest, AreVerdictPointsAndCells) {
  SeedResult result = RunThatHeld("retried", 2);
  result.verdict = Verdict::kCleanError;
  result.rules = {{"rnr", 5, 1}, {"flushed", 5, 0}};
  result.coverage.cells[{"write", "rnr", "a/rdmap0"}] = 7;
  EXPECT_THAT(FeaturesOf(result), ElementsAre("cell write rnr a/rdmap0",
                                              "point sometimes retried x2", "verdict clean-error"));
}

TEST(FeaturesOfTest, PointThatNeverHeldIsNone) {
  EXPECT_THAT(FeaturesOf(RunThatHeld("retried", 0)), ElementsAre("verdict correct"));
}

TEST(FeaturesOfTest, TellFewTimesApartAndNotMany) {
  const auto features = [](std::uint64_t times) {
    return FeaturesOf(RunThatHeld("retried", times));
  };
  EXPECT_NE(features(1), features(2));
  EXPECT_NE(features(2), features(3));
  EXPECT_NE(features(3), features(4));
  EXPECT_NE(features(7), features(8));
  EXPECT_EQ(features(8), features(1000));
}

TEST(NoveltyTest, RunIsNewOnce) {
  Novelty novelty;
  EXPECT_TRUE(novelty.Add(CorrectRun()));
  EXPECT_FALSE(novelty.Add(CorrectRun()));
  EXPECT_TRUE(novelty.Add(RunThatHeld("retried", 1)));
  EXPECT_FALSE(novelty.Add(RunThatHeld("retried", 1)));
  EXPECT_EQ(novelty.features(), 2u);
}

// The plan of run 1 may not show it again: then it must not be picked for ever.
TEST(NoveltyTest, PicksWhatIsRareUntilItWasPickedOften) {
  Novelty novelty;
  for (int i = 0; i < 100; ++i) novelty.Add(CorrectRun());
  novelty.Add(RunThatHeld("retried", 1));
  Dice dice(/*seed=*/1, /*subject=*/1);
  const auto picks_of_1 = [&](int picks) {
    int count = 0;
    for (int i = 0; i < picks; ++i) count += novelty.Pick(dice) == 1 ? 1 : 0;
    return count;
  };
  EXPECT_GT(picks_of_1(50), 45);
  EXPECT_LT(picks_of_1(1000), 700);
}

}  // namespace
}  // namespace drydock::sim::explore
