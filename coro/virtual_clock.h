// A clock that stands still until it is told to move: for tests, where waiting an hour costs
// nothing.
//
//   VirtualClock clock;
//   EventLoop loop(clock);
//   loop.Run(SleepAnHour());  // returns at once; clock.Now() is an hour later
//
// A loop on it jumps to its next timer when no coroutine can run. A program whose peers are
// simulated uses the clock of their world, which also knows of the network's events
// (sim/world/world.h).

#ifndef DRYDOCK_CORO_VIRTUAL_CLOCK_H_
#define DRYDOCK_CORO_VIRTUAL_CLOCK_H_

#include "drydock/coro/check.h"
#include "drydock/coro/clock.h"

namespace drydock::coro {

// Moves only in WaitUntil and Advance. Not thread-safe.
class VirtualClock final : public Clock {
 public:
  // One second, not zero: see Clock::Now.
  static constexpr Time kStart = Time(std::chrono::seconds(1));

  Time Now() const override { return now_; }

  // Jumps to `deadline`, if that is later than now. False, and nothing has happened: it is kNever.
  bool WaitUntil(Time deadline) override {
    if (deadline == kNever) return false;
    if (deadline > now_) now_ = deadline;
    return true;
  }

  bool IsVirtual() const override { return true; }

  // Moves time forward; timers that are due then fire in the loop's next turn. REQUIRES: by >= 0.
  void Advance(Duration by) {
    DD_CHECK(by >= Duration::zero(), "time cannot go backwards");
    now_ = After(now_, by);
  }

 private:
  Time now_ = kStart;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_VIRTUAL_CLOCK_H_
