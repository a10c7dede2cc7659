#include "drydock/coro/now_task.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/frame_pool.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/task.h"
#include "drydock/coro/task_tree.h"
#include "drydock/coro/timeout.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/coro/when_all.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using ::drydock::testing_matchers::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::Not;

static_assert(!std::is_copy_constructible_v<NowTask<int>>);
static_assert(!std::is_move_constructible_v<NowTask<int>>);

class NowTaskTest : public ::testing::Test {
 protected:
  VirtualClock clock_;
  EventLoop loop_{clock_};
};

// GCC 12 warns, when it optimises, of a use of the frame that its code does not have: this coroutine
// ends, and frees its frame, in the call that makes it.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuse-after-free"
#endif
NowTask<int> Value(int value) { co_return value; }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

NowTask<int> ValueAfterYield(int value) {
  co_await Yield();
  co_return value;
}
NowTask<> Nap() { co_await Sleep(std::chrono::seconds(1)); }

NowTask<int> Sum(int depth) {
  if (depth == 0) co_return co_await ValueAfterYield(0);
  const int rest = co_await Sum(depth - 1);
  co_return rest + depth;
}

TEST_F(NowTaskTest, ReturnsValuesThroughLayersAtOnceAndLater) {
  auto main = []() -> Task<int> {
    const int at_once = co_await Value(1);
    const int later = co_await ValueAfterYield(10);
    const int through_layers = co_await Sum(100);
    co_return at_once + later + through_layers;
  };
  EXPECT_THAT(loop_.Run(main()), IsOkAndHolds(5061));
}

TEST_F(NowTaskTest, ResultOfOneIsTheArgumentOfAnother) {
  auto main = []() -> Task<int> {
    const int nested = co_await Value(co_await ValueAfterYield(co_await Value(7)));
    co_return nested;
  };
  EXPECT_THAT(loop_.Run(main()), IsOkAndHolds(7));
}

TEST_F(NowTaskTest, RunsWhenItIsCalledAndNotLaterThanItIsAwaited) {
  bool ran = false;
  auto call = [&ran]() -> NowTask<> {
    ran = true;
    co_return;
  };
  auto main = [&]() -> Task<> {
    NowTask<> made = call();
#ifndef __clang__
    EXPECT_TRUE(ran);
#endif
    co_await std::move(made);
    EXPECT_TRUE(ran);
  };
  EXPECT_TRUE(loop_.Run(main()).ok());
}

NowTask<std::size_t> TotalLength(const std::vector<std::string>& texts, std::string_view more) {
  std::size_t length = more.size();
  for (const std::string& text : texts) {
    co_await Yield();
    length += text.size();
  }
  co_return length;
}

// What a Task that is stored could not.
TEST_F(NowTaskTest, MayReferToItsArguments) {
  auto main = []() -> Task<std::size_t> {
    co_return co_await TotalLength(std::vector<std::string>(3, "a text that is not short"),
                                   std::string(100, 'x'));
  };
  EXPECT_THAT(loop_.Run(main()), IsOkAndHolds(std::size_t{172}));
}

NowTask<std::unique_ptr<std::string>> MoveOnly(bool late) {
  if (late) co_await Yield();
  co_return std::make_unique<std::string>("moved");
}

TEST_F(NowTaskTest, MovesMoveOnlyValues) {
  auto main = []() -> Task<std::string> {
    std::unique_ptr<std::string> first = co_await MoveOnly(false);
    std::unique_ptr<std::string> second = co_await MoveOnly(true);
    co_return *first + *second;
  };
  EXPECT_THAT(loop_.Run(main()), IsOkAndHolds(std::string("movedmoved")));
}

NowTask<std::shared_ptr<int>> Hand(std::shared_ptr<int> value, bool late) {
  if (late) co_await Yield();
  co_return value;
}

TEST_F(NowTaskTest, ValueIsDestroyedOnceAlsoWhenNobodyTakesIt) {
  auto held = std::make_shared<int>(0);
  auto main = [&]() -> Task<> {
    for (const bool late : {false, true}) {
      std::shared_ptr<int> taken = co_await Hand(held, late);
      EXPECT_EQ(held.use_count(), 2);
      taken.reset();
      co_await Hand(held, late);
      EXPECT_EQ(held.use_count(), 1);
    }
  };
  ASSERT_TRUE(loop_.Run(main()).ok());
  EXPECT_EQ(held.use_count(), 1);
}

class Noisy {
 public:
  Noisy(std::vector<std::string>& notes, std::string name)
      : notes_(&notes), name_(std::move(name)) {}
  Noisy(Noisy&& other) noexcept
      : notes_(std::exchange(other.notes_, nullptr)), name_(std::move(other.name_)) {}
  ~Noisy() {
    if (notes_ != nullptr) notes_->push_back(name_);
  }

 private:
  std::vector<std::string>* notes_;
  std::string name_;
};

