// A world's time for a run that must end.

#ifndef DRYDOCK_SIM_EXPLORE_RUN_CLOCK_H_
#define DRYDOCK_SIM_EXPLORE_RUN_CLOCK_H_

#include <algorithm>
#include <cstdint>

#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/checks/wait_graph.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::explore {

// The world's clock, which stops at a limit: a loop that would wait longer is told that nothing can
// happen any more, ends, and the clock knows why. Not thread-safe. Dies before the world.
class RunClock final : public coro::Clock {
 public:
  enum class Stop : std::uint8_t {
    kNone,     // every wait came to an end
    kNothing,  // a loop waited, and nothing was under way that could have woken it
    kLimit,    // a loop waited beyond the limit
  };

  RunClock(World& world, coro::Duration limit)
      : world_(world), limit_(coro::After(world.Now(), limit)) {}

  coro::Time Now() const override { return world_.Now(); }
  bool IsVirtual() const override { return true; }

  bool WaitUntil(coro::Time deadline) override {
    since_ = world_.timeline().elapsed();
    if (world_.Now() >= limit_) return StopFor(Stop::kLimit);
    const bool may_go_on = world_.WaitUntil(std::min(deadline, limit_));
    if (deadline != coro::kNever || limit_ == coro::kNever) {
      return may_go_on || StopFor(Stop::kNothing);
    }
    if (world_.Now() < limit_) return true;
    // Nothing woke the loop up to the limit: is there anything at all that still could?
    return StopFor(world_.WaitUntil(coro::kNever) ? Stop::kLimit : Stop::kNothing);
  }

  Stop stop() const { return stop_; }
  // When the wait began that did not end; since the world began.
  coro::Duration since() const { return since_; }
  // Which endpoint waited for which then; empty while nothing has stopped.
  const WaitGraph& waits() const { return waits_; }

 private:
  bool StopFor(Stop reason) {
    stop_ = reason;
    waits_ = world_.checks().DescribeWaits();  // now: the program's objects will be gone soon
    return false;
  }

  World& world_;
  const coro::Time limit_;
  Stop stop_ = Stop::kNone;
  coro::Duration since_{};
  WaitGraph waits_;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_RUN_CLOCK_H_
