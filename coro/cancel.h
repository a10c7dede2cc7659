// Waiting until everything that was asked to end has ended: the second phase of cancelling.
//
//   EndOfWaits ended;
//   task.handle().promise().Cancel(ended);   // asks
//   co_await ended;                          // until it may be destroyed

#ifndef DRYDOCK_CORO_CANCEL_H_
#define DRYDOCK_CORO_CANCEL_H_

#include <coroutine>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/wait.h"
#include "drydock/coro/wait_node.h"

namespace drydock::coro {

// Awaited once, after everything was asked. Dies after the coroutines that were asked, or with
// them.
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