// The caller is resumed when everything of the call is gone, in the order of the language.
TEST_F(NowTaskTest, LocalsAndParametersGoBeforeTheCallerGoesOn) {
  std::vector<std::string> notes;
  auto call = [&notes](Noisy) -> NowTask<> {
    Noisy local(notes, "local");
    co_await Yield();
  };
  auto main = [&]() -> Task<> {
    Noisy parameter(notes, "parameter");
    co_await call(std::move(parameter));
    notes.push_back("caller");
  };
  ASSERT_TRUE(loop_.Run(main()).ok());
  EXPECT_THAT(notes, ElementsAre("local", "parameter", "caller"));
}

// Starts and ends tasks of its own where a call is between its last statement and its end.
class RunsTasksAtItsEnd {
 public:
  explicit RunsTasksAtItsEnd(int& ended) : ended_(&ended) {}
  RunsTasksAtItsEnd(RunsTasksAtItsEnd&& other) noexcept
      : ended_(std::exchange(other.ended_, nullptr)) {}
  ~RunsTasksAtItsEnd() {
    if (ended_ == nullptr) return;
    auto at_once = [](int& ended) -> Task<> {
      co_await Value(1);
      ++ended;
    };
    const Task<> task = at_once(*ended_);
    task.Start();
    auto never = []() -> Task<> { co_await Nap(); };
    const Task<> asleep = never();
    asleep.Start();  // and destroyed where it sleeps
  }

 private:
  int* ended_;
};

TEST_F(NowTaskTest, ParametersThatRunTasksWhenTheyGoDisturbNobody) {
  int ended = 0;
  auto call = [](RunsTasksAtItsEnd) -> NowTask<int> {
    co_await Yield();
    co_return 5;
  };
  auto main = [&]() -> Task<int> { co_return co_await call(RunsTasksAtItsEnd(ended)); };
  EXPECT_THAT(loop_.Run(main()), IsOkAndHolds(5));
  EXPECT_EQ(ended, 1);
}

// The task that awaits is destroyed, with a chain of calls below it: every frame goes, nothing is
// resumed later.
TEST_F(NowTaskTest, DestroyedWhereItWaitsFreesTheWholeChain) {
  auto held = std::make_shared<int>(0);
  auto leaf = [](std::shared_ptr<int> local) -> NowTask<> {
    co_await Sleep(std::chrono::seconds(1));
    ++*local;
  };
  auto middle = [&leaf](std::shared_ptr<int> local) -> NowTask<> { co_await leaf(local); };
  auto top = [&]() -> Task<> { co_await middle(held); };
  auto main = [&]() -> Task<> {
    {
      const Task<> task = top();
      task.Start();
      EXPECT_EQ(held.use_count(), 3);  // here, and in two frames
    }
    EXPECT_EQ(held.use_count(), 1);
    co_await Sleep(std::chrono::seconds(2));
  };
  ASSERT_TRUE(loop_.Run(main()).ok());
  EXPECT_EQ(*held, 0);
}

TEST_F(NowTaskTest, DestroyedWhenItIsReadyNeverRuns) {
  bool ran = false;
  auto call = [&ran]() -> NowTask<> {
    co_await Yield();
    ran = true;
  };
  auto top = [&call]() -> Task<> { co_await call(); };
  auto main = [&]() -> Task<> {
    {
      const Task<> task = top();
      task.Start();
    }
    co_await Yield();
    co_await Yield();
  };
  ASSERT_TRUE(loop_.Run(main()).ok());
  EXPECT_FALSE(ran);
}

