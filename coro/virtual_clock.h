// A clock that stands still until it is told to move: for tests, where waiting an hour costs
// nothing.

#ifndef DRYDOCK_CORO_VIRTUAL_CLOCK_H_
#define DRYDOCK_CORO_VIRTUAL_CLOCK_H_

#include "drydock/coro/check.h"
#include "drydock/coro/clock.h"

namespace drydock::coro {

// Not thread-safe.
class VirtualClock final : public Clock {
 public:
  // One second, not zero: see Clock::Now.
  static constexpr Time kStart = Time(std::chrono::seconds(1));

  Time Now() const override { return now_; }

  // Jumps to `deadline`.
  bool WaitUntil(Time deadline) override {
    if (deadline == kNever) return false;
    if (deadline > now_) now_ = deadline;
    return true;
  }

  bool IsVirtual() const override { return true; }

  // Moves time forward. REQUIRES: by >= 0.
  void Advance(Duration by) {
    DD_CHECK(by >= Duration::zero(), "time cannot go backwards");
    now_ = After(now_, by);
  }

 private:
  Time now_ = kStart;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_VIRTUAL_CLOCK_H_
