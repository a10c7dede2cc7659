#include "drydock/sim/explore/sweep.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>

#include "drydock/coro/event_loop.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/sim/explore/testing/test_scenarios.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::drydock::testing_matchers::IsOk;
using fabric::faults::Fault;
using fabric::faults::FaultPlan;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;

std::uint64_t Count(const SweepRow& row, Verdict verdict) {
  return row.counts[static_cast<std::size_t>(verdict)];
}

// Opens three machines; an endpoint that does not open is a success from the second on.
Outcome OpenThree(Trial& trial) {
  coro::EventLoop loop(trial.clock());
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = OpenNode(trial, loop, "a").status();
    if (status.ok()) continue;
    return i < 1 ? Outcome::Of(status) : Outcome::WrongData("forgot an error");
  }
  return Outcome::Of(absl::OkStatus());
}

SweepRow SweepThree(const SweepCase& which, std::uint64_t most = kMostSweepRuns) {
  return SweepOne(
      which,
      [](const FaultPlan& plan) {
        RunSpec spec;
        spec.plan = plan;
        return RunOnce(TestScenario(&OpenThree), spec);
      },
      most);
}

TEST(SweepTest, EveryEventFailsOnceAndThenNone) {
  const SweepRow row = SweepThree({Fault::kOpenEndpointFails, false});
  EXPECT_EQ(row.runs, 4u);
  EXPECT_EQ(Count(row, Verdict::kCleanError), 1u);
  EXPECT_EQ(Count(row, Verdict::kWrongData), 2u);
  EXPECT_EQ(Count(row, Verdict::kCorrect), 1u);
  EXPECT_EQ(row.failing, 2u);
  EXPECT_EQ(row.failure->text, "forgot an error");
  EXPECT_TRUE(row.complete);
}

TEST(SweepTest, FaultThatCannotHappenTakesOneRun) {
  const SweepRow row = SweepThree({Fault::kRemoteAddress, true});
  EXPECT_EQ(row.runs, 1u);
  EXPECT_EQ(row.failing, std::nullopt);
}

TEST(SweepTest, EndsAtItsLimit) {
  const SweepRow row = SweepThree({Fault::kOpenEndpointFails, false}, 2);
  EXPECT_EQ(row.runs, 2u);
  EXPECT_FALSE(row.complete);
}

TEST(SweepTest, StickyFaultsGoOn) {
  const FaultPlan once = SweepPlan({Fault::kUnreachable, false}, 7);
  EXPECT_EQ(once.rules[0].when.nth, 7u);
  EXPECT_FALSE(once.rules[0].when.sticky);
  EXPECT_TRUE(SweepPlan({Fault::kUnreachable, true}, 7).rules[0].when.sticky);
  EXPECT_THAT(fabric::faults::Validate(once), IsOk());
}

TEST(SweepTest, HasEveryStatusOnceAndSticky) {
  const std::vector<SweepCase> cases = SweepCases();
  for (const fabric::faults::FaultInfo& info : fabric::faults::Catalogue()) {
    const bool strict = info.legality == fabric::faults::Legality::kStrict;
    if (!strict || !fabric::faults::StatusOf(info.fault).has_value()) continue;
    EXPECT_THAT(
        cases, AllOf(Contains(SweepCase{info.fault, false}), Contains(SweepCase{info.fault, true})))
        << info.name;
  }
  EXPECT_THAT(cases, Not(Contains(SweepCase{Fault::kLostCompletion, false})));  // illegal
  EXPECT_THAT(cases, Not(Contains(SweepCase{Fault::kSendQueueFull, false})));   // adversarial
}

// Without any fault, too: no number of an event makes a difference.
TEST(SweepTest, ProgramThatAlwaysCrashesTakesOneRunOfEachRow) {
  const TestScenario scenario([](Trial&) -> Outcome {
    raise(SIGKILL);
    return Outcome::Of(absl::OkStatus());
  });
  ASSERT_OK_AND_ASSIGN(const std::vector<SweepRow> rows, Sweep(scenario, {}));
  ASSERT_EQ(rows.size(), SweepCases().size());
  for (const SweepRow& row : rows) {
    EXPECT_EQ(row.runs, 1u) << Name(row.which);
    EXPECT_EQ(row.failing, 1u) << Name(row.which);
    EXPECT_TRUE(row.complete) << Name(row.which);
  }
}

TEST(SweepTest, CrashCostsItsRunAlone) {
  // The second endpoint that does not open kills it.
  const TestScenario scenario([](Trial& trial) {
    coro::EventLoop loop(trial.clock());
    for (int i = 0; i < 3; ++i) {
      const absl::Status status = OpenNode(trial, loop, "a").status();
      if (!status.ok() && i == 1) raise(SIGKILL);
      if (!status.ok()) return Outcome::Of(status);
    }
    return Outcome::Of(absl::OkStatus());
  });
  ASSERT_OK_AND_ASSIGN(const std::vector<SweepRow> rows, Sweep(scenario, {}));
  ASSERT_EQ(rows.size(), SweepCases().size());
  const auto row = std::find_if(rows.begin(), rows.end(), [](const SweepRow& any) {
    return any.which == SweepCase{Fault::kOpenEndpointFails, false};
  });
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->runs, 4u);
  EXPECT_EQ(Count(*row, Verdict::kCrash), 1u);
  EXPECT_EQ(row->failing, 2u);
  EXPECT_EQ(Count(*row, Verdict::kCleanError), 2u);
}

}  // namespace
}  // namespace drydock::sim::explore
