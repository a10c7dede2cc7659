// From a run to a verdict: every verdict that a run can have in its own process.

#include "drydock/sim/explore/run_seed.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/task.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/sim/explore/testing/test_scenarios.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using fabric::faults::Fault;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

SeedResult RunOnce(const std::function<Outcome(Trial&)>& run,
                   const PlanSource& plans = NoFaults()) {
  return RunSeed(TestScenario(run), 7, plans, 10s);
}

// The program's own status, after it opened a machine.
Outcome OpenMachine(Trial& trial) {
  coro::EventLoop loop(trial.clock());
  return Outcome::Of(OpenNode(trial, loop, "a").status());
}

PlanSource OpeningFails() {
  FaultPlan plan;
  plan.rules.push_back(FaultRule::Of(Fault::kOpenEndpointFails, "no endpoint"));
  return SamePlan("opening fails", plan);
}

coro::Task<absl::Status> WaitForNobody() {
  coro::WaitList nobody;
  co_await nobody.Wait();
  co_return absl::OkStatus();
}

coro::Task<absl::Status> SleepAMinute() {
  co_await coro::Sleep(1min);
  co_return absl::OkStatus();
}

coro::Task<absl::Status> SleepForEver() {
  for (;;) co_await coro::Sleep(1ms);
}

TEST(RunSeedTest, RightDataIsCorrect) {
  const SeedResult result = RunOnce(&OpenMachine);
  EXPECT_EQ(result.verdict, Verdict::kCorrect);
  EXPECT_EQ(result.seed, 7u);
  EXPECT_EQ(result.text, "");
  EXPECT_THAT(result.rules, IsEmpty());
}

TEST(RunSeedTest, ErrorAfterAFaultIsClean) {
  const SeedResult result = RunOnce(&OpenMachine, OpeningFails());
  EXPECT_EQ(result.verdict, Verdict::kCleanError);
  EXPECT_THAT(result.text, Not(IsEmpty()));
  EXPECT_THAT(result.rules, ElementsAre(RuleCount{"no endpoint", 1, 1}));
}

// By the decorator's rules as by the device's, and however late a machine is opened.
TEST(RunSeedTest, WindowsCountFromTheBeginningOfTheRun) {
  FaultRule rule = FaultRule::Of(Fault::kOpenEndpointFails);
  rule.when.window = fabric::faults::Window{.from = 0us, .to = 10us};
  FaultPlan plan;
  plan.rules.push_back(rule);
  EXPECT_EQ(RunOnce(&OpenMachine, SamePlan("window", plan)).verdict, Verdict::kCleanError);
  const SeedResult late = RunOnce(
      [](Trial& trial) {
        trial.world().timeline().RunFor(10us);
        return OpenMachine(trial);
      },
      SamePlan("window", plan));
  EXPECT_EQ(late.verdict, Verdict::kCorrect) << late.text;
  EXPECT_EQ(late.rules[0].eligible, 0u);
}

TEST(RunSeedTest, ErrorWithoutAFaultIsAFailure) {
  const auto run = [](Trial&) { return Outcome::Of(absl::InternalError("two\nlines")); };
  const SeedResult result = RunOnce(run);
  EXPECT_EQ(result.verdict, Verdict::kUnexplainedError);
  EXPECT_EQ(result.text, "two | lines");
  // A rule that exists and does not fire explains nothing.
  EXPECT_EQ(RunOnce(run, OpeningFails()).verdict, Verdict::kUnexplainedError);
}

TEST(RunSeedTest, WrongDataIsAFailureEvenAfterAFault) {
  const SeedResult result = RunOnce(
      [](Trial& trial) {
        EXPECT_THAT(OpenMachine(trial).status(), Not(IsOk()));
        return Outcome::WrongData("page 3");
      },
      OpeningFails());
  EXPECT_EQ(result.verdict, Verdict::kWrongData);
  EXPECT_EQ(result.text, "page 3");
}

// Opens machines until one opens, or for a while; `retries`: says that it does.
class OpensAgain final : public Scenario {
 public:
  OpensAgain(bool retries, coro::Duration patience) : retries_(retries), patience_(patience) {}

  std::string_view name() const override { return "opens-again"; }
  std::string_view description() const override { return "opens until it succeeds"; }
  bool retries() const override { return retries_; }
  Outcome Run(Trial& trial) const override {
    coro::EventLoop loop(trial.clock());
    for (;;) {
      const absl::Status status = OpenNode(trial, loop, "a").status();
      if (status.ok() || trial.world().timeline().elapsed() >= patience_)
        return Outcome::Of(status);
      trial.world().timeline().RunFor(1ms);
    }
  }

 private:
  const bool retries_;
  const coro::Duration patience_;
};

