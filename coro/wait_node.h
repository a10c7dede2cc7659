// A suspended coroutine: in the ready queue, or waiting for something that will put it there.

#ifndef CORO_WAIT_NODE_H_
#define CORO_WAIT_NODE_H_

#include <coroutine>

#include "coro/intrusive_list.h"
#include "coro/live_tasks.h"
#include "coro/wait.h"

namespace coro {

// A place in the ready queue. Lives in the awaiter, hence in the coroutine's own frame: it leaves
// the queue when the frame is destroyed.
class ReadyNode : public ListNode {
 public:
  // The task that awaits; called by its promise at the co_await. Null in coroutines of other kinds.
  void set_owner(internal::TaskRecord* owner) { owner_ = owner; }

 protected:
  ReadyNode() = default;
  ~ReadyNode() = default;

 private:
  friend class EventLoop;
  friend class WaitNode;

  std::coroutine_handle<> handle_;
  internal::TaskRecord* owner_ = nullptr;
};

// Base of awaiters that wait for something else than their turn. It calls Suspend in its
// await_suspend; whoever wakes it gives it to EventLoop::Schedule.
class WaitNode : public ReadyNode, public Wait {
 public:
  // The coroutine is suspended here.
  void Suspend(std::coroutine_handle<> self) {
    handle_ = self;
    if (owner_ != nullptr) owner_->set_wait(this);
  }

 protected:
  WaitNode() = default;
  ~WaitNode() = default;

  // The coroutine goes on in another way than through the ready queue.
  void SetRunning() {
    if (owner_ != nullptr) owner_->set_running();
  }
};

}  // namespace coro

#endif  // CORO_WAIT_NODE_H_
