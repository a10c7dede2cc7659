// Coroutines that wait for something that another coroutine, or a selector, will announce.
//
// The building block of events, counters and queues: the condition lives with its owner, and a
// waiter looks at it again after it was woken, because another coroutine may have run in between.
//
//   while (queue.empty()) {
//     const bool notified = co_await waiters.Wait(deadline);
//     if (!notified) co_return absl::DeadlineExceededError("...");
//   }
//
//   queue.push_back(value);  // the other side
//   waiters.NotifyOne();
//
// A notification that finds no waiter is lost: the condition must be set before. For the usual
// conditions, Event, Semaphore and Channel are built on WaitLists.

#ifndef DRYDOCK_CORO_WAIT_LIST_H_
#define DRYDOCK_CORO_WAIT_LIST_H_

#include <coroutine>
#include <cstddef>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/intrusive_list.h"
#include "drydock/coro/time.h"
#include "drydock/coro/timer_queue.h"
#include "drydock/coro/wait_node.h"

namespace drydock::coro {

// Waiters are served in the order in which they came. A coroutine that is cancelled or destroyed
// between being notified and running passes the notification on to the next waiter: none is lost.
// Allocates nothing: a waiter's link and timer are in its own frame. A list that dies leaves its
// waiters waiting for their deadlines. Not movable, not thread-safe: waiters and notifiers are on
// one loop's thread.
class WaitList {
 public:
  // The awaiter that Wait returns, to be awaited at once and in a task. co_await yields true when
  // notified, false when the deadline came first. An owner of a list may derive from it, to ask
  // more than the list when the wait is cancelled (scope.h).
  class Waiter : public WaitNode, protected ListNode, private TimerNode {
   public:
    virtual ~Waiter() { PassOn(); }

    bool await_ready() const { return false; }
    template <TaskPromise Promise>
    void await_suspend(std::coroutine_handle<Promise> self) {
      Suspend(self);
      loop_ = &EventLoop::Current();
      list_.waiters_.PushBack(*this);
      if (deadline_ != kNever) loop_->timers().Arm(*this, deadline_);
    }
    bool await_resume() {
      // Not linked: the deadline came first, or the list was destroyed.
      if (notified_.linked()) list_.Heard(*this);
      return was_notified_;
    }

    void Cancel(Cancellation&) override {
      Unlink();
      TimerNode::Cancel();
    }
    const char* what() const override { return what_; }

   protected:
    friend class WaitList;

    Waiter(WaitList& list, Time deadline)
        : TimerNode(&Waiter::Expire), list_(list), what_(list.what_), deadline_(deadline) {}

   private:
    friend class IntrusiveList<Waiter>;

    static void Expire(TimerNode& timer) { static_cast<Waiter&>(timer).Wake(false); }

    void Wake(bool notified) {
      was_notified_ = notified;
      Unlink();
      TimerNode::Cancel();
      if (notified) list_.Notified(*this);
      loop_->Schedule(*this);
    }

    // A waiter that was notified and dies before it runs notifies the next one instead. While it is
    // linked, the list still exists.
    void PassOn() {
      if (!notified_.linked()) return;
      list_.Heard(*this);
      list_.NotifyOne();
    }

    WaitList& list_;
    const char* what_;
    Time deadline_;
    EventLoop* loop_ = nullptr;  // notifications may come when it does not run, from destructors
    bool was_notified_ = false;
    ListNode notified_;
  };

  WaitList() = default;
  // `what`: what its waiters wait for, in words for a person; static storage.
  explicit WaitList(const char* what) : what_(what) {}

  // No coroutine waits. Those that were notified, or whose deadline came, wait no more, though they
  // have not run yet.
  bool empty() const { return waiters_.empty(); }

  // Waiters that were notified, and did not run yet.
  std::size_t notified() const { return notified_count_; }

  // Waits to be notified, at most until `deadline` on the loop's clock. It always suspends: test
  // the condition first.
  [[nodiscard]] Waiter Wait(Time deadline = kNever) { return Waiter(*this, deadline); }

  // Makes the coroutine that has waited longest ready; false when none waits. The loop runs it
  // later, never inside of this call, which may be made while the loop does not run.
  bool NotifyOne() {
    Waiter* waiter = waiters_.front();
    if (waiter == nullptr) return false;
    waiter->Wake(true);
    return true;
  }

  // Makes all coroutines ready that wait now, in their order.
  void NotifyAll() {
    while (NotifyOne()) {
    }
  }

 private:
  void Notified(Waiter& waiter) {
    notified_.PushBack(waiter.notified_);
    ++notified_count_;
  }
  void Heard(Waiter& waiter) {
    waiter.notified_.Unlink();
    --notified_count_;
  }

  const char* what_ = "a notification";
  std::size_t notified_count_ = 0;
  IntrusiveList<Waiter> waiters_;
  IntrusiveList<ListNode> notified_;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_WAIT_LIST_H_
