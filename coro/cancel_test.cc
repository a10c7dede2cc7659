// WhenAny, WithDeadline and Scope::Cancel: which waits are asked, which have ended when the result
// comes, and that a task that was cancelled never runs again.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "drydock/coro/event.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/frame_pool.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/semaphore.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/task_tree.h"
#include "drydock/coro/timeout.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/coro/when_all.h"
#include "drydock/coro/when_any.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

// Something of hardware: a wait that cannot be cancelled at once. It ends when the test says so.
class Device {
 public:
  class Operation final : public WaitNode {
   public:
    explicit Operation(Device& device) : device_(device) { device_.operation_ = this; }
    ~Operation() {
      if (device_.operation_ == this) device_.operation_ = nullptr;
    }
    bool await_ready() const { return false; }
    template <TaskPromise Promise>
    void await_suspend(std::coroutine_handle<Promise> self) {
      Suspend(self);
    }
    void await_resume() const {}

    void Cancel(Cancellation& cancellation) override {
      cancellation.Expect();
      cancellation_ = &cancellation;
    }
    const char* what() const override { return "a device"; }

    void Complete() {
      device_.operation_ = nullptr;
      if (cancellation_ != nullptr) return cancellation_->Ended();
      EventLoop::Current().Schedule(*this);
    }

   private:
    Device& device_;
    Cancellation* cancellation_ = nullptr;
  };

  bool busy() const { return operation_ != nullptr; }
  void Complete() { operation_->Complete(); }

 private:
  Operation* operation_ = nullptr;
};

// Counts itself out.
class Alive {
 public:
  explicit Alive(int& count) : count_(count) { ++count_; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --count_; }

 private:
  int& count_;
};

class CancelTest : public ::testing::Test {
 protected:
  template <typename Main>
  void Run(const Main& main) {
    EXPECT_THAT(loop_.Run(main()), IsOk());
    EXPECT_EQ(alive_, 0);
  }

  Task<int> ValueAfter(int value, Duration delay) {
    const Alive alive(alive_);
    if (delay > 0ns) co_await Sleep(delay);
    co_return value;
  }

  // Sleeps through three layers, and complains when it wakes.
  Task<absl::Status> SleepForEver(int layers = 3) {
    const Alive alive(alive_);
    if (layers > 0) {
      const absl::Status status = co_await SleepForEver(layers - 1);
      ADD_FAILURE() << "went on after it was cancelled";
      co_return status;
    }
    co_await Sleep(1h);
    ADD_FAILURE() << "went on after it was cancelled";
    co_return absl::OkStatus();
  }

  Task<absl::Status> Operate(bool must_not_go_on) {
    const Alive alive(alive_);
    co_await Device::Operation(device_);
    if (must_not_go_on) ADD_FAILURE() << "went on after it was cancelled";
    co_return absl::OkStatus();
  }

  // The deadline comes 1 ms after the start; `work` has the device's operation under way, which
  // ends at 5 ms and is waited for.
  Task<> ExpectThatTheDeadlineWaits(Time start, Task<absl::Status> work) {
    auto complete = [&]() -> Task<absl::Status> {
      co_await Sleep(5ms);
      EXPECT_TRUE(device_.busy());
      if (device_.busy()) device_.Complete();
      co_return absl::OkStatus();
    };
    Scope device;
    device.Spawn(complete());
    const absl::Status status = co_await WithDeadline(start + 1ms, std::move(work));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_FALSE(device_.busy());
    EXPECT_EQ(loop_.Now(), start + 5ms);
    const absl::Status joined = co_await device.Join();
    EXPECT_THAT(joined, IsOk());
  }

  VirtualClock clock_;
  EventLoop loop_{clock_};
  Device device_;
  int alive_ = 0;
};

// ---- A task that was woken in the turn in which it is cancelled ----

