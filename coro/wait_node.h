// The base of the awaiters that a task can be suspended in.

#ifndef DRYDOCK_CORO_WAIT_NODE_H_
#define DRYDOCK_CORO_WAIT_NODE_H_

#include <concepts>
#include <coroutine>

#include "drydock/coro/live_tasks.h"
#include "drydock/coro/wait.h"

namespace drydock::coro {

// The promise of a coroutine that the loop can schedule: a Task's.
template <typename Promise>
concept TaskPromise = std::derived_from<Promise, internal::TaskRecord>;

// Base of awaiters that wait for something other than their turn. It calls Suspend in its
// await_suspend; the code that wakes it gives it to EventLoop::Schedule. Lives in the awaiter,
// hence in the coroutine's own frame.
class WaitNode : public Wait {
 public:
  // The task is suspended here.
  void Suspend(internal::TaskRecord& task) {
    task_ = &task;
    task.set_wait(this);
  }
  template <TaskPromise Promise>
  void Suspend(std::coroutine_handle<Promise> self) {
    Suspend(self.promise());
  }

  // The task that was suspended here; null before that.
  internal::TaskRecord* task() const { return task_; }

 protected:
  WaitNode() = default;
  ~WaitNode() = default;
  WaitNode(const WaitNode&) = delete;
  WaitNode& operator=(const WaitNode&) = delete;

 private:
  internal::TaskRecord* task_ = nullptr;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_WAIT_NODE_H_
