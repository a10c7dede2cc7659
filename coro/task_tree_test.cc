#include "drydock/coro/task_tree.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/frame_pool.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/task.h"
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

Task<> Leaf() { co_await Sleep(1ms); }
Task<absl::Status> Branch() {
  co_await Leaf();
  co_return absl::OkStatus();
}
Task<> Fork() {
  std::vector<Task<>> leaves;
  leaves.push_back(Leaf());
  leaves.push_back(Leaf());
  co_await WhenAll(std::move(leaves));
}

class TaskTreeTest : public ::testing::Test {
 protected:
  VirtualClock clock_;
  std::optional<EventLoop> loop_{std::in_place, clock_};
};

TEST_F(TaskTreeTest, EachTaskIsBelowTheOneThatAwaitsIt) {
  std::string tree;
  auto look = [&]() -> Task<absl::Status> {
    tree = DescribeTasks();
    co_return absl::OkStatus();
  };
  auto main = [&]() -> Task<> {
    Scope scope;
    scope.Spawn(Branch());
    co_await Yield();
    scope.Spawn(look());
    const absl::Status joined1 = co_await scope.Join();
    EXPECT_THAT(joined1, IsOk());
  };
  EXPECT_THAT(loop_->Run(main()), IsOk());
  // The spawned task, what it runs, and the leaf that sleeps.
  EXPECT_THAT(tree, HasSubstr("  Branch (task_tree_test.cc:"));
  EXPECT_THAT(tree, HasSubstr("\n    Leaf (task_tree_test.cc:"));
  EXPECT_THAT(tree, HasSubstr("waits for a sleep"));
  EXPECT_EQ(DescribeTasks(), "");
}

TEST_F(TaskTreeTest, TasksOfWhenAllAreBelowIt) {
  std::string tree;
  auto look = [&]() -> Task<> {
    co_await Yield();
    tree = DescribeTasks();
  };
  auto main = [&]() -> Task<> {
    std::vector<Task<>> both;
    both.push_back(Fork());
    both.push_back(look());
    co_await WhenAll(std::move(both));
  };
  EXPECT_THAT(loop_->Run(main()), IsOk());
  EXPECT_THAT(tree, MatchesRegex("(.|\n)*  Fork [^\n]*\n(.|\n)*waits for tasks\n"
                                 " +Leaf [^\n]*waits for a sleep\n +Leaf [^\n]*a sleep\n(.|\n)*"));
}

TEST_F(TaskTreeTest, NamesTheAwaitThatATaskIsAt) {
  auto two = []() -> Task<> {
    co_await Yield();
    co_await Sleep(1ms);
  };
  const std::uint32_t body = __LINE__ - 3;
  std::string tree;
  auto main = [&]() -> Task<> {
    std::vector<Task<>> tasks;
    auto look = [&]() -> Task<> {
      co_await Yield();
      co_await Yield();
      tree = DescribeTasks();
    };
    tasks.push_back(two());
    tasks.push_back(look());
    co_await WhenAll(std::move(tasks));
  };
  EXPECT_THAT(loop_->Run(main()), IsOk());
  EXPECT_THAT(tree, HasSubstr("at line " + std::to_string(body + 1) + ", waits for a sleep"));
}

TEST_F(TaskTreeTest, LongTreesAreCut) {
  std::vector<Task<>> tasks;
  for (int i = 0; i < 30; ++i) tasks.push_back(Leaf());
  EXPECT_THAT(DescribeTasks(10), HasSubstr("and 20 more\n"));
  EXPECT_EQ(CountTasks().live, 30u);
  EXPECT_EQ(CountTasks().never_awaited, 30u);
}

TEST_F(TaskTreeTest, LoopThatEndsNamesWhatIsLeft) {
  std::string report;
  loop_->set_reporter([&report](const std::string& text) { report += text; });
  {
    const Task<> forgotten = Leaf();
    loop_.reset();
    EXPECT_THAT(report, HasSubstr("1 tasks live, 1 of them never awaited"));
    EXPECT_THAT(report, HasSubstr("Leaf (task_tree_test.cc:"));
    EXPECT_THAT(report, HasSubstr(" never awaited"));
  }
  loop_.emplace(clock_);
}

TEST_F(TaskTreeTest, LoopThatEndsSaysWhereEachTaskWaits) {
  std::string report;
  loop_->set_reporter([&report](const std::string& text) { report += text; });
  WaitList never("a miracle");
  const std::uint32_t body = __LINE__ + 1;
  auto wait = [&]() -> Task<absl::Status> {
    co_await never.Wait();
    co_return absl::OkStatus();
  };
  {
    Scope left_running;
    auto main = [&]() -> Task<> {
      left_running.Spawn(wait());
      co_return;
    };
    EXPECT_THAT(loop_->Run(main()), IsOk());
    loop_.reset();
    EXPECT_THAT(report, HasSubstr("2 tasks live, 0 of them never awaited"));
    // The spawned task, which is where Spawn was called, and the one that it runs.
    const std::string lambda = "operator\\(\\) \\(task_tree_test.cc:[0-9]+\\)";
    EXPECT_THAT(report, MatchesRegex("(.|\n)*\n" + lambda + "\n  " + lambda + " at line " +
                                     std::to_string(body + 1) + ", waits for a miracle\n"));
  }
  loop_.emplace(clock_);
}

TEST_F(TaskTreeTest, LoopThatEndsCleanSaysNothing) {
  std::string report;
  loop_->set_reporter([&report](const std::string& text) { report += text; });
  EXPECT_THAT(loop_->Run(Fork()), IsOk());
  loop_.reset();
  EXPECT_THAT(report, IsEmpty());
  loop_.emplace(clock_);
}

TEST_F(TaskTreeTest, StuckLoopTellsWhatItWaitsFor) {
  WaitList never("a miracle");
  auto main = [&]() -> Task<> { co_await never.Wait(); };
  const absl::Status stuck = loop_->Run(main());
  ASSERT_FALSE(stuck.ok());
  const auto tree = stuck.GetPayload(kTaskTreePayload);
  ASSERT_TRUE(tree.has_value());
  EXPECT_THAT(std::string(*tree), HasSubstr("waits for a miracle"));
}

TEST_F(TaskTreeTest, LongStepsAreReportedWithTheirTask) {
  std::string report;
  loop_->set_reporter([&report](const std::string& text) { report += text; });
  loop_->set_stall_budget(10ms);
  auto block = [&](Duration by) -> Task<> {
    co_await Yield();
    clock_.Advance(by);
    co_await Yield();
  };
  EXPECT_THAT(loop_->Run(block(10ms)), IsOk());
  EXPECT_THAT(report, IsEmpty());
  EXPECT_THAT(loop_->Run(block(11ms)), IsOk());
  EXPECT_THAT(report, HasSubstr("a step took 11 ms, more than 10 ms: operator() "));
}

TEST_F(TaskTreeTest, SteadyLoopTakesNothingFromTheHeap) {
  if (!FramePool::kKeeps) GTEST_SKIP() << "frames come from the heap under AddressSanitizer";
  EXPECT_THAT(loop_->Run(Fork()), IsOk());
  const FramePoolCounters warm = FramePool::counters();
  for (int i = 0; i < 100; ++i) EXPECT_THAT(loop_->Run(Fork()), IsOk());
  EXPECT_EQ(FramePool::counters().misses, warm.misses);
  EXPECT_EQ(FramePool::counters().large, warm.large);
}

}  // namespace
}  // namespace drydock::coro
