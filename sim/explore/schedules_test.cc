// Strategies on whole scenarios: all orders of one, what each strategy finds, and what covers what.

#include "drydock/sim/explore/schedules.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/coverage/points.h"
#include "drydock/sim/explore/classics/classics.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/sim/explore/testing/test_scenarios.h"
#include "drydock/sim/explore/until_covered.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::drydock::testing_matchers::StatusIs;
using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kBytes = 64;

struct Writers {
  std::vector<std::unique_ptr<fabric::async::Node>> machines;
  std::vector<BufferRef> buffers;  // one for each machine
  std::vector<std::size_t> order;  // in which writes completed
};

coro::Task<absl::Status> WriteOne(Writers& writers, std::size_t from, std::size_t to,
                                  std::size_t number) {
  fabric::async::Node& machine = *writers.machines[from];
  const BufferSlice source(writers.buffers[from], number * kBytes, kBytes);
  fabric::RemoteBuffer target = writers.buffers[to]->region().remote();
  target.address += number * kBytes;
  const fabric::Completion written =
      co_await machine.endpoint().Write(source, target, machine.peer(to), {});
  writers.order.push_back(number);
  co_return machine.endpoint().ToStatus(written, absl::StrCat("write ", number));
}

coro::Task<absl::Status> WriteAll(Writers& writers, std::size_t pairs, std::size_t each) {
  for (const auto& machine : writers.machines) {
    CO_ASSIGN_OR_RETURN(BufferRef buffer, machine->Allocate(each * kBytes));
    writers.buffers.push_back(std::move(buffer));
  }
  std::vector<coro::Task<absl::Status>> tasks;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    for (std::size_t i = 0; i < each; ++i) {
      tasks.push_back(WriteOne(writers, 2 * pair, 2 * pair + 1, i));
    }
  }
  const std::vector<absl::Status> ends = co_await coro::WhenAll(std::move(tasks));
  for (const absl::Status& end : ends) CO_RETURN_IF_ERROR(end);
  co_return absl::OkStatus();
}

// Pairs of machines, with so many writes on each pair at once. `wrong`: the order of completions
// that the program takes for impossible.
TestScenario WritesScenario(std::size_t pairs, std::size_t each,
                            std::vector<std::size_t> wrong = {}) {
  return TestScenario([=](Trial& trial) {
    coro::EventLoop loop(trial.clock());
    Writers writers;
    auto machines = OpenNodes(trial, loop, 2 * pairs);
    if (!machines.ok()) return Outcome::Of(machines.status());
    writers.machines = *std::move(machines);
    const absl::Status status = loop.Run(WriteAll(writers, pairs, each));
    if (writers.order == wrong) return Outcome::WrongData("the order that nobody thought of");
    return Outcome::Of(status);
  });
}

TEST(OrdersTest, FiveWritesOfACoroutineProgramHave120Orders) {
  for (const bool reduction : {false, true}) {
    OrdersOptions options;
    options.reduction = reduction;
    ASSERT_OK_AND_ASSIGN(const OrdersReport report, ExploreOrders(WritesScenario(1, 5), options));
    EXPECT_TRUE(report.complete);
    EXPECT_EQ(report.orders.seeds, 120u);
    EXPECT_EQ(report.orders.count(Verdict::kCorrect), 120u);
  }
}

TEST(OrdersTest, DisjointPairsHaveOneOrderWithReduction) {
  OrdersOptions options;
  ASSERT_OK_AND_ASSIGN(const OrdersReport reduced, ExploreOrders(WritesScenario(4, 1), options));
  EXPECT_TRUE(reduced.complete);
  EXPECT_EQ(reduced.orders.seeds, 1u);
  EXPECT_EQ(reduced.redundant, 0u);
  options.reduction = false;
  ASSERT_OK_AND_ASSIGN(const OrdersReport all, ExploreOrders(WritesScenario(4, 1), options));
  EXPECT_EQ(all.orders.seeds, 24u);
}

