// The arithmetic behind every figure that is quoted, on a clock that the cases move themselves.

#include "drydock/testing/benchmarks/paired.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "drydock/coro/virtual_clock.h"
#include "drydock/testing/benchmarks/statistics.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::bench {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(StatisticsTest, QuantilesInterpolateBetweenNeighbours) {
  EXPECT_EQ(Quantile({7}, 0.5), 7);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_EQ(Quantile({50, 10, 40, 20, 30}, 0.25), 20);
  EXPECT_EQ(Quantile({50, 10, 40, 20, 30}, 0.6), 34);
}

TEST(StatisticsTest, SummaryIgnoresOneWildSample) {
  const Summary summary = Summarize({11, 10, 12, 9, 1000});
  EXPECT_EQ(summary.median, 11);
  EXPECT_EQ(summary.minimum, 9);
  EXPECT_EQ(summary.lower_quartile, 10);
  EXPECT_EQ(summary.upper_quartile, 12);
}

TEST(StatisticsTest, RatiosAreOfPairs) {
  // The machine was twice as slow in some rounds: the pairs do not notice.
  const Ratio drifting = Compare({20, 20, 40, 44}, {10, 10, 20, 20});
  EXPECT_EQ(drifting.median, 2);
  EXPECT_EQ(drifting.lower_quartile, 2);
  EXPECT_EQ(drifting.upper_quartile, 2.05);
  const Ratio noisy = Compare({10, 20, 30, 40, 50}, {10, 10, 10, 10, 10});
  EXPECT_EQ(noisy.median, 3);
  EXPECT_EQ(noisy.lower_quartile, 2);
  EXPECT_EQ(noisy.upper_quartile, 4);
  // One outlier in each, in different rounds.
  EXPECT_EQ(Compare({30, 900, 30}, {10, 10, 500}).median, 3);
}

// Cases whose operations take a known time, and that note when they run.
class PairedTest : public ::testing::Test {
 protected:
  struct Call {
    std::string name;
    std::uint64_t operations;
    friend bool operator==(const Call&, const Call&) = default;
  };

  Case Costing(const std::string& name, coro::Duration each, std::uint64_t granule = 1) {
    return {name, granule, [this, name, each](std::uint64_t operations) {
              calls_.push_back({name, operations});
              clock_.Advance(each * operations);
              return absl::OkStatus();
            }};
  }

  // What ran after the calibration: for each sample a warm-up and the slice itself.
  std::vector<Call> Samples(std::size_t count) const {
    return {calls_.end() - static_cast<std::ptrdiff_t>(2 * count), calls_.end()};
  }

  coro::VirtualClock clock_;
  std::vector<Call> calls_;
};

TEST_F(PairedTest, GivesEachCaseItsOwnCost) {
  ASSERT_OK_AND_ASSIGN(const auto series,
                       MeasurePaired({Costing("cheap", 10ns), Costing("dear", 30ns)},
                                     {.rounds = 5, .slice = 9us}, clock_, {}));
  ASSERT_THAT(series, SizeIs(2));
  EXPECT_EQ(series[0].name, "cheap");
  EXPECT_THAT(series[0].nanoseconds, ElementsAre(10, 10, 10, 10, 10));
  EXPECT_EQ(series[1].name, "dear");
  EXPECT_THAT(series[1].nanoseconds, ElementsAre(30, 30, 30, 30, 30));
}

TEST_F(PairedTest, SlicesAreFilledWithWholeGranules) {
  ASSERT_THAT(MeasurePaired({Costing("case", 10ns, 64)}, {.rounds = 3, .slice = 100us}, clock_, {}),
              IsOk());
  for (const Call& call : calls_) EXPECT_EQ(call.operations % 64, 0u);
  const std::vector<Call> samples = Samples(3);
  for (std::size_t i = 0; i < samples.size(); i += 2) {
    const auto warm_up = samples[i].operations;
    const auto slice = samples[i + 1].operations;
    EXPECT_GE(slice, 10000u);  // 100 us of 10 ns
    EXPECT_LT(slice, 10000u + 64);
    EXPECT_GT(warm_up, 0u);
    EXPECT_LT(warm_up, slice);
  }
}

TEST_F(PairedTest, AnOperationLongerThanTheSliceRunsOnce) {
  ASSERT_THAT(MeasurePaired({Costing("long", 1s)}, {.rounds = 2, .slice = 1ms}, clock_, {}),
              IsOk());
  for (const Call& call : calls_) EXPECT_EQ(call.operations, 1u);
}

TEST_F(PairedTest, WithoutASliceOneGranuleRuns) {
  ASSERT_THAT(MeasurePaired({Costing("case", 1ns, 16)}, {.rounds = 1, .slice = 0ns}, clock_, {}),
              IsOk());
  EXPECT_EQ(calls_, (std::vector<Call>{{"case", 16}, {"case", 16}}));
}

TEST_F(PairedTest, EveryRoundRunsEveryCaseInAnOrderOfItsOwn) {
  const std::vector<Case> cases = {Costing("a", 10ns), Costing("b", 10ns), Costing("c", 10ns)};
  constexpr std::size_t kRounds = 20;
  ASSERT_THAT(MeasurePaired(cases, {.rounds = kRounds, .slice = 1us}, clock_, {}), IsOk());
  const std::vector<Call> samples = Samples(kRounds * cases.size());
  std::set<std::string> orders;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::string order;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::size_t at = 2 * (round * cases.size() + i);
      EXPECT_EQ(samples[at].name, samples[at + 1].name) << "the warm-up is of the same case";
      order += samples[at].name;
    }
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, "abc");
  }
  EXPECT_GE(orders.size(), 4u) << "of the six that there are";
}

TEST_F(PairedTest, TheOrderIsThatOfTheSeed) {
  const auto order_of = [this](std::uint64_t seed) {
    calls_.clear();
    const std::vector<Case> cases = {Costing("a", 10ns), Costing("b", 10ns), Costing("c", 10ns)};
    EXPECT_THAT(MeasurePaired(cases, {.rounds = 8, .slice = 0ns, .seed = seed}, clock_, {}),
                IsOk());
    return calls_;
  };
  const auto first = order_of(1);
  EXPECT_EQ(order_of(1), first);
  EXPECT_NE(order_of(2), first);
}

TEST_F(PairedTest, TicksOncePerSample) {
  std::size_t ticks = 0;
  ASSERT_THAT(MeasurePaired({Costing("a", 10ns), Costing("b", 10ns)}, {.rounds = 7, .slice = 1us},
                            clock_, [&ticks] { ++ticks; }),
              IsOk());
  EXPECT_EQ(ticks, 14u);
}

TEST_F(PairedTest, AFailureEndsTheMeasurementAndNamesItsCase) {
  std::vector<Case> cases = {Costing("good", 10ns)};
  cases.push_back({"bad", 1, [](std::uint64_t) { return absl::DataLossError("lost a byte"); }});
  EXPECT_THAT(MeasurePaired(cases, {.rounds = 3}, clock_, {}).status(),
              StatusIs(absl::StatusCode::kDataLoss, "bad: lost a byte"));
}

TEST(ProcessorClockTest, PassesWhileThisProcessComputes) {
  const ProcessorClock clock;
  const coro::Time start = clock.Now();
  volatile std::uint64_t work = 0;
  while (clock.Now() < start + 1ms) work = work + 1;
  EXPECT_GT(work, 0u);
}

}  // namespace
}  // namespace drydock::bench