// A deadline that is handed down comes for both in one turn, and the outer one runs first.
TEST_F(CancelTest, TheTaskOfADeadlineThatCameWithTheOuterOneIsAsked) {
  Run([&]() -> Task<> {
    const Time start = loop_.Now();
    auto inner = [&]() -> Task<absl::Status> {
      co_await Sleep(10us);
      co_return co_await WithDeadline(start + 1ms, Operate(true));
    };
    co_await ExpectThatTheDeadlineWaits(start, inner());
  });
}

// One part has failed, which ends the others, in the turn in which all of them are cancelled.
TEST_F(CancelTest, TheTasksOfAScopeThatIsAboutToEndThemAreAsked) {
  Run([&]() -> Task<> {
    const Time start = loop_.Now();
    auto fail = [&]() -> Task<absl::Status> {
      co_await Sleep(1ms);
      co_return absl::InternalError("failed");
    };
    auto inner = [&]() -> Task<absl::Status> {
      Scope parts(OnError::kCancel);
      parts.Spawn(Operate(true));
      parts.Spawn(fail());
      co_return co_await parts.Join();
    };
    co_await ExpectThatTheDeadlineWaits(start, inner());
  });
}

TEST_F(CancelTest, FirstToFinishWinsAndTheOthersAreGone) {
  Run([&]() -> Task<> {
    const Time start = loop_.Now();
    std::vector<Task<int>> tasks;
    tasks.push_back(ValueAfter(1, 3ms));
    tasks.push_back(ValueAfter(2, 1ms));
    tasks.push_back(ValueAfter(3, 2ms));
    const std::pair<std::size_t, int> first = co_await WhenAny(std::move(tasks));
    EXPECT_EQ(first.first, 1u);
    EXPECT_EQ(first.second, 2);
    EXPECT_EQ(loop_.Now(), start + 1ms);
    EXPECT_EQ(alive_, 0);
  });
}

TEST_F(CancelTest, FirstOfDifferentTypesIsAVariant) {
  auto text = [&]() -> Task<std::string> {
    co_await Sleep(1ms);
    co_return "text";
  };
  Run([&]() -> Task<> {
    const std::variant<int, std::string> first = co_await WhenAny(ValueAfter(1, 2ms), text());
    EXPECT_EQ(first.index(), 1u);
    if (first.index() == 1) {
      EXPECT_EQ(std::get<1>(first), "text");
    }
  });
}

TEST_F(CancelTest, TaskThatFinishesAtOnceKeepsThoseAfterItFromStarting) {
  int started = 0;
  auto count = [&]() -> Task<int> {
    ++started;
    co_await Sleep(1ms);
    co_return 0;
  };
  Run([&]() -> Task<> {
    std::vector<Task<int>> tasks;
    tasks.push_back(count());
    tasks.push_back(ValueAfter(5, 0ns));
    tasks.push_back(count());
    const std::pair<std::size_t, int> first = co_await WhenAny(std::move(tasks));
    EXPECT_EQ(first.first, 1u);
    EXPECT_EQ(started, 1);
  });
}

TEST_F(CancelTest, WhenAnyWaitsForAnOperationOfALoser) {
  auto complete = [&]() -> Task<int> {
    co_await Sleep(5ms);
    device_.Complete();
    co_return 0;
  };
  auto race = [&]() -> Task<int> {
    std::vector<Task<>> tasks;
    auto operate = [&]() -> Task<> {
      const absl::Status status = co_await Operate(true);
      ADD_FAILURE() << "ended: " << status;
    };
    auto sleep = [&]() -> Task<> { co_await Sleep(1ms); };
    tasks.push_back(operate());
    tasks.push_back(sleep());
    const std::size_t first = co_await WhenAny(std::move(tasks));
    EXPECT_EQ(first, 1u);
    EXPECT_FALSE(device_.busy());
    co_return static_cast<int>((loop_.Now() - VirtualClock::kStart) / 1ms);
  };
  Run([&]() -> Task<> {
    auto [zero, when] = co_await WhenAll(complete(), race());
    EXPECT_EQ(when, 5) << "the result comes when the device has ended";
  });
}

