// The base of the awaiters that a task can be suspended in.
//
//   class Readiness final : public WaitNode {
//    public:
//     bool await_ready() const { return source_.ready(); }
//     template <TaskPromise Promise>
//     void await_suspend(std::coroutine_handle<Promise> self) {
//       Suspend(self);
//       source_.Add(*this);  // which calls EventLoop::Schedule(waiter) once, after removing it
//     }
//     void await_resume() const {}
//     void Cancel(Cancellation&) override { source_.Remove(*this); }
//     const char* what() const override { return "a source"; }
//     ...
//   };
//
// A WaitList has such an awaiter already, with a deadline: prefer it.

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
// await_suspend; the code that wakes it gives it to EventLoop::Schedule, once. Lives in the
// awaiter, hence in the coroutine's own frame: everything that refers to it must forget it when it
// is destroyed while it waits, in its destructor or in Abandon() (promise.h), and when it is
// cancelled, unless Cancel says that it will end later (wait.h). Threads: the loop's.
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
