#include "drydock/fabric/coverage/points.h"

#include <optional>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::coverage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(PointTest, WatchedOnesAreCounted) {
  Report report;
  {
    Watch watch(report);
    for (int i = 0; i < 5; ++i) Sometimes("i is 3", i == 3);
    Sometimes("never", false);
    Reachable("here");
    Reachable("here");
    Always("fine", true);
  }
  EXPECT_THAT(report.points,
              ElementsAre(Pair(Point{PointKind::kAlways, "fine"}, PointCount{1, 1, 0}),
                          Pair(Point{PointKind::kSometimes, "i is 3"}, PointCount{1, 1, 4}),
                          Pair(Point{PointKind::kSometimes, "never"}, PointCount{0, 0, 1}),
                          Pair(Point{PointKind::kReachable, "here"}, PointCount{1, 2, 0})));
  EXPECT_EQ(report.broken(), std::nullopt);
}

TEST(PointTest, NobodyWatchesOutsideAndOnOtherThreads) {
  Report report;
  Reachable("before");
  {
    Watch watch(report);
    std::thread([] { Reachable("elsewhere"); }).join();
  }
  Always("after", false);
  EXPECT_THAT(report.points, IsEmpty());
}

TEST(PointTest, AlwaysThatDoesNotHoldIsBroken) {
  Report report;
  {
    Watch watch(report);
    for (int i = 0; i < 10; ++i) Always("below 8", i < 8);
  }
  EXPECT_EQ(report.broken(), "always \"below 8\" did not hold, 2 of 10 times");
}

TEST(PointTest, RunsAddUp) {
  Report sum;
  for (int run = 0; run < 4; ++run) {
    Report report;
    {
      Watch watch(report);
      Sometimes("odd", run % 2 == 1);
      Sometimes("odd", run % 2 == 1);
      if (run == 0) Reachable("first");
    }
    report.cells[{"write", "ok", "a"}] = 3;
    sum.Merge(report);
  }
  EXPECT_THAT(sum.points,
              ElementsAre(Pair(Point{PointKind::kSometimes, "odd"}, PointCount{2, 4, 4}),
                          Pair(Point{PointKind::kReachable, "first"}, PointCount{1, 1, 0})));
  EXPECT_THAT(sum.cells, ElementsAre(Pair(Cell{"write", "ok", "a"}, 12)));
}

}  // namespace
}  // namespace drydock::fabric::coverage
