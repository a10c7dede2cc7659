#include "drydock/coro/event_loop.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/frame_pool.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/coro/wait_list.h"
#include "drydock/coro/when_all.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

class EventLoopTest : public ::testing::Test {
 protected:
  VirtualClock clock_;
  EventLoop loop_{clock_};
  std::vector<std::string> log_;
};

TEST_F(EventLoopTest, RunReturnsTheTasksOwnStatus) {
  auto fail = []() -> Task<absl::Status> { co_return absl::NotFoundError("no such page"); };
  EXPECT_THAT(loop_.Run(fail()), StatusIs(absl::StatusCode::kNotFound, "no such page"));
  auto value = []() -> Task<absl::StatusOr<int>> { co_return 3; };
  EXPECT_THAT(loop_.Run(value()), IsOkAndHolds(3));
  auto nothing = []() -> Task<void> { co_return; };
  EXPECT_THAT(loop_.Run(nothing()), IsOk());
}

TEST_F(EventLoopTest, SleepTakesVirtualTimeOnly) {
  auto day = [this]() -> Task<Duration> {
    const Time start = clock_.Now();
    co_await Sleep(24h);
    co_return clock_.Now() - start;
  };
  EXPECT_THAT(loop_.Run(day()), IsOkAndHolds(Duration(24h)));
}

