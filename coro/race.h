// Starts tasks, and resumes the coroutine that awaits it when the first of them has finished, or a
// deadline has come. when_any.h and timeout.h are built on it.
//
//   Race race(deadline);
//   for (const Task<>& task : tasks) {
//     if (!race.Start(task)) break;
//   }
//   co_await race;
//   EndOfWaits ended;
//   race.CancelTasks(ended);  // those that did not win
//   co_await ended;           // race.winner() says which one did
//
// For code that owns the tasks and takes their values itself; a program uses WhenAny or
// WithDeadline.

#ifndef DRYDOCK_CORO_RACE_H_
#define DRYDOCK_CORO_RACE_H_

#include <coroutine>
#include <cstddef>
#include <functional>

#include "drydock/coro/check.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/task.h"
#include "drydock/coro/timer_queue.h"
#include "drydock/coro/wait_node.h"

namespace drydock::coro {

// Awaited once, by a task, after the tasks were started. Where one has finished by then the
// co_await does not suspend. Otherwise the first to finish resumes the waiter as it ends, in the
// same turn of the loop; a deadline makes the waiter ready, and a task that finishes before it runs
// still wins. The losers go on. After a deadline the waiter has to cancel or destroy them before it
// suspends again: one that finished then would resume it. Allocates nothing itself. Not
// thread-safe. Outlives the tasks that it started, or dies together with them.
class Race final : public WaitNode,
                   private internal::TaskObserver,
                   private internal::WokenParent,
                   private TimerNode {
 public:
  // `deadline` is a time of the loop's clock. The co_await arms its timer: a deadline that has
  // passed by then comes in the next turn.
  explicit Race(Time deadline = kNever)
      : TaskObserver(&Race::TaskFinished), TimerNode(&Race::Expire), deadline_(deadline) {}

  // Runs `task`, which stays owned by the caller, until it first suspends or ends; false when it
  // has finished at once, which decides the race. REQUIRES: not empty, not started before, and the
  // race is not decided.
  template <typename T>
  bool Start(const Task<T>& task) {
    DD_CHECK(task.handle(), "starting an empty task");
    internal::PromiseBase& promise = task.handle().promise();
    promise.set_continuation(TaskObserver::handle());
    promise.set_sibling(first_);
    first_ = &promise;
    task.Start();
    return winner_ == nullptr;
  }

  bool await_ready() const { return winner_ != nullptr; }
  template <TaskPromise Promise>
  void await_suspend(std::coroutine_handle<Promise> self) {
    Suspend(self);
    if (deadline_ != kNever) EventLoop::Current().timers().Arm(*this, deadline_);
  }
  void await_resume() { Leave(); }

  // The task that finished first, and keeps its value. Null: the deadline came first. REQUIRES: was
  // awaited.
  const internal::PromiseBase* winner() const { return winner_; }
  template <typename T>
  bool WonBy(const Task<T>& task) const {
    return winner_ == &task.handle().promise();
  }

  // Cancels the waits of the tasks that were started here and did not finish. They run no more; the
  // owner destroys them when no wait of `cancellation` is pending.
  void CancelTasks(Cancellation& cancellation) override {
    for (auto* task = first_; task != nullptr; task = task->sibling()) task->Cancel(cancellation);
  }

  // The waiter is cancelled: no deadline comes any more, and its tasks are cancelled.
  void Cancel(Cancellation& cancellation) override {
    TimerNode::Cancel();
    CancelTasks(cancellation);
  }
  const char* what() const override { return "the first of its tasks"; }
  void ForEachTask(const std::function<void(const internal::TaskRecord&)>& each) const override {
    for (auto* task = first_; task != nullptr; task = task->sibling()) each(*task);
  }

 private:
  static void TaskFinished(void* observer) {
    auto& self = static_cast<Race&>(*static_cast<TaskObserver*>(observer));
    if (self.winner_ != nullptr) return;
    self.winner_ = self.first_;  // one of them has finished, and no other
    while (!self.winner_->handle().done()) self.winner_ = self.winner_->sibling();
    static_cast<TimerNode&>(self).Cancel();
    // Not yet awaited, or the deadline came in this very turn and its waiter is on its way.
    internal::TaskRecord* const waiter = self.task();
    if (waiter == nullptr || waiter->ready()) return;
    waiter->set_running();
    waiter->handle().resume();
  }

  static void Expire(TimerNode& timer) {
    auto& self = static_cast<Race&>(timer);
    self.Enter(*self.task());
    EventLoop::Current().Schedule(self);
  }

  const Time deadline_;
  internal::PromiseBase* first_ = nullptr;
  internal::PromiseBase* winner_ = nullptr;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_RACE_H_
