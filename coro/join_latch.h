// Counts tasks down; the coroutine that awaits the latch resumes after the last one. when_all.h is
// built on it.

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

// Not thread-safe. Outlives the tasks that it started, or dies together with them. Awaited once,
// after it has started all of them.
class JoinLatch final : public Wait, private internal::TaskObserver {
 public:
  JoinLatch() : TaskObserver(&JoinLatch::TaskFinished) {}
  JoinLatch(const JoinLatch&) = delete;
  JoinLatch& operator=(const JoinLatch&) = delete;

  // Starts `task`, which stays owned by the caller. REQUIRES: not empty, not started before.
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

  // Cancels the waits of the tasks that were started here.
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
