// What GCC 12 does wrong with coroutines. Several rules of docs/coroutine-traps.md exist only for
// that; this test fails when the compiler changes, in either direction, so that the rules can
// follow.

#include <coroutine>
#include <utility>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/now_task.h"
#include "drydock/coro/task.h"
#include "drydock/coro/virtual_clock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ <= 12
constexpr bool kGcc12 = true;
#else
constexpr bool kGcc12 = false;
#endif
constexpr bool kDestroysAggregatesTwice = kGcc12;
constexpr bool kBreaksFrames = kGcc12;

// Counts its living copies, and touches no memory when it is destroyed once too often.
class Counted {
 public:
  explicit Counted(int& alive) : alive_(&alive) { ++*alive_; }
  Counted(const Counted& other) : alive_(other.alive_) { ++*alive_; }
  ~Counted() { --*alive_; }

 private:
  int* alive_;
};

struct Aggregate {
  Counted member;
};

class WithConstructor {
 public:
  explicit WithConstructor(Counted member) : member_(member) {}

 private:
  Counted member_;
};

template <typename T>
Task<void> Use(const T&) {
  co_return;
}

template <typename T>
int AliveAfter(T task) {
  VirtualClock clock;
  EventLoop loop(clock);
  EXPECT_TRUE(loop.Run(std::move(task)).ok());
  return 0;
}

TEST(CompilerProbeTest, AggregateTemporaryInAwaitExpression) {
  int alive = 0;
  auto main = [&alive]() -> Task<void> { co_await Use(Aggregate{.member = Counted(alive)}); };
  AliveAfter(main());
  EXPECT_EQ(alive < 0, kDestroysAggregatesTwice) << alive;
}

TEST(CompilerProbeTest, TemporaryWithAConstructorIsSafe) {
  int alive = 0;
  auto main = [&alive]() -> Task<void> { co_await Use(WithConstructor(Counted(alive))); };
  AliveAfter(main());
  EXPECT_EQ(alive, 0);
}

TEST(CompilerProbeTest, NamedAggregateIsSafe) {
  int alive = 0;
  auto main = [&alive]() -> Task<void> {
    const Aggregate named{.member = Counted(alive)};
    co_await Use(named);
  };
  AliveAfter(main());
  EXPECT_EQ(alive, 0);
}

Task<bool> True() { co_return true; }

Task<int> AwaitsInAConditionWithoutALocal() {
  if (co_await True()) co_return 1;
  co_return 2;
}
Task<int> AwaitsInAConditionWithALocal() {
  int result = 2;
  if (co_await True()) result = 1;
  co_return result;
}

// The frame of such a coroutine does not begin with its resume function, so that every handle to it
// is wrong. A Task notices that before it runs; other coroutine types corrupt memory.
TEST(CompilerProbeTest, AwaitInAConditionWithoutALocal) {
  VirtualClock clock;
  EventLoop loop(clock);
  EXPECT_EQ(loop.Run(AwaitsInAConditionWithALocal()).value(), 1);
  if (kBreaksFrames) {
    EXPECT_DEATH(loop.Run(AwaitsInAConditionWithoutALocal()).status().IgnoreError(),
                 "GCC 12 cannot compile this coroutine");
  } else {
    EXPECT_EQ(loop.Run(AwaitsInAConditionWithoutALocal()).value(), 1);
  }
}

NowTask<int> CallThatAwaitsInAConditionWithoutALocal() {
  if (co_await True()) co_return 1;
  co_return 2;
}

TEST(CompilerProbeTest, AwaitInAConditionOfACallWithoutALocal) {
  VirtualClock clock;
  EventLoop loop(clock);
  auto main = []() -> Task<int> {
    const int result = co_await CallThatAwaitsInAConditionWithoutALocal();
    co_return result;
  };
  if (kBreaksFrames) {
    EXPECT_DEATH(loop.Run(main()).status().IgnoreError(), "GCC 12 cannot compile this coroutine");
  } else {
    EXPECT_EQ(loop.Run(main()).value(), 1);
  }
}

// TaskObserver counts on it: an object that begins as a frame does can be resumed as one, also at
// the end of a coroutine.
struct LooksLikeAFrame {
  internal::FrameHead head{[](void* self) { ++static_cast<LooksLikeAFrame*>(self)->resumed; },
                           [](void* self) { ++static_cast<LooksLikeAFrame*>(self)->destroyed; }};
  int resumed = 0;
  int destroyed = 0;
};

struct GoesOnWith {
  std::coroutine_handle<> next;
  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const { return next; }
  void await_resume() const {}
};

TEST(CompilerProbeTest, WhatBeginsAsAFrameIsResumedAsOne) {
  LooksLikeAFrame object;
  const auto handle = std::coroutine_handle<>::from_address(&object);
  handle.resume();
  EXPECT_EQ(object.resumed, 1);
  auto transfer = [&]() -> Task<void> { co_await GoesOnWith{handle}; };
  {
    const Task<void> task = transfer();
    task.Start();
    EXPECT_EQ(object.resumed, 2);
  }
  handle.destroy();
  EXPECT_EQ(object.destroyed, 1);
}

}  // namespace
}  // namespace drydock::coro