TEST(RunSeedTest, ProgramThatTriesAgainEndsWellOnceTheFaultsAreOver) {
  RunSpec spec;
  spec.plan = OpeningFails().plan(1);
  EXPECT_EQ(RunOnce(OpensAgain(true, 50ms), spec).verdict, Verdict::kCleanError);
  spec.heal_after = 10ms;
  const SeedResult healed = RunOnce(OpensAgain(true, 50ms), spec);
  EXPECT_EQ(healed.verdict, Verdict::kCorrect);
  EXPECT_EQ(healed.rules[0].fired, 10u);
  // A program that gives up before that breaks its promise, if it has made one.
  const SeedResult broken = RunOnce(OpensAgain(true, 5ms), spec);
  EXPECT_EQ(broken.verdict, Verdict::kUnexplainedError);
  EXPECT_THAT(broken.text, HasSubstr("no fault began after 10000 us"));
  EXPECT_EQ(RunOnce(OpensAgain(false, 5ms), spec).verdict, Verdict::kCleanError);
}

TEST(RunSeedTest, WaitingForNothingIsAHang) {
  const SeedResult result = RunOnce([](Trial& trial) {
    coro::EventLoop loop(trial.clock());
    return Outcome::Of(loop.Run(WaitForNobody()));
  });
  EXPECT_EQ(result.verdict, Verdict::kHang);
  EXPECT_THAT(result.text, StartsWith("nothing is under way"));
}

coro::Task<absl::Status> SendToNobody(fabric::async::Node& from, fabric::async::BufferRef message) {
  const fabric::Completion sent = co_await from.endpoint().Send(message, from.peer(1));
  co_return from.endpoint().ToStatus(sent, "send");
}

TEST(RunSeedTest, HangSaysWhoWaitsForWhom) {
  const SeedResult result = RunOnce([](Trial& trial) {
    coro::EventLoop loop(trial.clock());
    const auto machines = *OpenNodes(trial, loop, 2);
    return Outcome::Of(loop.Run(SendToNobody(*machines[0], *machines[0]->Allocate(64))));
  });
  EXPECT_EQ(result.verdict, Verdict::kHang);
  EXPECT_THAT(result.text, AllOf(StartsWith("nothing is under way"), HasSubstr("machine0/"),
                                 HasSubstr("finds no receive at machine1/")));
  EXPECT_THAT(result.waits, AllOf(StartsWith("who waits for whom:\n  machine0/"),
                                  HasSubstr("    ==> waits for machine1/")));
}

// Reads its queue until something comes; nothing does.
Outcome PollForEver(Trial& trial, const std::string& machine = "a") {
  const auto fabric = *trial.OpenMachine(machine);
  const auto domain = *fabric->OpenDomain(0);
  const auto queue = *domain->OpenCompletionQueue({});
  fabric::Completion completion;
  while (queue->Read({&completion, 1}).count == 0) {
  }
  return Outcome::Of(absl::OkStatus());
}

TEST(RunSeedDeathTest, PollingForEverEndsTheProcessWithTheVerdict) {
  EXPECT_EXIT(RunOnce([](Trial& trial) { return PollForEver(trial); }),
              ::testing::ExitedWithCode(1),
              "seed 7: hang: nothing is under way after .* us, and the program polls for ever: "
              "nobody has posted anything");
}

// The plan's rules count as in a run that returns.
TEST(RunSeedDeathTest, PollingForEverHasItsRulesCounted) {
  FaultPlan plan;
  plan.rules.push_back(FaultRule::Of(Fault::kOpenCounterFails, "no counter"));
  const auto run = [&] {
    SetEndProcess([](const SeedResult& result) {
      std::_Exit(result.rules.size() == 1 && result.rules[0].fired == 1 ? 3 : 4);
    });
    RunOnce(
        [](Trial& trial) {
          const auto fabric = *trial.OpenMachine("a");
          EXPECT_FALSE((*fabric->OpenDomain(0))->OpenCounter().ok());
          return PollForEver(trial, "b");
        },
        SamePlan("no counter", plan));
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(3), "");
}

// Posts to itself until something is there to receive it; nothing is.
Outcome PostForEver(Trial& trial) {
  const auto fabric = *trial.OpenMachine("a");
  const fabric::OpenedNic nic = *fabric::OpenNic(*fabric);
  const fabric::Peer self = *nic.peers->Insert(nic.endpoint->address());
  while (nic.endpoint->Send(fabric::SendRequest{.peer = self}) != fabric::ErrorCode::kClosed) {
  }
  return Outcome::Of(absl::OkStatus());
}

// Its messages may be under way: it is the program that gives them no time.
TEST(RunSeedDeathTest, PostingToAFullQueueForEverIsSaidToBeThat) {
  EXPECT_EXIT(RunOnce(&PostForEver), ::testing::ExitedWithCode(1),
              "seed 7: hang: after .* us the program posts to a full send queue for ever, and does "
              "not read: a/.* queue pair 0: ");
}

