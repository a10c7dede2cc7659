// Errors that are not taken: each is reported once, with the task that failed; those that are
// taken, and those that cancelling itself causes, are not.

#include "drydock/coro/untaken.h"

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/report.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/timeout.h"
#include "drydock/coro/timer_queue.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/coro/wait_node.h"
#include "drydock/coro/when_all.h"
#include "drydock/coro/when_any.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

Task<absl::Status> Fail(Duration after, const char* text) {
  if (after > 0ns) co_await Sleep(after);
  co_return absl::UnavailableError(text);
}
Task<absl::Status> SleepFor(Duration time) {
  co_await Sleep(time);
  co_return absl::OkStatus();
}

// What cannot be cancelled at once: ends when the time is over.
class Stubborn final : public WaitNode, private TimerNode {
 public:
  explicit Stubborn(Duration time) : TimerNode(&Stubborn::End), time_(time) {}
  bool await_ready() const { return false; }
  template <TaskPromise Promise>
  void await_suspend(std::coroutine_handle<Promise> self) {
    Suspend(self);
    EventLoop& loop = EventLoop::Current();
    loop.timers().Arm(*this, After(loop.Now(), time_));
  }
  void await_resume() const {}

  void Cancel(Cancellation& cancellation) override {
    cancellation.Expect();
    cancellation_ = &cancellation;
  }
  const char* what() const override { return "a device"; }

 private:
  static void End(TimerNode& timer) {
    auto& self = static_cast<Stubborn&>(timer);
    if (self.cancellation_ != nullptr) return self.cancellation_->Ended();
    EventLoop::Current().Schedule(self);
  }

  const Duration time_;
  Cancellation* cancellation_ = nullptr;
};

Time In(Duration delay) { return EventLoop::Current().Now() + delay; }

class UntakenTest : public ::testing::Test {
 protected:
  UntakenTest() {
    loop_->set_reporter([this](const std::string& text) { report_ += text; });
  }

  template <typename Main>
  void Run(const Main& main) {
    EXPECT_THAT(loop_->Run(main()), IsOk());
  }

  std::string report_;
  VirtualClock clock_;
  std::optional<EventLoop> loop_{std::in_place, clock_};
};

TEST_F(UntakenTest, ScopeThatDiesReportsItsErrorWithTheTaskAndWhereItWasSpawned) {
  std::string line;
  Run([&]() -> Task<> {
    Scope scope;
    line = std::to_string(__LINE__ + 1);
    scope.Spawn(Fail(1ms, "peer is gone"));
    co_await Sleep(2ms);
  });
  EXPECT_THAT(report_,
              MatchesRegex("no task took the error of Fail \\(untaken_test.cc:[0-9]+\\) at line "
                           "[0-9]+, spawned in operator\\(\\) \\(untaken_test.cc:" +
                           line + "\\): UNAVAILABLE: peer is gone\n"));
}

TEST_F(UntakenTest, ErrorThatJoinReturnsIsNotReported) {
  Run([]() -> Task<> {
    Scope scope;
    scope.Spawn(Fail(0ns, "once"));
    const absl::Status first = co_await scope.Join();
    EXPECT_THAT(first, StatusIs(absl::StatusCode::kUnavailable, "once"));
    const absl::Status second = co_await scope.Join();
    EXPECT_THAT(second, IsOk());
  });
  EXPECT_THAT(report_, IsEmpty());
}

TEST_F(UntakenTest, ErrorAfterJoinIsReported) {
  Run([]() -> Task<> {
    Scope scope;
    scope.Spawn(Fail(0ns, "before"));
    const absl::Status joined = co_await scope.Join();
    EXPECT_THAT(joined, Not(IsOk()));
    scope.Spawn(Fail(0ns, "after"));
  });
  EXPECT_THAT(report_, HasSubstr("UNAVAILABLE: after\n"));
  EXPECT_THAT(report_, Not(HasSubstr("before")));
}

// A few texts, each once, and the number of the rest.
TEST_F(UntakenTest, FurtherErrorsAreAttached) {
  const std::string texts = "a1; then: b2; then: c3; then: d4; then: e5; and 994 more";
  auto fail_often = [](Scope& scope) {
    for (const char* text : {"a1", "b2", "b2", "c3", "d4", "e5", "f6"}) {
      scope.Spawn(Fail(0ns, text));
    }
    for (int i = 0; i < 992; ++i) scope.Spawn(Fail(0ns, "a1"));
  };
  Run([&]() -> Task<> {
    Scope scope;
    fail_often(scope);
    const absl::Status joined = co_await scope.Join();
    EXPECT_THAT(joined, StatusIs(absl::StatusCode::kUnavailable, texts));
    EXPECT_THAT(report_, IsEmpty());
    fail_often(scope);
  });
  EXPECT_THAT(report_, HasSubstr(": UNAVAILABLE: " + texts + "\n"));
}

