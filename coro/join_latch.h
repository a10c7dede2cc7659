// Starts tasks, and resumes the coroutine that awaits it after the last of them has finished.
// when_all.h is built on it.
//
//   JoinLatch latch;
//   for (const Task<>& task : tasks) latch.Start(task);
//   co_await latch;  // all have finished
//
// For code that owns the tasks and takes their values itself. A program uses WhenAll, or a Scope
// where it does not know the number of tasks beforehand.

#ifndef DRYDOCK_CORO_JOIN_LATCH_H_
#define DRYDOCK_CORO_JOIN_LATCH_H_

#include <coroutine>
#include <cstddef>
#include <functional>

#include "drydock/coro/check.h"
#include "drydock/coro/task.h"
#include "drydock/coro/wait.h"
#include "drydock/coro/wait_node.h"

namespace drydock::coro {

// Awaited once, by a task, after it has started all of them. Where all have finished by then the
// co_await does not suspend; otherwise the last one resumes the waiter as it ends, in the same turn
// of the loop. Allocates nothing: the promises of its tasks are a list, so that a task is in one
// latch or one Race only. Not thread-safe. Outlives the tasks that it started, or dies together
// with them.
class JoinLatch final : public Wait, private internal::TaskObserver {
 public:
  JoinLatch() : TaskObserver(&JoinLatch::TaskFinished) {}
  JoinLatch(const JoinLatch&) = delete;
  JoinLatch& operator=(const JoinLatch&) = delete;

  // Runs `task`, which stays owned by the caller, until it first suspends or ends. REQUIRES: not
  // empty, not started before.
  template <typename T>
  void Start(const Task<T>& task) {
    DD_CHECK(task.handle(), "starting an empty task");
    internal::PromiseBase& promise = task.handle().promise();
    ++remaining_;
    promise.set_continuation(TaskObserver::handle());
    promise.set_sibling(first_);
    first_ = &promise;
    task.Start();
  }

  // Cancels the waits of the tasks that were started here. Those that have finished keep their
  // values.
  void Cancel(Cancellation& cancellation) override {
    for (auto* task = first_; task != nullptr; task = task->sibling()) task->Cancel(cancellation);
  }
  const char* what() const override { return "tasks"; }
  void ForEachTask(const std::function<void(const internal::TaskRecord&)>& each) const override {
    for (auto* task = first_; task != nullptr; task = task->sibling()) each(*task);
  }

  bool await_ready() { return --remaining_ == 0; }
  template <TaskPromise Promise>
  void await_suspend(std::coroutine_handle<Promise> waiter) {
    waiter_ = &waiter.promise();
    waiter_->set_wait(this);
  }
  void await_resume() const {}

 private:
  static void TaskFinished(void* observer) {
    auto& self = static_cast<JoinLatch&>(*static_cast<TaskObserver*>(observer));
    if (--self.remaining_ > 0) return;
    self.waiter_->set_running();
    self.waiter_->handle().resume();
  }

  std::size_t remaining_ = 1;  // the awaiting coroutine counts, too, until it awaits
  internal::PromiseBase* first_ = nullptr;
  internal::TaskRecord* waiter_ = nullptr;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_JOIN_LATCH_H_
