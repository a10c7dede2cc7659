// Waiting for a time, and letting others run.
//
//   co_await coro::Sleep(10ms);
//   co_await coro::SleepUntil(deadline);
//   co_await coro::Yield();
//
// All three are called and awaited inside a loop's Run. The timer of a sleep is in the coroutine's
// frame: a coroutine that is destroyed while it sleeps leaves none behind. For a limit on the time
// of something else use its deadline, or WithDeadline (timeout.h).

#ifndef DRYDOCK_CORO_SLEEP_H_
#define DRYDOCK_CORO_SLEEP_H_

#include <coroutine>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/time.h"
#include "drydock/coro/timer_queue.h"
#include "drydock/coro/wait_node.h"

namespace drydock::coro {

// co_await suspends until the loop's clock reaches `deadline`: never earlier, and at most one turn
// later. A deadline that has passed still lets one turn pass. Sleeps of equal deadlines end in the
// order in which they began.
class SleepUntil final : public WaitNode, private TimerNode {
 public:
  explicit SleepUntil(Time deadline) : TimerNode(&SleepUntil::Wake), deadline_(deadline) {}

  bool await_ready() const { return false; }
  template <TaskPromise Promise>
  void await_suspend(std::coroutine_handle<Promise> self) {
    Suspend(self);
    EventLoop::Current().timers().Arm(*this, deadline_);
  }
  void await_resume() const {}

  void Cancel(Cancellation&) override { TimerNode::Cancel(); }
  const char* what() const override { return "a sleep"; }

 private:
  static void Wake(TimerNode& timer) {
    EventLoop::Current().Schedule(static_cast<SleepUntil&>(timer));
  }

  Time deadline_;
};

// Sleeps for `delay`, counted from the time of the current turn. A delay of zero or less still lets
// one turn pass.
inline SleepUntil Sleep(Duration delay) {
  const Time now = EventLoop::Current().Now();
  return SleepUntil(delay > Duration::zero() ? After(now, delay) : now);
}

// co_await lets every other ready coroutine, and the selectors, have a turn. For a coroutine that
// computes for long, or that waits for a condition of which no coroutine can notify it.
class Yield final {
 public:
  Yield() = default;

  bool await_ready() const { return false; }
  template <TaskPromise Promise>
  void await_suspend(std::coroutine_handle<Promise> self) const {
    EventLoop::Current().Yield(self.promise());
  }
  void await_resume() const {}
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_SLEEP_H_