TEST_F(UntakenTest, FurtherErrorsKeepWhatTheFirstOneCarries) {
  Run([]() -> Task<> {
    Scope scope;
    auto fail = []() -> Task<absl::Status> {
      absl::Status status = absl::DataLossError("first");
      status.SetPayload("key", absl::Cord("value"));
      co_return status;
    };
    scope.Spawn(fail());
    scope.Spawn(Fail(0ns, "second"));
    const absl::Status joined = co_await scope.Join();
    EXPECT_THAT(joined, StatusIs(absl::StatusCode::kDataLoss, "first; then: second"));
    EXPECT_TRUE(joined.GetPayload("key").has_value());
  });
}

// The deadline takes the task that joins: what failed before is told, that others were cancelled is
// not.
TEST_F(UntakenTest, CancelledJoinReportsWhatFailedBefore) {
  Run([]() -> Task<> {
    auto work = []() -> Task<absl::Status> {
      Scope scope;
      scope.Spawn(Fail(1ms, "real"));
      scope.Spawn(SleepFor(1h));
      co_return co_await scope.Join();
    };
    const absl::Status status = co_await WithDeadline(In(2ms), work());
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
  });
  EXPECT_THAT(report_, HasSubstr("UNAVAILABLE: real\n"));
  EXPECT_THAT(report_, Not(HasSubstr("CANCELLED")));
}

TEST_F(UntakenTest, CancellingIsNoError) {
  Run([]() -> Task<> {
    {
      Scope scope;
      scope.Spawn(SleepFor(1h));
      const absl::Status status = co_await WithDeadline(In(1ms), scope.Join());
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
    }
    Scope scope;
    auto stop = [&]() -> Task<absl::Status> {
      scope.Cancel();
      co_return absl::CancelledError("as I was told");
    };
    scope.Spawn(SleepFor(1h));
    scope.Spawn(stop());
    const absl::Status joined = co_await scope.Join();
    EXPECT_THAT(joined, IsOk());
    scope.Spawn(stop());
  });
  EXPECT_THAT(report_, IsEmpty());
}

TEST_F(UntakenTest, CancelledThatNobodyAskedForIsAnError) {
  Run([]() -> Task<> {
    Scope scope;
    auto stop = []() -> Task<absl::Status> {
      co_return absl::CancelledError("the endpoint closed");
    };
    scope.Spawn(stop());
    co_return;
  });
  EXPECT_THAT(report_, HasSubstr("CANCELLED: the endpoint closed\n"));
}

