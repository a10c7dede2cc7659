// An event that coroutines wait for: setting it wakes all of them.

#ifndef DRYDOCK_CORO_EVENT_H_
#define DRYDOCK_CORO_EVENT_H_

#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"

namespace drydock::coro {

// Not thread-safe, not movable. Outlives its waiters.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Wakes all waiters. Until Reset, later calls of Wait return at once.
  void Set() {
    set_ = true;
    waiters_.NotifyAll();
  }
  void Reset() { set_ = false; }

  // True once the event was set, even where it was reset before the waiter ran; false when the
  // deadline came first.
  Task<bool> Wait(Time deadline = kNever) {
    if (set_) co_return true;
    const bool notified = co_await waiters_.Wait(deadline);
    co_return notified;
  }

 private:
  bool set_ = false;
  WaitList waiters_{"an event"};
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_EVENT_H_
