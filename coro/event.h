// An event that coroutines wait for: setting it wakes all of them, and those that come later do not
// suspend until it is reset.
//
//   coro::Event ready;
//   const bool happened = co_await ready.Wait(deadline);  // in any number of coroutines
//   ready.Set();                                          // in another one
//
// For permits use a Semaphore, for values a Channel. A WaitList keeps no state: for conditions that
// their owner keeps.

#ifndef DRYDOCK_CORO_EVENT_H_
#define DRYDOCK_CORO_EVENT_H_

#include <cstdint>

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

  // All waiters become ready. Until Reset, later calls of Wait return at once. Setting it twice is
  // harmless.
  void Set() {
    set_ = true;
    ++times_set_;
    waiters_.NotifyAll();
  }
  // Later calls of Wait wait for the next Set.
  void Reset() { set_ = false; }

  // True once the event was set, even where it was reset before the waiter ran; false when the
  // deadline came first.
  Task<bool> Wait(Time deadline = kNever) {
    if (set_) co_return true;
    const std::uint64_t times_set = times_set_;
    bool in_time = true;
    // A waiter of an earlier Set that dies before it runs notifies the next one.
    while (in_time && times_set_ == times_set) in_time = co_await waiters_.Wait(deadline);
    co_return in_time;
  }

 private:
  bool set_ = false;
  std::uint64_t times_set_ = 0;
  WaitList waiters_{"an event"};
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_EVENT_H_