TEST(OrdersTest, TheOneOrderThatFailsIsFoundAndNamed) {
  const TestScenario scenario = WritesScenario(1, 5, {3, 1, 4, 0, 2});
  ASSERT_OK_AND_ASSIGN(const OrdersReport report, ExploreOrders(scenario, {}));
  EXPECT_TRUE(report.complete);
  ASSERT_EQ(report.orders.count(Verdict::kWrongData), 1u);
  const auto& [run, result] = *report.orders.failures.begin();
  EXPECT_EQ(report.names.at(run), "order:3.1.2");
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, ParseStrategy(report.names.at(run)));
  PlanSource plans = NoFaults();
  plans.strategy = strategy;
  const SeedResult again = RunSeedChecked(scenario, 1, plans, /*twice=*/true);
  EXPECT_EQ(again.verdict, Verdict::kWrongData);
  EXPECT_EQ(again.digest, result.digest);
}

TEST(OrdersTest, BoundEndsTheSearch) {
  OrdersOptions options;
  options.max_runs = 50;
  std::uint64_t last = 0;
  options.progress = [&](std::uint64_t done) { EXPECT_EQ(done, ++last); };
  ASSERT_OK_AND_ASSIGN(const OrdersReport report, ExploreOrders(WritesScenario(1, 5), options));
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.runs(), 50u);
  EXPECT_EQ(last, 50u);
  options.max_runs = 0;
  EXPECT_THAT(ExploreOrders(WritesScenario(1, 5), options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no runs")));
}

TEST(OrdersTest, ProgramThatIsNoFunctionOfItsScheduleIsNondeterministic) {
  int runs = 0;
  const TestScenario scenario(
      [&](Trial& trial) { return WritesScenario(1, ++runs == 2 ? 4 : 3).Run(trial); });
  ASSERT_OK_AND_ASSIGN(const OrdersReport report, ExploreOrders(scenario, {}));
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.orders.count(Verdict::kNondeterministic), 1u);
}

TEST(OrdersTest, OrdersOfAClassicAreAllRight) {
  OrdersOptions options;
  options.max_runs = 60;
  for (const Scenario* classic : Classics()) {
    ASSERT_OK_AND_ASSIGN(const OrdersReport report, ExploreOrders(*classic, options));
    EXPECT_EQ(report.orders.failed(), 0u)
        << classic->name() << ": "
        << (report.orders.failures.empty() ? "" : report.orders.failures.begin()->second.text);
  }
}

TEST(StrategiesTest, EveryClassicIsRightUnderEveryStrategy) {
  for (const char* name : {"walk", "pct:3", "starve"}) {
    for (const Scenario* classic : Classics()) {
      for (PlanSource plans : {NoFaults(), Swarm()}) {
        ASSERT_OK_AND_ASSIGN(plans.strategy, ParseStrategy(name));
        ExploreOptions options;
        options.seeds = 15;
        options.twice_every = 5;
        options.plans = plans;
        ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(*classic, options));
        EXPECT_EQ(report.failed(), 0u)
            << classic->name() << ", " << name << ", " << plans.name << ": "
            << (report.failures.empty() ? "" : report.failures.begin()->second.text);
      }
    }
  }
}

TEST(StrategiesTest, StepsAreCounted) {
  EXPECT_EQ(CountSteps(WritesScenario(1, 0), {}), 0u);
  const std::size_t one = CountSteps(WritesScenario(1, 1), {});
  EXPECT_THAT(one, Ge(2u));  // it arrives, it completes
  EXPECT_THAT(CountSteps(WritesScenario(2, 4), {}), Ge(16u));
  EXPECT_EQ(CountSteps(PingPong(), {}), CountSteps(PingPong(), {}));
  RunSpec short_one;
  short_one.parameters["rounds"] = 1;
  EXPECT_LT(CountSteps(PingPong(), short_one), CountSteps(PingPong(), {}));
}

// ---- Coverage ----

TEST(ExploredCoverageTest, PointsAndCellsOfAllSeedsAddUpWhateverTheJobs) {
  const TestScenario scenario([](Trial& trial) {
    fabric::coverage::Sometimes("divisible by 4", trial.seed() % 4 == 0);
    if (trial.seed() == 7) fabric::coverage::Reachable("seven");
    fabric::coverage::Always("small", trial.seed() < 1000);
    return WritesScenario(1, 2).Run(trial);
  });
  for (const std::uint64_t jobs : {1, 3}) {
    ExploreOptions options;
    options.seeds = 20;
    options.jobs = jobs;
    options.plans = NoFaults();
    ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(scenario, options));
    const auto& points = report.coverage.points;
    using fabric::coverage::PointKind;
    EXPECT_EQ(points.at({PointKind::kSometimes, "divisible by 4"}),
              (fabric::coverage::PointCount{5, 5, 15}));
    EXPECT_EQ(points.at({PointKind::kReachable, "seven"}).runs, 1u);
    EXPECT_EQ(points.at({PointKind::kAlways, "small"}).held, 20u);
    ASSERT_EQ(report.coverage.cells.size(), 1u);
    EXPECT_EQ(report.coverage.cells.begin()->first.operation, "write");
    EXPECT_EQ(report.coverage.cells.begin()->second, 40u);
    EXPECT_EQ(report.failed(), 0u);
  }
}