TEST(RunSeedDeathTest, WhoeverRunsTheSeedMaySayHowTheProcessEnds) {
  EXPECT_EXIT(
      {
        SetEndProcess([](const SeedResult& result) {
          std::_Exit(result.verdict == Verdict::kHang && result.seed == 7 ? 9 : 8);
        });
        RunOnce([](Trial& trial) { return PollForEver(trial); });
      },
      ::testing::ExitedWithCode(9), "");
}

TEST(RunSeedTest, WaitingBeyondTheLimitIsAHang) {
  for (auto* const task : {&SleepAMinute, &SleepForEver}) {
    const SeedResult result = RunOnce([task](Trial& trial) {
      coro::EventLoop loop(trial.clock());
      return Outcome::Of(loop.Run(task()));
    });
    EXPECT_EQ(result.verdict, Verdict::kHang);
    EXPECT_THAT(result.text, HasSubstr("still waits after 10000000 us of virtual time"));
  }
}

// A machine whose world has something to do still counts as waiting for too long, not for nothing.
TEST(RunSeedTest, WorldThatGoesOnWithoutTheProgramIsAHangAtTheLimit) {
  const SeedResult result = RunOnce([](Trial& trial) {
    coro::EventLoop loop(trial.clock());
    trial.world().timeline().WakeAt(Timeline::kStart + 20s);
    return Outcome::Of(loop.Run(WaitForNobody()));
  });
  EXPECT_EQ(result.verdict, Verdict::kHang);
  EXPECT_THAT(result.text, HasSubstr("of virtual time"));
}

TEST(RunSeedTest, BrokenRuleOfTheSimulatorIsAFinding) {
  const SeedResult result = RunOnce([](Trial& trial) {
    const Nic& nic = trial.world().AddNode("a").nic(0);
    const CompletionRing full(/*number=*/3, /*serial=*/0, /*depth=*/16);
    trial.world().observers().Tell<&Observer::OnReported>(nic.state(), full, DeviceCompletion{},
                                                          EntryFate::kNoRoom);
    return Outcome::Of(absl::OkStatus());
  });
  EXPECT_EQ(result.verdict, Verdict::kFinding);
  EXPECT_THAT(result.text, StartsWith("completion-queue-capacity: a/"));
}

TEST(RunSeedTest, ProgramThatRemembersItsRunsIsNondeterministic) {
  int runs = 0;
  const TestScenario scenario([&runs](Trial& trial) {
    trial.world().timeline().WakeAt(Timeline::kStart + std::chrono::microseconds(++runs));
    trial.world().timeline().RunFor(1ms);
    return Outcome::Of(absl::OkStatus());
  });
  const SeedResult result = RunSeedChecked(scenario, 7, NoFaults(), /*twice=*/true);
  EXPECT_EQ(result.verdict, Verdict::kNondeterministic);
  EXPECT_THAT(result.text,
              AllOf(StartsWith("two runs differ: correct, 1 event,"), HasSubstr("after 2000 ns")));
  // Without a second run this is not detected.
  EXPECT_EQ(RunSeedChecked(scenario, 7, NoFaults(), false).verdict, Verdict::kCorrect);
}

TEST(RunSeedTest, FailureThatComesOnlyOnceIsNondeterministic) {
  int runs = 0;
  const TestScenario scenario([&runs](Trial&) {
    return ++runs == 1 ? Outcome::WrongData("once") : Outcome::Of(absl::OkStatus());
  });
  const SeedResult result = RunSeedChecked(scenario, 7, NoFaults(), /*twice=*/false);
  EXPECT_EQ(result.verdict, Verdict::kNondeterministic);
  EXPECT_THAT(result.text, AllOf(HasSubstr("wrong-data"), HasSubstr("; correct")));
  EXPECT_EQ(runs, 2);
}

TEST(RunSeedTest, RunsOfTheSameSeedAreEqual) {
  const TestScenario scenario(&OpenMachine);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(RunSeed(scenario, seed, Swarm()), RunSeed(scenario, seed, Swarm())) << seed;
  }
}

TEST(PlanSourceTest, PlanThatNoRunCanHaveIsRefused) {
  FaultPlan plan;
  plan.mode = fabric::faults::Legality::kStrict;
  plan.rules.push_back(FaultRule::Of(Fault::kSendQueueFull));  // adversarial
  EXPECT_THAT(CheckPlan(plan),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("send_queue_full")));
  plan.mode = fabric::faults::Legality::kAdversarial;
  plan.rules = {FaultRule::Of(Fault::kLateDeviceVisibility)};  // host memory is seen at once
  EXPECT_THAT(CheckPlan(plan), Not(IsOk()));
  plan.rules = {FaultRule::Of(Fault::kRemoteAbort)};
  EXPECT_THAT(CheckPlan(plan), IsOk());
}

}  // namespace
}  // namespace drydock::sim::explore