TEST_F(NowTaskTest, IsCancelledWithTheTaskThatAwaitsIt) {
  auto top = []() -> Task<> { co_await Nap(); };
  auto main = [&]() -> Task<absl::Status> {
    co_return co_await WithDeadline(loop_.Now() + std::chrono::milliseconds(10), top());
  };
  EXPECT_EQ(loop_.Run(main()).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(clock_.Now(), VirtualClock::kStart + std::chrono::milliseconds(10));
}

// A call that awaits a task, a race or a join is a place where tasks hang as any other.
TEST_F(NowTaskTest, TreeShowsCallsBelowTheTasksThatAwaitThem) {
  struct Calls {
    static Task<> Leaf() { co_await Sleep(std::chrono::seconds(1)); }
    static NowTask<> Inner() { co_await Leaf(); }
    static NowTask<> Outer() { co_await Inner(); }
    static Task<> Top() { co_await Outer(); }
  };
  {
    VirtualClock clock;
    EventLoop loop(clock);
    std::string tree;
    TaskCounts counts;
    auto main = [&]() -> Task<> {
      const Task<> top = Calls::Top();
      top.Start();
      tree = DescribeTasks();
      counts = CountTasks();
      co_await Yield();
    };
    ASSERT_TRUE(loop.Run(main()).ok());
    EXPECT_EQ(counts.live, 5);
    EXPECT_EQ(counts.never_awaited, 0);
    const std::size_t top = tree.find("\nTop (");
    const std::size_t outer = tree.find("\n  Outer (");
    const std::size_t inner = tree.find("\n    Inner (");
    const std::size_t leaf = tree.find("\n      Leaf (");
    EXPECT_LT(top, outer) << tree;
    EXPECT_LT(outer, inner) << tree;
    EXPECT_LT(inner, leaf) << tree;
    EXPECT_NE(leaf, std::string::npos) << tree;
    EXPECT_THAT(tree, HasSubstr("waits for a sleep"));
  }
  EXPECT_EQ(CountTasks().live, 0);
}

TEST_F(NowTaskTest, TreeHasNoCallThatHasEnded) {
  std::string tree;
  TaskCounts counts;
  auto main = [&]() -> Task<> {
    co_await ValueAfterYield(1);
    tree = DescribeTasks();
    counts = CountTasks();
  };
  ASSERT_TRUE(loop_.Run(main()).ok());
  EXPECT_THAT(tree, Not(HasSubstr("ValueAfterYield (")));
  EXPECT_EQ(counts.live, 1);
}

// What looks at the tasks where one is being destroyed, below which a call is gone already.
TEST_F(NowTaskTest, TreeOfATaskThatIsBeingDestroyedHasNothingThatIsGone) {
  struct LooksAtItsEnd {
    explicit LooksAtItsEnd(std::string& tree) : tree_(tree) {}
    ~LooksAtItsEnd() { tree_ = DescribeTasks(); }
    std::string& tree_;
  };
  struct Tops {
    static Task<> SleepingTask() { co_await Sleep(std::chrono::seconds(1)); }
    static Task<> AwaitsACall(std::string& tree) {
      const LooksAtItsEnd look(tree);
      co_await Nap();
    }
    static Task<> AwaitsATask(std::string& tree) {
      const LooksAtItsEnd look(tree);
      co_await SleepingTask();
    }
  };
  std::string of_call;
  std::string of_task;
  auto main = [&]() -> Task<> {
    {
      const Task<> top = Tops::AwaitsACall(of_call);
      top.Start();
    }
    {
      const Task<> top = Tops::AwaitsATask(of_task);
      top.Start();
    }
    co_await Yield();
  };
  ASSERT_TRUE(loop_.Run(main()).ok());
  EXPECT_THAT(of_call, HasSubstr("AwaitsACall ("));
  EXPECT_THAT(of_call, Not(HasSubstr("Nap (")));
  EXPECT_THAT(of_task, HasSubstr("AwaitsATask ("));
  EXPECT_THAT(of_task, Not(HasSubstr("SleepingTask (")));
}

std::uintptr_t StackPosition() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}
NowTask<std::uintptr_t> StackPositionInCall(bool late) {
  if (late) co_await Yield();
  co_return StackPosition();
}

TEST_F(NowTaskTest, MillionCallsUseNoStack) {
  auto measure = []() -> Task<std::uintptr_t> {
    co_await ValueAfterYield(1);
    const std::uintptr_t first = co_await StackPositionInCall(false);
    std::uintptr_t last = first;
    for (int i = 0; i < 1'000'000; ++i) {
      if (i % 100 == 0) co_await StackPositionInCall(true);
      last = co_await StackPositionInCall(false);
    }
    co_return first > last ? first - last : last - first;
  };
  // Not all of Clang's calls of one function are equally deep. A call that kept any of it would
  // come to megabytes.
  EXPECT_THAT(loop_.Run(measure()), IsOkAndHolds(Lt(std::uintptr_t{256})));
}

Task<> CallOften(int times) {
  for (int i = 0; i < times; ++i) co_await Sum(3);
}

TEST_F(NowTaskTest, FramesComeFromThePool) {
  if (!FramePool::kKeeps) GTEST_SKIP() << "every frame comes from the heap here";
  auto calls = [](int tasks) -> Task<> {
    std::vector<Task<>> all;
    for (int i = 0; i < tasks; ++i) all.push_back(CallOften(10));
    co_await WhenAll(std::move(all));
  };
  ASSERT_TRUE(loop_.Run(calls(50)).ok());
  const std::uint64_t before = FramePool::counters().misses;
  ASSERT_TRUE(loop_.Run(calls(50)).ok());
  EXPECT_EQ(FramePool::counters().misses, before);
}

TEST_F(NowTaskTest, ExceptionThatLeavesACallEndsTheProgramWithItsText) {
  auto thrower = []() -> NowTask<> {
    co_await Yield();
    throw std::runtime_error("broken invariant");
  };
  auto main = [&]() -> Task<> { co_await thrower(); };
  EXPECT_DEATH({ loop_.Run(main()).IgnoreError(); }, "exception left a task: broken invariant");
}

}  // namespace
}  // namespace drydock::coro
