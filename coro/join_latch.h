// Counts tasks down; the coroutine that awaits the latch resumes after the last one. What
// when_all.h is made of.

#ifndef CORO_JOIN_LATCH_H_
#define CORO_JOIN_LATCH_H_

#include <coroutine>
#include <cstddef>
#include <functional>

#include "coro/check.h"
#include "coro/task.h"
#include "coro/wait.h"
#include "coro/wait_node.h"

namespace coro {

// Not thread-safe. Outlives the tasks that it started, or dies together with them.
class JoinLatch final : private internal::TaskObserver, public Wait {
 public:
  JoinLatch() = default;
  JoinLatch(const JoinLatch&) = delete;
  JoinLatch& operator=(const JoinLatch&) = delete;

  // Starts `task`, which stays owned by the caller. REQUIRES: not empty, not started before.
  template <typename T>
  void Start(const Task<T>& task) {
    DD_CHECK(task.handle(), "starting an empty task");
    internal::PromiseBase& promise = task.handle().promise();
    ++running_;
    promise.set_observer(this);
    promise.set_sibling(first_);
    first_ = &promise;
    task.Start();
  }

  // Asks what the tasks that were started here wait for.
  void Cancel(Cancellation& cancellation) override {
    for (auto* task = first_; task != nullptr; task = task->sibling()) task->Cancel(cancellation);
  }
  const char* what() const override { return "tasks"; }
  void ForEachTask(const std::function<void(const internal::TaskRecord&)>& each) const override {
    for (auto* task = first_; task != nullptr; task = task->sibling()) each(*task);
  }

  bool await_ready() const { return running_ == 0; }
  template <TaskPromise Promise>
  void await_suspend(std::coroutine_handle<Promise> waiter) {
    waiter_ = &waiter.promise();
    waiter_->set_wait(this);
  }
  void await_resume() const {}

 private:
  std::coroutine_handle<> TaskFinished(internal::PromiseBase&) override {
    if (--running_ > 0 || waiter_ == nullptr) return std::noop_coroutine();
    waiter_->set_running();
    return waiter_->handle();
  }

  std::size_t running_ = 0;
  internal::PromiseBase* first_ = nullptr;
  internal::TaskRecord* waiter_ = nullptr;
};

}  // namespace coro

#endif  // CORO_JOIN_LATCH_H_
