// Counts tasks down; the coroutine that awaits the latch resumes after the last one. What
// when_all.h is made of.

#ifndef CORO_JOIN_LATCH_H_
#define CORO_JOIN_LATCH_H_

#include <coroutine>
#include <cstddef>

#include "coro/check.h"

namespace coro {

// Not thread-safe. Outlives the tasks that it started, or dies together with them.
class JoinLatch {
 public:
  JoinLatch() = default;
  JoinLatch(const JoinLatch&) = delete;
  JoinLatch& operator=(const JoinLatch&) = delete;

  // Starts `task` (a Task<T>), which stays owned by the caller. REQUIRES: not empty, not started
  // before.
  template <typename Task>
  void Start(const Task& task) {
    DD_CHECK(task.handle(), "starting an empty task");
    ++running_;
    task.handle().promise().set_latch(this);
    task.handle().resume();
  }

  bool await_ready() const { return running_ == 0; }
  void await_suspend(std::coroutine_handle<> waiter) { waiter_ = waiter; }
  void await_resume() const {}

  // A task that was started here has finished: returns what to resume next.
  std::coroutine_handle<> Arrive() {
    if (--running_ > 0 || !waiter_) return std::noop_coroutine();
    return waiter_;
  }

 private:
  std::size_t running_ = 0;
  std::coroutine_handle<> waiter_;
};

}  // namespace coro

#endif  // CORO_JOIN_LATCH_H_