TEST_F(EventLoopTest, SleepOfZeroStillLetsATurnPass) {
  auto main = [this]() -> Task<void> {
    const Time start = clock_.Now();
    co_await Sleep(0ns);
    co_await Sleep(-5ns);
    EXPECT_EQ(clock_.Now(), start);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

Task<void> Record(std::vector<std::string>& log, std::string name, int times) {
  for (int i = 0; i < times; ++i) {
    log.push_back(name + std::to_string(i));
    co_await Yield();
  }
}

// Two coroutines that yield take turns: the fairness that the loop promises.
TEST_F(EventLoopTest, YieldingCoroutinesAlternate) {
  auto main = [this]() -> Task<void> {
    Task<void> other = Record(log_, "b", 3);
    Task<void>::ForeignAwaiter running = std::move(other).operator co_await();
    EXPECT_FALSE(running.await_ready());
    co_await Record(log_, "a", 3);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_THAT(log_, ElementsAre("b0", "a0", "b1", "a1", "b2", "a2"));
}

// Many tasks that are ready at once: more than one piece of the ready queue holds.
struct Crowd {
  explicit Crowd(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) tasks.push_back(NoteTwice(*this, i));
    for (const Task<void>& task : tasks) task.Start();
  }
  static Task<void> NoteTwice(Crowd& crowd, std::size_t number) {
    co_await Yield();
    crowd.ran.push_back(number);
    // In the middle of a turn, one that has its place further behind in it, and one that had it
    // before and stands in the next one.
    if (number == 102) {
      crowd.tasks[900] = Task<void>();
      crowd.tasks[50] = Task<void>();
    }
    co_await Yield();
    crowd.ran.push_back(number);
  }

  std::vector<Task<void>> tasks;
  std::vector<std::size_t> ran;
};

TEST_F(EventLoopTest, ThousandsThatAreReadyRunInOrderWithoutThoseThatDied) {
  auto main = []() -> Task<void> {
    Crowd crowd(2000);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < crowd.tasks.size(); ++i) {
      if (i % 3 == 1) crowd.tasks[i] = Task<void>();
      if (i % 3 != 1 && i != 900) expected.push_back(i);
    }
    crowd.tasks[1] = Crowd::NoteTwice(crowd, 1);  // in the place of one that has died
    crowd.tasks[1].Start();
    expected.push_back(1);
    co_await Yield();
    EXPECT_EQ(crowd.ran, expected);
    crowd.ran.clear();
    co_await Yield();
    std::erase(expected, 50);
    EXPECT_EQ(crowd.ran, expected);
    co_await Sleep(1ms);  // nobody is left
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  const std::uint64_t misses = FramePool::counters().misses;
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_EQ(FramePool::kKeeps ? FramePool::counters().misses : misses, misses) << "of the queue";
}

// Tasks that become ready and die before a turn comes, for as long as the program likes.
TEST_F(EventLoopTest, ThoseThatDieBeforeTheirTurnLeaveNoMemoryBehind) {
  auto main = [](int crowds) -> Task<void> {
    Crowd some(100);
    for (int i = 0; i < crowds; ++i) {
      const Crowd others(600);
      for (std::size_t place = 0; place < some.tasks.size(); place += 7) {
        some.tasks[place] = Crowd::NoteTwice(some, place);
        some.tasks[place].Start();
      }
    }
    std::vector<std::size_t> expected;  // those that were there first, then those that came last
    for (std::size_t place = 0; place < 100; ++place) {
      if (place % 7 != 0) expected.push_back(place);
    }
    for (std::size_t place = 0; place < 100; place += 7) expected.push_back(place);
    co_await Yield();
    EXPECT_EQ(some.ran, expected);
  };
  EXPECT_THAT(loop_.Run(main(200)), IsOk());
  const std::uint64_t misses = FramePool::counters().misses;
  EXPECT_THAT(loop_.Run(main(2000)), IsOk());
  // (How many pieces there are at most depends a little on where in a piece a turn begins.)
  EXPECT_LT(FramePool::kKeeps ? FramePool::counters().misses - misses : 0, 4) << "of the queue";
}

TEST_F(EventLoopTest, LoopThatEndsBeforeTheTurnOfThoseThatDiedKeepsNothing) {
  const auto once = [this] {
    EventLoop loop(clock_);
    auto main = []() -> Task<void> {
      const Crowd crowd(600);
      co_return;
    };
    EXPECT_THAT(loop.Run(main()), IsOk());
  };
  once();
  const std::uint64_t misses = FramePool::counters().misses;
  for (int i = 0; i < 10; ++i) once();
  EXPECT_EQ(FramePool::kKeeps ? FramePool::counters().misses : misses, misses);
}

// Counts polls; wakes `waiters` once, at the poll with the given number.
class CountingSelector : public Selector {
 public:
  explicit CountingSelector(int wake_at) : wake_at_(wake_at) {}

  std::size_t Poll(std::size_t) override {
    if (++polls_ != wake_at_) return 0;
    waiters.NotifyAll();
    return 1;
  }

  int polls() const { return polls_; }
  WaitList waiters;

 private:
  int wake_at_;
  int polls_ = 0;
};

TEST_F(EventLoopTest, TurnOfTheDeadAloneIsNone) {
  CountingSelector selector(0);
  loop_.AddSelector(selector);
  std::vector<int> polls;
  for (const std::size_t died : {0, 100, 600}) {
    auto main = [](std::size_t size) -> Task<void> {
      { const Crowd crowd(size); }
      co_await Sleep(1ms);
    };
    const int before = selector.polls();
    EXPECT_THAT(loop_.Run(main(died)), IsOk());
    polls.push_back(selector.polls() - before);
  }
  EXPECT_THAT(polls, Each(polls.front()));
  loop_.RemoveSelector(selector);
}

TEST_F(EventLoopTest, SelectorIsPolledEveryTurnWhateverRuns) {
  CountingSelector selector(0);
  loop_.AddSelector(selector);
  auto busy = []() -> Task<void> {
    for (int i = 0; i < 100; ++i) co_await Yield();
  };
  EXPECT_THAT(loop_.Run(busy()), IsOk());
  EXPECT_GE(selector.polls(), 100);
  loop_.RemoveSelector(selector);
}

// However many yield: between two polls each of them runs once, in the same order.
TEST_F(EventLoopTest, EachOfManyRunsOnceATurn) {
  constexpr std::size_t kTasks = 5;
  constexpr std::size_t kTurns = 20;
  CountingSelector selector(0);
  loop_.AddSelector(selector);
  std::vector<std::size_t> order;
  std::vector<int> polls;
  auto one = [&](std::size_t name) -> Task<void> {
    for (std::size_t i = 0; i < kTurns; ++i) {
      co_await Yield();
      order.push_back(name);
      polls.push_back(selector.polls());
    }
  };
  auto main = [&]() -> Task<void> {
    std::vector<Task<void>> tasks;
    for (std::size_t i = 0; i < kTasks; ++i) tasks.push_back(one(i));
    co_await WhenAll(std::move(tasks));
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  ASSERT_EQ(order.size(), kTasks * kTurns);
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(order[i], i % kTasks);
    EXPECT_EQ(polls[i], polls[0] + static_cast<int>(i / kTasks));
  }
  loop_.RemoveSelector(selector);
}

// Always has as many events as it may handle.
class EndlessSelector : public Selector {
 public:
  std::size_t Poll(std::size_t budget) override {
    budgets.push_back(budget);
    return budget;
  }
  std::vector<std::size_t> budgets;
};

TEST_F(EventLoopTest, EndlessEventsDoNotHoldTheLoop) {
  EndlessSelector selector;
  loop_.AddSelector(selector);
  auto busy = []() -> Task<void> {
    for (int i = 0; i < 100; ++i) co_await Yield();
  };
  EXPECT_THAT(loop_.Run(busy()), IsOk());
  EXPECT_THAT(selector.budgets, AllOf(SizeIs(100), Each(AllOf(Ge(1u), Le(64u)))));
  loop_.RemoveSelector(selector);
}

TEST_F(EventLoopTest, SelectorWakesItsWaiterOnARealClockWithoutBlocking) {
  SteadyClock steady;
  EventLoop loop(steady);
  CountingSelector selector(1000);
  loop.AddSelector(selector);
  auto wait = [&selector]() -> Task<bool> { co_return co_await selector.waiters.Wait(); };
  EXPECT_THAT(loop.Run(wait()), IsOkAndHolds(true));
  EXPECT_EQ(selector.polls(), 1000);
  loop.RemoveSelector(selector);
}

// A clock that passes as it is read, and counts how often it was asked to wait.
class TickingClock : public Clock {
 public:
  Time Now() const override {
    now_ += 1us;
    return now_;
  }
  bool WaitUntil(Time deadline) override {
    ++waits;
    now_ = std::max(now_, deadline);
    return true;
  }
  bool IsVirtual() const override { return false; }
  int waits = 0;

 private:
  mutable Time now_ = Time(1s);
};

// A source that can block is trusted with the wait, and told the deadline of the next timer.
class BlockingSelector : public Selector {
 public:
  explicit BlockingSelector(Clock& clock) : clock_(clock) {}
  std::size_t Poll(std::size_t) override { return 0; }
  bool Wait(Time deadline) override {
    deadlines.push_back(deadline);
    clock_.WaitUntil(deadline);
    return true;
  }
  std::vector<Time> deadlines;

 private:
  Clock& clock_;
};

TEST_F(EventLoopTest, IdleWaitIsBoundedByTheNextTimer) {
  TickingClock ticking;  // of a real one, the sleep may be over before the loop was ever idle
  EventLoop loop(ticking);
  BlockingSelector selector(ticking);
  loop.AddSelector(selector);
  auto main = [&]() -> Task<Time> {
    const Time due = loop.Now() + 2ms;
    co_await SleepUntil(due);
    EXPECT_GE(ticking.Now(), due);
    co_return due;
  };
  const absl::StatusOr<Time> due = loop.Run(main());
  ASSERT_THAT(due, IsOk());
  ASSERT_FALSE(selector.deadlines.empty());
  EXPECT_EQ(selector.deadlines.front(), *due);
  loop.RemoveSelector(selector);
}

TEST_F(EventLoopTest, PollsWithoutPauseFirstAndNapsLater) {
  TickingClock ticking;
  EventLoop loop(ticking, {.busy_poll = 100us, .nap = 50us});
  CountingSelector selector(300);
  loop.AddSelector(selector);
  auto wait = [&]() -> Task<bool> { co_return co_await selector.waiters.Wait(); };
  EXPECT_THAT(loop.Run(wait()), IsOkAndHolds(true));
  EXPECT_GT(ticking.waits, 100);  // one clock reading, 1 us, for each of the first 100 turns
  EXPECT_LE(ticking.waits, 201);
  loop.RemoveSelector(selector);
}

TEST_F(EventLoopTest, NapEndsAtTheNextTimer) {
  TickingClock ticking;
  EventLoop loop(ticking, {.busy_poll = 0us, .nap = 1h});
  CountingSelector selector(0);
  loop.AddSelector(selector);
  auto main = [&]() -> Task<Duration> {
    const Time start = loop.Now();
    co_await Sleep(10ms);
    co_return loop.Now() - start;
  };
  const absl::StatusOr<Duration> slept = loop.Run(main());
  ASSERT_THAT(slept, IsOk());
  EXPECT_LT(*slept, 11ms);
  loop.RemoveSelector(selector);
}

// Has no events, and notes when each turn began: at a poll the loop still has the time of the last
// turn.
class TurnNotingSelector : public Selector {
 public:
  explicit TurnNotingSelector(EventLoop& loop) : loop_(loop) { loop_.AddSelector(*this); }
  ~TurnNotingSelector() override { loop_.RemoveSelector(*this); }

  std::size_t Poll(std::size_t) override {
    turns.push_back(loop_.Now());
    return 0;
  }
  std::vector<Time> turns;

 private:
  EventLoop& loop_;
};

TEST_F(EventLoopTest, SleepsEndInOrderNeverEarlyAndInTheFirstTurnAfterwards) {
  struct Waking {
    Time due;
    Time at;
  };
  TickingClock ticking;
  EventLoop loop(ticking, {.busy_poll = 20us, .nap = 7us});
  TurnNotingSelector selector(loop);
  std::vector<Waking> wakings;
  auto sleep = [&](Duration delay) -> Task<void> {
    const Time due = After(loop.Now(), delay);
    co_await Sleep(delay);
    wakings.push_back({due, loop.Now()});
  };
  auto main = [&]() -> Task<void> {
    std::vector<Task<void>> tasks;
    for (std::int64_t i = 0; i < 300; ++i) {
      tasks.push_back(sleep(Duration(1 + i * 7'919'333 % 3'000'000)));
    }
    co_await WhenAll(std::move(tasks));
  };
  EXPECT_THAT(loop.Run(main()), IsOk());
  ASSERT_EQ(wakings.size(), 300u);
  for (std::size_t i = 0; i < wakings.size(); ++i) {
    EXPECT_LE(wakings[i == 0 ? 0 : i - 1].due, wakings[i].due);
    EXPECT_GE(wakings[i].at, wakings[i].due);
    const auto turn = std::lower_bound(selector.turns.begin(), selector.turns.end(), wakings[i].at);
    ASSERT_NE(turn, selector.turns.begin());
    EXPECT_LT(*std::prev(turn), wakings[i].due);
  }
}

TEST_F(EventLoopTest, ReportsATaskThatNothingCanWake) {
  WaitList never_notified;
  auto main = [&]() -> Task<void> { co_await never_notified.Wait(); };
  EXPECT_THAT(loop_.Run(main()), StatusIs(absl::StatusCode::kAborted, HasSubstr("stuck")));
  EXPECT_TRUE(never_notified.empty());
}

TEST_F(EventLoopTest, CanRunAgainAfterBeingStuck) {
  WaitList never_notified;
  auto stuck = [&]() -> Task<void> { co_await never_notified.Wait(); };
  EXPECT_THAT(loop_.Run(stuck()), StatusIs(absl::StatusCode::kAborted));
  auto fine = []() -> Task<int> {
    co_await Sleep(1s);
    co_return 1;
  };
  EXPECT_THAT(loop_.Run(fine()), IsOkAndHolds(1));
}

// A program with a loop of its own: tasks that Run has left go on in turns from outside.
TEST_F(EventLoopTest, TurnsFromOutsideAreLikeThoseOfRun) {
  int ticks = 0;
  auto tick = [&]() -> Task<void> {
    for (;;) {
      co_await Sleep(1ms);
      ++ticks;
      co_await Yield();
    }
  };
  const Task<void> ticking = tick();
  auto start = [&]() -> Task<void> {
    ticking.Start();
    co_return;
  };
  EXPECT_THAT(loop_.Run(start()), IsOk());
  EXPECT_FALSE(loop_.RunOne());
  for (int turn = 1; turn <= 3; ++turn) {
    clock_.Advance(1ms);
    EXPECT_EQ(loop_.Select(), 1u);
    EXPECT_TRUE(loop_.RunOne());
    EXPECT_EQ(ticks, turn);
    EXPECT_EQ(loop_.Select(), 0u);
    EXPECT_TRUE(loop_.RunOne());  // after the Yield
  }
  // Also inside of another loop's task, which goes on in its own.
  auto drive = [&]() -> Task<void> {
    EventLoop& outer = EventLoop::Current();
    clock_.Advance(1ms);
    EXPECT_EQ(loop_.Select(), 1u);
    EXPECT_TRUE(loop_.RunOne());
    EXPECT_EQ(&EventLoop::Current(), &outer);
    co_await Sleep(1ms);
  };
  VirtualClock other_clock;
  EventLoop other(other_clock);
  EXPECT_THAT(other.Run(drive()), IsOk());
  EXPECT_EQ(ticks, 4);
  EXPECT_DEATH(EventLoop::Current(), "no event loop runs on this thread");
}

TEST_F(EventLoopTest, RefusesMisuse) {
  CountingSelector selector(0);
  EXPECT_DEATH(loop_.RemoveSelector(selector), "selector is not in this loop");
  EXPECT_DEATH(EventLoop::Current(), "no event loop runs on this thread");
  auto nested = [this]() -> Task<void> {
    loop_.Run(Record(log_, "x", 1)).IgnoreError();
    co_return;
  };
  EXPECT_DEATH(loop_.Run(nested()).IgnoreError(), "Run is called from within a loop");
  auto yield = []() -> Task<void> { co_await Yield(); };
  auto run_one = [this]() -> Task<void> {
    loop_.RunOne();
    co_return;
  };
  auto turn = [&]() -> Task<void> {
    std::vector<Task<void>> both;
    both.push_back(yield());
    both.push_back(run_one());
    co_await WhenAll(std::move(both));
  };
  EXPECT_DEATH(loop_.Run(turn()).IgnoreError(), "RunOne is called from within its loop");
}

TEST(WaitListTest, TellsNotificationFromDeadline) {
  VirtualClock clock;
  EventLoop loop(clock);
  WaitList waiters;
  auto main = [&]() -> Task<void> {
    const Time start = loop.Now();
    EXPECT_FALSE(co_await waiters.Wait(start + 5ms));
    EXPECT_EQ(loop.Now(), start + 5ms);
    EXPECT_TRUE(waiters.empty());
    auto notify = [&]() -> Task<void> {
      co_await Sleep(1ms);
      EXPECT_TRUE(waiters.NotifyOne());
      EXPECT_FALSE(waiters.NotifyOne());
    };
    Task<void> notifier = notify();
    Task<void>::ForeignAwaiter running = std::move(notifier).operator co_await();
    EXPECT_FALSE(running.await_ready());
    EXPECT_TRUE(co_await waiters.Wait(loop.Now() + 5ms));
    EXPECT_EQ(loop.Now(), start + 6ms);
  };
  EXPECT_THAT(loop.Run(main()), IsOk());
}

}  // namespace
}  // namespace drydock::coro
