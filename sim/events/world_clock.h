// The time of a simulated world: on a virtual clock where the world was moved to, on the machine's
// as far as the world has come.
//
//   virtual    now ═════════► MoveTo
//   real       now ════► what happens ┄┄┄┄► the machine's clock       CatchUp: both are the same
//
// The program sees it as coro::Clock, of the Timeline that moves it. Devices, checks and fault plans
// have the functions here.

#ifndef DRYDOCK_SIM_EVENTS_WORLD_CLOCK_H_
#define DRYDOCK_SIM_EVENTS_WORLD_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "drydock/coro/clock.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"

namespace drydock::sim {

enum class ClockKind : std::uint8_t { kVirtual, kReal };

// Who has only this can look, and moves nothing. Not thread-safe.
class WorldClock : public coro::Clock {
 public:
  // Where virtual time begins: not at zero, see coro::Clock.
  static constexpr coro::Time kStart = coro::Time(std::chrono::seconds(1));

  bool real() const { return real_; }
  bool IsVirtual() const final { return !real_; }

  // The time of the event that happens now; the program's last look or wait at the latest.
  coro::Time now() const { return now_; }
  // Time since the world began.
  coro::Duration elapsed() const { return now_ - start_; }
  // The same two by a look at the clock. On the machine's one events that are due at once do not
  // move now(), and a look costs: it is for those who depend on the time.
  coro::Time TimeNow() const { return std::max(now_, Look()); }
  coro::Duration ElapsedNow() const { return TimeNow() - start_; }
  // Of it, what was not charged: the program waited, or other code ran the world.
  coro::Duration waited() const { return elapsed() - charged_; }

 protected:
  explicit WorldClock(ClockKind kind)
      : real_(kind == ClockKind::kReal), start_(real_ ? steady_.Now() : kStart), now_(start_) {}

  // What the clock shows.
  coro::Time Look() const { return real_ ? steady_.Now() : now_; }
  // It is never moved back.
  void MoveTo(coro::Time time) { now_ = std::max(now_, time); }
  // The program has computed for so long.
  void Charged(coro::Duration cost) { charged_ += cost; }

  // --- REQUIRES: the machine's clock ---
  void CatchUp() { MoveTo(steady_.Now()); }
  // Whether this time has come. The clock is read only for one that lies in the future: what
  // happens without a delay is due at once.
  bool HasReached(coro::Time time) {
    if (time > now_) CatchUp();
    return time <= now_;
  }
  // Blocks the thread: see coro::SteadyClock.
  bool Sleep(coro::Time deadline) { return steady_.WaitUntil(deadline); }

 private:
  const bool real_;
  coro::SteadyClock steady_;
  const coro::Time start_;
  coro::Time now_;
  coro::Duration charged_{};
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EVENTS_WORLD_CLOCK_H_
