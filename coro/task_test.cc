#include "drydock/coro/task.h"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/coro/wait_node.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using ::drydock::testing_matchers::IsOkAndHolds;

static_assert(!std::is_copy_constructible_v<Task<int>>);
static_assert(std::is_nothrow_move_constructible_v<Task<int>>);

class TaskTest : public ::testing::Test {
 protected:
  VirtualClock clock_;
  EventLoop loop_{clock_};
};

Task<int> Value(int value) { co_return value; }
Task<int> ValueAfterYield(int value) {
  co_await Yield();
  co_return value;
}

Task<int> Sum(int depth) {
  if (depth == 0) co_return co_await ValueAfterYield(0);
  const int rest = co_await Sum(depth - 1);
  co_return rest + depth;
}

TEST_F(TaskTest, ReturnsValueThroughLayersOfTasks) {
  EXPECT_THAT(loop_.Run(Value(42)), IsOkAndHolds(42));
  EXPECT_THAT(loop_.Run(Sum(100)), IsOkAndHolds(5050));
}

TEST_F(TaskTest, RunsNothingBeforeItIsAwaited) {
  bool ran = false;
  auto body = [&ran]() -> Task<void> {
    ran = true;
    co_return;
  };
  {
    Task<void> never_awaited = body();
    EXPECT_FALSE(ran);
  }
  EXPECT_FALSE(ran);
  Task<void> task = body();
  ASSERT_TRUE(loop_.Run(std::move(task)).ok());
  EXPECT_TRUE(ran);
}

Task<std::unique_ptr<std::string>> MoveOnly() { co_return std::make_unique<std::string>("moved"); }

TEST_F(TaskTest, MovesMoveOnlyValues) {
  auto text = [](Task<std::unique_ptr<std::string>> task) -> Task<std::string> {
    std::unique_ptr<std::string> value = co_await std::move(task);
    co_return *value;
  };
  EXPECT_THAT(loop_.Run(text(MoveOnly())), IsOkAndHolds(std::string("moved")));
}

TEST_F(TaskTest, AssignmentDestroysTheOldTask) {
  auto hold = [](std::shared_ptr<int> held) -> Task<int> { co_return *held; };
  auto held = std::make_shared<int>(1);
  Task<int> task = hold(held);
  EXPECT_EQ(held.use_count(), 2);
  task = Value(2);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_THAT(loop_.Run(std::move(task)), IsOkAndHolds(2));
}

// A task is destroyed while it waits, with a chain of tasks below it: every frame goes, and nothing
// is resumed later.
TEST_F(TaskTest, DestroyedWhileSuspendedFreesTheWholeChain) {
  auto held = std::make_shared<int>(0);
  auto leaf = [](std::shared_ptr<int> local) -> Task<void> {
    co_await Sleep(std::chrono::seconds(1));
    ++*local;
  };
  auto middle = [&leaf](std::shared_ptr<int> local) -> Task<void> { co_await leaf(local); };
  auto main = [&]() -> Task<void> {
    Task<void> task = middle(held);
    Task<void>::ForeignAwaiter awaiter = std::move(task).operator co_await();
    EXPECT_FALSE(awaiter.await_ready());  // started, and asleep
    EXPECT_GT(held.use_count(), 1);
    task = Task<void>();
    EXPECT_EQ(held.use_count(), 1);
    co_await Sleep(std::chrono::seconds(2));
  };
  ASSERT_TRUE(loop_.Run(main()).ok());
  EXPECT_EQ(*held, 0);
}

std::uintptr_t StackPosition() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}
Task<std::uintptr_t> StackPositionInTask() { co_return StackPosition(); }

// Libraries that rely on symmetric transfer overflow the stack here with GCC 12 at -O0, -O1 and
// under sanitizers.
TEST_F(TaskTest, MillionImmediateAwaitsUseNoStack) {
  constexpr int kAwaits = 1'000'000;
  auto measure = []() -> Task<std::uintptr_t> {
    const std::uintptr_t first = co_await StackPositionInTask();
    std::uintptr_t last = first;
    for (int i = 0; i < kAwaits; ++i) last = co_await StackPositionInTask();
    co_return first - last;
  };
  EXPECT_THAT(loop_.Run(measure()), IsOkAndHolds(std::uintptr_t{0}));
}

// The same where the parent was resumed by a child that finished late, so that it runs deep inside
// the loop.
TEST_F(TaskTest, ImmediateAwaitsAfterLateOnesUseNoStack) {
  auto measure = []() -> Task<std::uintptr_t> {
    co_await ValueAfterYield(1);
    const std::uintptr_t first = co_await StackPositionInTask();
    std::uintptr_t last = first;
    for (int i = 0; i < 100'000; ++i) {
      if (i % 1000 == 0) co_await ValueAfterYield(1);
      last = co_await StackPositionInTask();
    }
    co_return first - last;
  };
  EXPECT_THAT(loop_.Run(measure()), IsOkAndHolds(std::uintptr_t{0}));
}

// Waits for its turn, and is told when its coroutine is destroyed instead.
class Abandoned {
 public:
  explicit Abandoned(int& times) : times_(times) {}

  void Abandon() { ++times_; }
  bool await_ready() const { return false; }
  template <TaskPromise Promise>
  void await_suspend(std::coroutine_handle<Promise> self) {
    EventLoop::Current().Yield(self.promise());
  }
  void await_resume() const {}

 private:
  int& times_;
};

TEST_F(TaskTest, AwaiterIsToldOnceWhenItsCoroutineIsDestroyedWhileItWaits) {
  int abandoned = 0;
  auto wait = [&abandoned]() -> Task<void> { co_await Abandoned(abandoned); };
  auto main = [&]() -> Task<void> {
    co_await wait();
    EXPECT_EQ(abandoned, 0);  // it was resumed
    {
      const Task<void> task = wait();
      task.Start();
      EXPECT_EQ(abandoned, 0);
    }
    EXPECT_EQ(abandoned, 1);
  };
  ASSERT_TRUE(loop_.Run(main()).ok());
  EXPECT_EQ(abandoned, 1);
}

TEST_F(TaskTest, ExceptionThatLeavesATaskEndsTheProgramWithItsText) {
  auto thrower = []() -> Task<void> {
    throw std::runtime_error("broken invariant");
    co_return;
  };
  EXPECT_DEATH({ loop_.Run(thrower()).IgnoreError(); }, "exception left a task: broken invariant");
}

TEST_F(TaskTest, AwaitingAnEmptyTaskIsReported) {
  auto main = []() -> Task<int> {
    Task<int> empty;
    co_return co_await std::move(empty);
  };
  EXPECT_DEATH(loop_.Run(main()).status().IgnoreError(), "awaiting an empty or finished task");
}

}  // namespace
}  // namespace drydock::coro
