#include "drydock/coro/when_all.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;

class JoinTest : public ::testing::Test {
 protected:
  VirtualClock clock_;
  EventLoop loop_{clock_};
};

Task<int> ValueAfter(int value, Duration delay) {
  if (delay > 0ns) co_await Sleep(delay);
  co_return value;
}

TEST_F(JoinTest, WhenAllKeepsTheOrderOfItsArguments) {
  auto main = []() -> Task<std::pair<int, std::string>> {
    auto text = []() -> Task<std::string> {
      co_await Sleep(1ms);
      co_return "done";
    };
    auto [number, word] = co_await WhenAll(ValueAfter(7, 3ms), text());
    co_return std::pair<int, std::string>(number, word);
  };
  EXPECT_THAT(loop_.Run(main()), IsOkAndHolds(std::pair<int, std::string>(7, "done")));
}

TEST_F(JoinTest, WhenAllRunsTasksAtTheSameTime) {
  auto main = [this]() -> Task<Duration> {
    const Time start = loop_.Now();
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 100; ++i) tasks.push_back(ValueAfter(i, 10ms));
    const std::vector<int> values = co_await WhenAll(std::move(tasks));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(values[i], i);
    co_return loop_.Now() - start;
  };
  EXPECT_THAT(loop_.Run(main()), IsOkAndHolds(Duration(10ms)));
}

TEST_F(JoinTest, WhenAllOfFinishedOrNoTasksDoesNotSuspend) {
  auto main = []() -> Task<int> {
    const std::vector<int> values = co_await WhenAll(std::vector<Task<int>>());
    EXPECT_TRUE(values.empty());
    auto [a, b] = co_await WhenAll(ValueAfter(1, 0ns), ValueAfter(2, 0ns));
    co_await WhenAll(std::vector<Task<void>>());
    co_return a + b;
  };
  EXPECT_THAT(loop_.Run(main()), IsOkAndHolds(3));
}

TEST_F(JoinTest, DroppedWhenAllDropsItsTasks) {
  auto held = std::make_shared<int>(0);
  auto hold = [](std::shared_ptr<int> local) -> Task<int> {
    co_await Sleep(1s);
    co_return ++*local;
  };
  auto main = [&]() -> Task<void> {
    {
      auto both = WhenAll(hold(held), hold(held));
      auto awaiter = std::move(both).operator co_await();
      EXPECT_FALSE(awaiter.await_ready());
      EXPECT_GT(held.use_count(), 1);
    }
    EXPECT_EQ(held.use_count(), 1);
    co_await Sleep(2s);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_EQ(*held, 0);
}

Task<absl::Status> StatusAfter(Duration delay, absl::Status status) {
  co_await Sleep(delay);
  co_return status;
}

TEST_F(JoinTest, ScopeJoinReturnsTheErrorThatCameFirst) {
  auto main = []() -> Task<absl::Status> {
    Scope scope;
    scope.Spawn(StatusAfter(3ms, absl::InternalError("late")));
    scope.Spawn(StatusAfter(1ms, absl::OkStatus()));
    scope.Spawn(StatusAfter(2ms, absl::NotFoundError("early")));
    EXPECT_EQ(scope.running(), 3u);
    absl::Status status = co_await scope.Join();
    EXPECT_EQ(scope.running(), 0u);
    co_return status;
  };
  EXPECT_THAT(loop_.Run(main()), StatusIs(absl::StatusCode::kNotFound, "early; then: late"));
}

TEST_F(JoinTest, ScopeWaitsForTasksSpawnedByItsTasks) {
  std::vector<int> order;
  auto leaf = [&order](int id) -> Task<absl::Status> {
    co_await Sleep(1ms);
    order.push_back(id);
    co_return absl::OkStatus();
  };
  auto main = [&]() -> Task<absl::Status> {
    Scope scope;
    auto parent = [&]() -> Task<absl::Status> {
      co_await Sleep(1ms);
      order.push_back(1);
      scope.Spawn(leaf(2));
      co_return absl::OkStatus();
    };
    scope.Spawn(parent());
    co_return co_await scope.Join();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST_F(JoinTest, ScopeThatDiesDestroysItsTasks) {
  auto held = std::make_shared<int>(0);
  auto hold = [](std::shared_ptr<int> local) -> Task<absl::Status> {
    co_await Sleep(1s);
    ++*local;
    co_return absl::OkStatus();
  };
  auto main = [&]() -> Task<void> {
    {
      Scope scope;
      for (int i = 0; i < 5; ++i) scope.Spawn(hold(held));
      EXPECT_EQ(held.use_count(), 6);
    }
    EXPECT_EQ(held.use_count(), 1);
    co_await Sleep(2s);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  EXPECT_EQ(*held, 0);
}

TEST_F(JoinTest, ScopeFreesFinishedTasksAtOnce) {
  auto held = std::make_shared<int>(0);
  auto use = [](std::shared_ptr<int>) -> Task<absl::Status> { co_return absl::OkStatus(); };
  auto main = [&]() -> Task<absl::Status> {
    Scope scope;
    for (int i = 0; i < 1000; ++i) {
      scope.Spawn(use(held));
      EXPECT_EQ(held.use_count(), 1);
    }
    co_return co_await scope.Join();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

}  // namespace
}  // namespace drydock::coro
