// The two kinds of time of a world, without its events.

#include "drydock/sim/events/world_clock.h"

#include <chrono>

#include "drydock/coro/time.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

// Moved by hand.
struct Moved final : WorldClock {
  explicit Moved(ClockKind kind) : WorldClock(kind) {}
  coro::Time Now() const override { return Look(); }
  bool WaitUntil(coro::Time deadline) override { return Sleep(deadline); }

  using WorldClock::CatchUp;
  using WorldClock::Charged;
  using WorldClock::HasReached;
  using WorldClock::MoveTo;
};

TEST(VirtualWorldClockTest, ShowsWhereItWasMovedTo) {
  Moved clock(ClockKind::kVirtual);
  EXPECT_TRUE(clock.IsVirtual());
  EXPECT_FALSE(clock.real());
  EXPECT_EQ(clock.now(), WorldClock::kStart);
  clock.MoveTo(WorldClock::kStart + 5us);
  EXPECT_EQ(clock.now(), WorldClock::kStart + 5us);
  EXPECT_EQ(clock.Now(), clock.now());
  EXPECT_EQ(clock.TimeNow(), clock.now());
  EXPECT_EQ(clock.elapsed(), 5us);
  EXPECT_EQ(clock.ElapsedNow(), 5us);
}

TEST(VirtualWorldClockTest, IsNeverMovedBack) {
  Moved clock(ClockKind::kVirtual);
  clock.MoveTo(WorldClock::kStart + 5us);
  clock.MoveTo(WorldClock::kStart + 4us);
  EXPECT_EQ(clock.elapsed(), 5us);
}

TEST(VirtualWorldClockTest, WhatWasChargedIsNotWaitedFor) {
  Moved clock(ClockKind::kVirtual);
  clock.MoveTo(WorldClock::kStart + 5us);
  clock.Charged(2us);
  EXPECT_EQ(clock.waited(), 3us);
}

TEST(RealWorldClockTest, GoesOnWhileItsWorldStaysWhereItIs) {
  Moved clock(ClockKind::kReal);
  EXPECT_FALSE(clock.IsVirtual());
  EXPECT_TRUE(clock.real());
  const coro::Time began = clock.now();
  while (clock.Now() == began) {
  }
  EXPECT_EQ(clock.now(), began);
  EXPECT_EQ(clock.elapsed(), 0ns);
  EXPECT_GT(clock.TimeNow(), began);
  EXPECT_GT(clock.ElapsedNow(), 0ns);
  clock.CatchUp();
  EXPECT_GT(clock.now(), began);
}

TEST(RealWorldClockTest, LookIsNotBeforeWhatHappensNow) {
  Moved clock(ClockKind::kReal);
  const coro::Time ahead = clock.Now() + 1h;
  clock.MoveTo(ahead);
  EXPECT_LT(clock.Now(), ahead);
  EXPECT_EQ(clock.TimeNow(), ahead);
}

TEST(RealWorldClockTest, IsReadOnlyForTimesThatLieInTheFuture) {
  Moved clock(ClockKind::kReal);
  const coro::Time began = clock.now();
  while (clock.Now() == began) {
  }
  EXPECT_TRUE(clock.HasReached(began));
  EXPECT_EQ(clock.now(), began);  // it was not read
  EXPECT_TRUE(clock.HasReached(began + 1ns));
  EXPECT_GT(clock.now(), began);
  EXPECT_FALSE(clock.HasReached(began + 1h));
}

}  // namespace
}  // namespace drydock::sim