// Two points: every 8th seed, and one from seed 500 on.
TestScenario RareScenario() {
  return TestScenario([](Trial& trial) {
    fabric::coverage::Sometimes("every eighth", trial.seed() % 8 == 0);
    fabric::coverage::Sometimes("late", trial.seed() >= 500);
    return Outcome::Of(absl::OkStatus());
  });
}

TEST(UntilCoveredTest, StopsAfterTheFirstBlockOfSeedsThatShowsNothingNew) {
  for (const std::uint64_t jobs : {1, 2}) {
    ExploreOptions options;
    options.seeds = 10000;
    options.jobs = jobs;
    options.plans = NoFaults();
    std::uint64_t last = 0;
    options.progress = [&](std::uint64_t done) { last = done; };
    ASSERT_OK_AND_ASSIGN(const CoveredReport covered,
                         ExploreUntilCovered(RareScenario(), options, 100));
    EXPECT_TRUE(covered.covered);
    EXPECT_THAT(covered.never_held, IsEmpty());
    EXPECT_EQ(covered.report.seeds, 600u);  // 500 is in the fifth block
    EXPECT_EQ(last, 600u);
    EXPECT_EQ(covered.report.count(Verdict::kCorrect), 600u);
  }
}

TEST(UntilCoveredTest, SeedsThatAreUsedUpAreAnEndToo) {
  ExploreOptions options;
  options.seeds = 350;
  options.plans = NoFaults();
  ASSERT_OK_AND_ASSIGN(const CoveredReport covered,
                       ExploreUntilCovered(RareScenario(), options, 100));
  EXPECT_FALSE(covered.covered);
  EXPECT_THAT(covered.never_held, ElementsAre("late"));
  EXPECT_EQ(covered.report.seeds, 350u);
  EXPECT_THAT(ExploreUntilCovered(RareScenario(), options, 0).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no seeds")));
  options.seeds = 0;
  EXPECT_THAT(ExploreUntilCovered(RareScenario(), options, 100).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no seeds")));
}

TEST(UntilCoveredTest, BlocksMakeTheSameReportAsAllSeedsAtOnce) {
  ExploreOptions options;
  options.seeds = 120;
  ASSERT_OK_AND_ASSIGN(const ExploreReport whole, Explore(PingPong(), options));
  ASSERT_OK_AND_ASSIGN(const CoveredReport parts, ExploreUntilCovered(PingPong(), options, 119));
  EXPECT_EQ(parts.report, whole);
}

TEST(ExploredCoverageTest, AlwaysThatDoesNotHoldFailsItsSeed) {
  const TestScenario scenario([](Trial& trial) {
    fabric::coverage::Always("not 3", trial.seed() != 3);
    return Outcome::Of(absl::OkStatus());
  });
  ExploreOptions options;
  options.seeds = 5;
  ASSERT_OK_AND_ASSIGN(const ExploreReport report, Explore(scenario, options));
  EXPECT_EQ(report.count(Verdict::kFinding), 1u);
  EXPECT_EQ(report.failures.at(3).text, "always \"not 3\" did not hold, 1 of 1 times");
}

TEST(ExploredCoverageTest, WatchingChangesNoRun) {
  const SeedResult result = RunSeed(PingPong(), 5, NoFaults());
  const SeedResult watched = RunSeed(TestScenario(
                                         [](Trial& trial) {
                                           fabric::coverage::Reachable("here");
                                           return PingPong().Run(trial);
                                         },
                                         PingPong().parameters()),
                                     5, NoFaults());
  EXPECT_EQ(result.digest, watched.digest);
}

}  // namespace
}  // namespace drydock::sim::explore
