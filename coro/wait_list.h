// Coroutines that wait for something that another coroutine, or a selector, will announce.
//
// The building block of events, counters and queues: the condition lives with its owner, and a
// waiter looks at it again after it was woken.
//
//   while (queue.empty()) {
//     if (!co_await waiters.Wait(deadline)) co_return absl::DeadlineExceededError("...");
//   }

#ifndef CORO_WAIT_LIST_H_
#define CORO_WAIT_LIST_H_

#include <coroutine>
#include <cstddef>

#include "coro/event_loop.h"
#include "coro/intrusive_list.h"
#include "coro/time.h"
#include "coro/timer_queue.h"

namespace coro {

// Not thread-safe: waiters and notifiers are on one loop. A list that dies leaves its waiters
// waiting for their deadlines.
class WaitList {
 public:
  // co_await yields true when notified, false when the deadline came first.
  class Waiter : private WaitNode, private TimerNode {
   public:
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> self) {
      handle = self;
      list_.waiters_.PushBack(*this);
      if (deadline_ != kNever) EventLoop::Current().timers().Arm(*this, deadline_);
    }
    bool await_resume() const { return notified_; }

   private:
    friend class WaitList;
    friend class IntrusiveList<Waiter>;

    Waiter(WaitList& list, Time deadline)
        : TimerNode(&Waiter::Expire), list_(list), deadline_(deadline) {}

    static void Expire(TimerNode& timer) { static_cast<Waiter&>(timer).Wake(false); }

    void Wake(bool notified) {
      notified_ = notified;
      Unlink();
      Cancel();
      EventLoop::Current().Schedule(*this);
    }

    WaitList& list_;
    Time deadline_;
    bool notified_ = false;
  };

  bool empty() const { return waiters_.empty(); }

  // Waits to be notified, at most until `deadline` on the loop's clock.
  [[nodiscard]] Waiter Wait(Time deadline = kNever) { return Waiter(*this, deadline); }

  // Wakes the coroutine that has waited longest; false when nobody waits.
  bool NotifyOne() {
    Waiter* waiter = waiters_.front();
    if (waiter == nullptr) return false;
    waiter->Wake(true);
    return true;
  }

  // Wakes everybody who waits now.
  void NotifyAll() {
    while (NotifyOne()) {
    }
  }

 private:
  IntrusiveList<Waiter> waiters_;
};

}  // namespace coro

#endif  // CORO_WAIT_LIST_H_