TEST_F(CancelTest, DeadlineCancelsAndSaysSo) {
  Run([&]() -> Task<> {
    const Time start = loop_.Now();
    const absl::Status status = co_await WithDeadline(loop_.Now() + 2ms, SleepForEver());
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_EQ(loop_.Now(), start + 2ms);
    EXPECT_EQ(alive_, 0);
  });
  EXPECT_EQ(loop_.timers().NextDeadline(), kNever) << "a sleep is still armed";
}

TEST_F(CancelTest, TaskInTimeKeepsItsResultAndLeavesNoTimer) {
  Run([&]() -> Task<> {
    const absl::StatusOr<int> value = co_await WithDeadline(loop_.Now() + 2ms, ValueAfter(7, 1ms));
    EXPECT_THAT(value, IsOkAndHolds(7));
    EXPECT_TRUE(loop_.timers().empty());
    const absl::StatusOr<int> at_once = co_await WithDeadline(loop_.Now(), ValueAfter(8, 0ns));
    EXPECT_THAT(at_once, IsOkAndHolds(8));
  });
}

TEST_F(CancelTest, NestedDeadlinesTakeTheEarliest) {
  Run([&]() -> Task<> {
    const Time start = loop_.Now();
    const absl::Status inner =
        co_await WithDeadline(loop_.Now() + 5ms, WithDeadline(loop_.Now() + 2ms, SleepForEver()));
    EXPECT_THAT(inner, StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_EQ(loop_.Now(), start + 2ms);
    const absl::Status outer =
        co_await WithDeadline(loop_.Now() + 2ms, WithDeadline(loop_.Now() + 5ms, SleepForEver()));
    EXPECT_THAT(outer, StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_EQ(loop_.Now(), start + 4ms);
  });
}

// The task and the deadline in one turn: the task has finished in time.
TEST_F(CancelTest, TaskThatEndsWithItsDeadlineIsInTime) {
  Run([&]() -> Task<> {
    const absl::StatusOr<int> value = co_await WithDeadline(loop_.Now() + 1ms, ValueAfter(7, 1ms));
    EXPECT_THAT(value, IsOkAndHolds(7));
  });
}

TEST_F(CancelTest, CancelledScopeEndsAllItsTasks) {
  Run([&]() -> Task<> {
    Scope scope;
    for (int i = 0; i < 10; ++i) scope.Spawn(SleepForEver());
    const Time start = loop_.Now();
    scope.Cancel();
    const absl::Status joined1 = co_await scope.Join();
    EXPECT_THAT(joined1, IsOk());
    EXPECT_EQ(loop_.Now(), start);
    EXPECT_EQ(scope.running(), 0u);
    EXPECT_EQ(alive_, 0);
    // As new.
    EXPECT_FALSE(scope.cancelled());
    auto fail = [&]() -> Task<absl::Status> { co_return absl::DataLossError("lost"); };
    scope.Spawn(fail());
    const absl::Status joined2 = co_await scope.Join();
    EXPECT_THAT(joined2, StatusIs(absl::StatusCode::kDataLoss));
  });
}

TEST_F(CancelTest, TaskMayCancelItsOwnScope) {
  Run([&]() -> Task<> {
    Scope scope;
    auto cancel = [&]() -> Task<absl::Status> {
      co_await Sleep(1ms);
      scope.Cancel();
      co_return absl::AbortedError("enough");
    };
    scope.Spawn(SleepForEver());
    scope.Spawn(cancel());
    const absl::Status joined3 = co_await scope.Join();
    EXPECT_THAT(joined3, StatusIs(absl::StatusCode::kAborted));
  });
}

TEST_F(CancelTest, FirstErrorCancelsTheSiblingsWhereAskedTo) {
  Run([&]() -> Task<> {
    Scope scope(OnError::kCancel);
    auto fail = [&](Duration after, const char* text) -> Task<absl::Status> {
      co_await Sleep(after);
      co_return absl::UnavailableError(text);
    };
    scope.Spawn(SleepForEver());
    scope.Spawn(fail(1ms, "first"));
    scope.Spawn(fail(1ms, "second"));  // in the same turn
    scope.Spawn(fail(2ms, "never"));
    const absl::Status joined4 = co_await scope.Join();
    EXPECT_THAT(joined4, StatusIs(absl::StatusCode::kUnavailable, "first; then: second"));
  });
}

TEST_F(CancelTest, JoinWaitsForOperationsOfCancelledTasks) {
  Run([&]() -> Task<> {
    Scope scope;
    Scope device;
    auto complete = [&]() -> Task<absl::Status> {
      co_await Sleep(3ms);
      device_.Complete();
      co_return absl::OkStatus();
    };
    device.Spawn(complete());
    scope.Spawn(Operate(true));
    scope.Spawn(SleepForEver());
    const Time start = loop_.Now();
    scope.Cancel();
    const absl::Status joined5 = co_await scope.Join();
    EXPECT_THAT(joined5, IsOk());
    EXPECT_EQ(loop_.Now(), start + 3ms);
    const absl::Status joined6 = co_await device.Join();
    EXPECT_THAT(joined6, IsOk());
  });
}

// The tasks that the first one ends are gone for the second, which would look for them for ever.
TEST_F(CancelTest, TwoTasksCannotJoinACancelledScope) {
  auto main = [&]() -> Task<> {
    Scope scope;
    scope.Spawn(Operate(true));
    scope.Cancel();
    auto join = [&]() -> Task<absl::Status> { return scope.Join(); };
    Scope joiners;
    joiners.Spawn(join());
    joiners.Spawn(join());
    const absl::Status joined = co_await joiners.Join();
    EXPECT_THAT(joined, IsOk());
  };
  EXPECT_DEATH(Run(main), "a scope is joined by two tasks at a time");
}

// A time-out around a task that joins a scope: the scope's tasks are asked, and waited for.
TEST_F(CancelTest, CancellingReachesThroughJoinAndWhenAll) {
  auto work = [&]() -> Task<absl::Status> {
    const Alive alive(alive_);
    Scope scope;
    scope.Spawn(Operate(true));
    std::vector<Task<absl::Status>> sleepers;
    sleepers.push_back(SleepForEver());
    sleepers.push_back(scope.Join());
    const std::vector<absl::Status> ends = co_await WhenAll(std::move(sleepers));
    co_return ends[0];
  };
  Run([&]() -> Task<> {
    Scope device;
    auto complete = [&]() -> Task<absl::Status> {
      co_await Sleep(4ms);
      device_.Complete();
      co_return absl::OkStatus();
    };
    device.Spawn(complete());
    const Time start = loop_.Now();
    const absl::Status status = co_await WithDeadline(loop_.Now() + 1ms, work());
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_EQ(loop_.Now(), start + 4ms);
    EXPECT_EQ(alive_, 0);
    const absl::Status joined7 = co_await device.Join();
    EXPECT_THAT(joined7, IsOk());
  });
}

// The tasks that a join had asked to end are gone with it: the scope waits for none of them again,
// and asks none a second time.
TEST_F(CancelTest, ScopeWhoseJoinWasCancelledIsJoinedAgain) {
  for (const bool cancel : {false, true}) {
    SCOPED_TRACE(cancel);
    Run([&]() -> Task<> {
      Scope scope;
      scope.Spawn(Operate(true));
      scope.Spawn(SleepForEver());
      co_await ExpectThatTheDeadlineWaits(loop_.Now(), scope.Join());
      EXPECT_EQ(scope.running(), 0u);
      EXPECT_EQ(alive_, 0);
      const Time cancelled = loop_.Now();
      if (cancel) scope.Cancel();
      const absl::Status nothing_left = co_await scope.Join();
      EXPECT_THAT(nothing_left, IsOk());
      EXPECT_EQ(loop_.Now(), cancelled);
      auto fail = [&]() -> Task<absl::Status> {
        co_await Sleep(1ms);
        co_return absl::DataLossError("lost");
      };
      scope.Spawn(fail());
      const absl::Status as_new = co_await scope.Join();
      EXPECT_THAT(as_new, StatusIs(absl::StatusCode::kDataLoss));
    });
  }
}

// Cancel has no effect on tasks that are spawned after the join that it had woken was cancelled: in
// the same turn, while that waited for the device, or when the last task had ended already.
TEST_F(CancelTest, CancelEndsWithAJoinThatIsCancelled) {
  enum Form { kInTheSameTurn, kWhileItWaits, kAfterTheLastTask };
  for (const Form form : {kInTheSameTurn, kWhileItWaits, kAfterTheLastTask}) {
    SCOPED_TRACE(form);
    Run([&]() -> Task<> {
      Scope scope(OnError::kCancel);
      Event end;
      auto fail = [&]() -> Task<absl::Status> {
        const bool told = co_await end.Wait();
        EXPECT_TRUE(told);
        co_return absl::NotFoundError("first");
      };
      if (form == kInTheSameTurn) scope.Spawn(SleepForEver());
      if (form == kWhileItWaits) scope.Spawn(Operate(true));
      if (form == kAfterTheLastTask) scope.Spawn(fail());
      if (form == kWhileItWaits) {
        scope.Cancel();
        co_await ExpectThatTheDeadlineWaits(loop_.Now(), scope.Join());
      } else {
        Scope outer;
        auto join = [&]() -> Task<absl::Status> { return scope.Join(); };
        outer.Spawn(join());
        if (form == kInTheSameTurn) {
          scope.Cancel();
        } else {
          end.Set();
          co_await Yield();  // the task that fails has woken the one that joins
          EXPECT_TRUE(scope.cancelled());
        }
        outer.Cancel();
        const absl::Status cancelled = co_await outer.Join();
        EXPECT_THAT(cancelled, IsOk());
      }
      EXPECT_EQ(scope.running(), 0u);
      EXPECT_FALSE(scope.cancelled());
      bool ran = false;
      auto later = [&]() -> Task<absl::Status> {
        co_await Sleep(1ms);
        ran = true;
        co_return absl::OkStatus();
      };
      scope.Spawn(later());
      const absl::Status joined = co_await scope.Join();
      EXPECT_EQ(joined.message(), form == kAfterTheLastTask ? "first" : "");
      EXPECT_TRUE(ran);
    });
  }
}

// The same where the task that gave up is still there.
TEST_F(CancelTest, TasksThatLostDieAlsoWhereTheirRaceIsKept) {
  Run([&]() -> Task<> {
    auto forever = [&](Scope& scope) -> Task<int> {
      const absl::Status joined = co_await scope.Join();
      co_return joined.ok() ? 1 : 0;
    };
    auto soon = []() -> Task<int> {
      co_await Sleep(1ms);
      co_return 2;
    };
    Scope scope;
    for (int form = 0; form < 3; ++form) {
      SCOPED_TRACE(form);
      scope.Spawn(SleepForEver());
      Task<absl::StatusOr<int>> timed;
      Task<std::variant<int, int>> any;
      Task<std::pair<std::size_t, int>> any_of_many;
      if (form == 0) {
        timed = WithDeadline(loop_.Now() + 1ms, forever(scope));
        const absl::StatusOr<int> late = co_await std::move(timed);
        EXPECT_THAT(late, StatusIs(absl::StatusCode::kDeadlineExceeded));
      } else if (form == 1) {
        any = WhenAny(forever(scope), soon());
        const std::variant<int, int> first = co_await std::move(any);
        EXPECT_EQ(first.index(), 1u);
      } else {
        std::vector<Task<int>> tasks;
        tasks.push_back(forever(scope));
        tasks.push_back(soon());
        any_of_many = WhenAny(std::move(tasks));
        const std::pair<std::size_t, int> first = co_await std::move(any_of_many);
        EXPECT_EQ(first.first, 1u);
      }
      EXPECT_EQ(scope.running(), 0u);
      EXPECT_EQ(alive_, 0);
      const absl::Status nothing_left = co_await scope.Join();
      EXPECT_THAT(nothing_left, IsOk());
    }
  });
}

// The same where the join that is cancelled is that of a scope's task, in another scope.
TEST_F(CancelTest, ScopeThatACancelledTaskJoinedIsJoinedAgain) {
  Run([&]() -> Task<> {
    Scope inner;
    inner.Spawn(Operate(true));
    auto join = [&]() -> Task<absl::Status> { return inner.Join(); };
    Scope outer;
    outer.Spawn(join());
    co_await ExpectThatTheDeadlineWaits(loop_.Now(), outer.Join());
    EXPECT_EQ(outer.running(), 0u);
    EXPECT_EQ(inner.running(), 0u);
    inner.Cancel();
    const absl::Status joined = co_await inner.Join();
    EXPECT_THAT(joined, IsOk());
  });
}

// The coroutine that cancels is cancelled in turn, while it waits for the device: the outer one
// waits as well.
TEST_F(CancelTest, CancellingTheCancellerWaitsForTheSameOperation) {
  Run([&]() -> Task<> {
    Scope device;
    auto complete = [&]() -> Task<absl::Status> {
      co_await Sleep(9ms);
      device_.Complete();
      co_return absl::OkStatus();
    };
    device.Spawn(complete());
    const Time start = loop_.Now();
    const absl::Status status =
        co_await WithDeadline(loop_.Now() + 2ms, WithDeadline(loop_.Now() + 1ms, Operate(true)));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_EQ(loop_.Now(), start + 9ms);
    const absl::Status joined8 = co_await device.Join();
    EXPECT_THAT(joined8, IsOk());
  });
}

// A task that is about to run when it is cancelled does not run.
TEST_F(CancelTest, ReadyTaskIsCancelledToo) {
  Run([&]() -> Task<> {
    Event event;
    Scope scope;
    auto wait = [&]() -> Task<absl::Status> {
      const Alive alive(alive_);
      co_await event.Wait();
      ADD_FAILURE() << "went on after it was cancelled";
      co_return absl::OkStatus();
    };
    auto yield = [&]() -> Task<absl::Status> {
      const Alive alive(alive_);
      for (;;) co_await Yield();
    };
    scope.Spawn(wait());
    scope.Spawn(yield());
    scope.Cancel();
    event.Set();  // ready, and Join's coroutine is before it
    const absl::Status joined9 = co_await scope.Join();
    EXPECT_THAT(joined9, IsOk());
  });
}

TEST_F(CancelTest, DestroyingInsteadOfCancellingIsSafe) {
  Run([&]() -> Task<> {
    {
      Scope scope;
      scope.Spawn(Operate(true));
      scope.Spawn(SleepForEver());
      EXPECT_TRUE(device_.busy());
    }
    EXPECT_FALSE(device_.busy());
    EXPECT_EQ(alive_, 0);
    co_await Yield();
  });
}

TEST_F(CancelTest, DeadlinesThatDidNotComeRetainNothing) {
  Run([&]() -> Task<> {
    const std::size_t tasks = CountTasks().live;
    std::uint64_t frames_once_warm = 0;
    for (int i = 0; i < 1000; ++i) {
      const absl::StatusOr<int> value =
          co_await WithDeadline(loop_.Now() + 1h, ValueAfter(i, i % 2 == 0 ? 0ns : 1ns));
      EXPECT_THAT(value, IsOkAndHolds(i));
      if (i == 1) frames_once_warm = FramePool::counters().misses;
    }
    EXPECT_TRUE(loop_.timers().empty());
    EXPECT_EQ(CountTasks().live, tasks);
    if (FramePool::kKeeps) {
      EXPECT_EQ(FramePool::counters().misses, frames_once_warm);
    }
  });
}

}  // namespace
}  // namespace drydock::coro