TEST_F(UntakenTest, WhenAllThatIsDroppedReportsTheErrorsItHas) {
  Run([]() -> Task<> {
    std::vector<Task<absl::Status>> many;
    many.push_back(Fail(1ms, "one of a vector"));
    many.push_back(SleepFor(1h));
    const auto first = co_await WithDeadline(In(2ms), WhenAll(std::move(many)));
    EXPECT_THAT(first.status(), StatusIs(absl::StatusCode::kDeadlineExceeded));
    auto value = []() -> Task<absl::StatusOr<int>> { co_return absl::NotFoundError("one of two"); };
    const auto second = co_await WithDeadline(In(2ms), WhenAll(value(), SleepFor(1h)));
    EXPECT_THAT(second.status(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  });
  EXPECT_THAT(report_, MatchesRegex("no task took the error of Fail [^\n]*: UNAVAILABLE: one of "
                                    "a vector\nno task took the error of [^\n]*: NOT_FOUND: one "
                                    "of two\n"));
}

TEST_F(UntakenTest, WhenAllThatReturnsReportsNothing) {
  Run([]() -> Task<> {
    const auto [failed, slept] = co_await WhenAll(Fail(1ms, "returned"), SleepFor(2ms));
    EXPECT_THAT(failed, Not(IsOk()));
    EXPECT_THAT(slept, IsOk());
    std::vector<Task<absl::Status>> many;
    many.push_back(Fail(0ns, "returned"));
    const std::vector<absl::Status> all = co_await WhenAll(std::move(many));
    EXPECT_THAT(all[0], Not(IsOk()));
  });
  EXPECT_THAT(report_, IsEmpty());
}

TEST_F(UntakenTest, WhatARaceReturnsIsNotReported) {
  Run([]() -> Task<> {
    std::vector<Task<absl::Status>> one;
    one.push_back(Fail(1ms, "returned"));
    const std::pair<std::size_t, absl::Status> first = co_await WhenAny(std::move(one));
    EXPECT_THAT(first.second, Not(IsOk()));
    const auto either = co_await WhenAny(Fail(1ms, "returned"), SleepFor(1h));
    EXPECT_EQ(either.index(), 0u);
    const absl::Status in_time = co_await WithDeadline(In(2ms), Fail(1ms, "returned"));
    EXPECT_THAT(in_time, StatusIs(absl::StatusCode::kUnavailable, "returned"));
  });
  EXPECT_THAT(report_, IsEmpty());
}

// In one turn the task fails, its waiter is destroyed, and the deadline has come.
TEST_F(UntakenTest, DeadlineThatIsDroppedReportsTheErrorOfItsTask) {
  Run([]() -> Task<> {
    Scope killers;
    std::optional<Scope> victims(std::in_place);
    auto kill = [&]() -> Task<absl::Status> {
      co_await Sleep(1ms);
      victims.reset();
      co_return absl::OkStatus();
    };
    auto spawn_killer = [&]() -> Task<absl::Status> {
      killers.Spawn(kill());
      co_return absl::OkStatus();
    };
    auto inner = [&]() -> Task<absl::Status> {
      const auto [failed, spawned] = co_await WhenAll(Fail(1ms, "late"), spawn_killer());
      co_return failed;
    };
    auto outer = [&]() -> Task<absl::Status> { co_return co_await WithDeadline(In(1ms), inner()); };
    victims->Spawn(outer());
    const absl::Status killed = co_await killers.Join();
    EXPECT_THAT(killed, IsOk());
    EXPECT_FALSE(victims.has_value());
  });
  EXPECT_THAT(report_, HasSubstr("UNAVAILABLE: late\n"));
}

// The winner's error is its result; a loser has none, but its scope may have.
TEST_F(UntakenTest, WhenAnyReturnsItsWinnersErrorAndItsLosersScopesTell) {
  Run([]() -> Task<> {
    auto loser = []() -> Task<absl::Status> {
      Scope scope;
      scope.Spawn(Fail(1ms, "in a loser"));
      co_await Sleep(1h);
      co_return absl::OkStatus();
    };
    std::vector<Task<absl::Status>> both;
    both.push_back(loser());
    both.push_back(Fail(2ms, "won"));
    const std::pair<std::size_t, absl::Status> first = co_await WhenAny(std::move(both));
    EXPECT_EQ(first.first, 1u);
    EXPECT_THAT(first.second, StatusIs(absl::StatusCode::kUnavailable, "won"));
  });
  EXPECT_THAT(report_, HasSubstr("UNAVAILABLE: in a loser\n"));
  EXPECT_THAT(report_, Not(HasSubstr("won")));
}

// The winner has failed, a loser's device is awaited, and no task waits any more.
TEST_F(UntakenTest, WhenAnyThatIsDroppedReportsTheErrorOfItsWinner) {
  Run([]() -> Task<> {
    auto operate = []() -> Task<absl::Status> {
      co_await Stubborn(10ms);
      co_return absl::OkStatus();
    };
    auto race = [&]() -> Task<absl::Status> {
      std::vector<Task<absl::Status>> both;
      both.push_back(operate());
      both.push_back(Fail(1ms, "won"));
      co_return (co_await WhenAny(std::move(both))).second;
    };
    const absl::Status status = co_await WithDeadline(In(2ms), race());
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
    const auto variant = co_await WithDeadline(In(2ms), WhenAny(operate(), Fail(1ms, "of two")));
    EXPECT_THAT(variant.status(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  });
  EXPECT_THAT(report_, HasSubstr("UNAVAILABLE: won\n"));
  EXPECT_THAT(report_, HasSubstr("UNAVAILABLE: of two\n"));
}

TEST_F(UntakenTest, ScopeThatDiesAfterItsLoopTellsTheThread) {
  std::string thread_report;
  {
    const ReportTo all([&](const std::string& text) { thread_report += text; });
    Scope scope;
    auto main = [&]() -> Task<> {
      scope.Spawn(Fail(0ns, "late"));
      co_return;
    };
    Run(main);
    {
      Scope other;  // no loop runs, but there is one
      other.Spawn(Fail(0ns, "earlier"));
    }
    EXPECT_THAT(report_, HasSubstr("earlier"));
    loop_.reset();
  }
  EXPECT_THAT(thread_report, HasSubstr("UNAVAILABLE: late\n"));
  EXPECT_THAT(thread_report, Not(HasSubstr("earlier")));
}

TEST_F(UntakenTest, YoungestReporterOfTheThreadTakesAll) {
  std::string outer, inner;
  const ReportTo first([&](const std::string& text) { outer += text; });
  {
    const ReportTo second([&](const std::string& text) { inner += text; });
    EventLoop(clock_).Report("a");
    loop_->Report("own");
  }
  ReportToThread("b");
  EXPECT_EQ(inner, "a");
  EXPECT_EQ(outer, "b");
  EXPECT_EQ(report_, "own");
}

// A selector that knows of an operation.
class Leaving final : public Selector {
 public:
  std::size_t Poll(std::size_t) override { return 0; }
  std::string DescribeOrphans() const override { return orphans; }

  std::string orphans;
};

TEST_F(UntakenTest, SelectorThatLeavesTellsOfItsOrphans) {
  Leaving clean, selector;
  for (Leaving* each : {&clean, &selector}) loop_->AddSelector(*each);
  selector.orphans = "1 write\n";
  loop_->RemoveSelector(clean);
  EXPECT_THAT(report_, IsEmpty());
  loop_->RemoveSelector(selector);
  EXPECT_THAT(report_, HasSubstr("have not completed:\n1 write\n"));
}

}  // namespace
}  // namespace drydock::coro
