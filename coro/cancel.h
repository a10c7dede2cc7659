// Waits until every wait that was asked to end has ended: what a canceller does between the two
// phases of cancelling (wait.h).
//
//   EndOfWaits ended;
//   task.handle().promise().Cancel(ended);   // asks
//   co_await ended;                          // until it may be destroyed
//
// For code that owns tasks, as WhenAny, WithDeadline and Scope do; a program cancels through these.

#ifndef DRYDOCK_CORO_CANCEL_H_
#define DRYDOCK_CORO_CANCEL_H_

#include <coroutine>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/wait.h"
#include "drydock/coro/wait_node.h"

namespace drydock::coro {

// Awaited once, after every wait was asked. The co_await does not suspend where all of them have
// ended by then; otherwise the loop resumes it after the last one has ended. It destroys no task:
// its owner does that, afterwards. It dies when the waits have ended, or together with their
// coroutines.
class EndOfWaits final : public Cancellation, public WaitNode {
 public:
  bool await_ready() const { return pending() == 0; }
  template <TaskPromise Promise>
  void await_suspend(std::coroutine_handle<Promise> self) {
    Suspend(self);
    loop_ = &EventLoop::Current();
  }
  void await_resume() const {}

  // The coroutine that cancels is itself cancelled: `outer` waits for the same waits.
  void Cancel(Cancellation& outer) override {
    outer.Expect();
    outer_ = &outer;
  }
  const char* what() const override { return "cancelled tasks to end"; }

 private:
  void AllEnded() override {
    if (outer_ != nullptr) return outer_->Ended();
    if (loop_ != nullptr) loop_->Schedule(*this);
  }

  Cancellation* outer_ = nullptr;
  EventLoop* loop_ = nullptr;  // null: not suspended yet
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_CANCEL_H_
