// A place for tasks whose number is not known beforehand: a server's sessions, a pipeline's stages.
//
//   coro::Scope sessions;
//   sessions.Spawn(Serve(client));
//   ...
//   absl::Status first_error = co_await sessions.Join();
//
// Structured: no task outlives its scope, and there is no other way to start a task that is not
// awaited. Join waits for all of them. Cancel asks them to end (wait.h), and Join waits until they
// have. A scope that is destroyed without Join destroys the tasks that still run, which is safe for
// every awaiter of this project (a fabric operation that is dropped keeps its buffer until its
// completion was read). No error vanishes with it: those that no Join returned are reported to the
// loop, with the task that failed and where it was spawned.

#ifndef DRYDOCK_CORO_SCOPE_H_
#define DRYDOCK_CORO_SCOPE_H_

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "drydock/coro/cancel.h"
#include "drydock/coro/intrusive_list.h"
#include "drydock/coro/live_tasks.h"
#include "drydock/coro/task.h"
#include "drydock/coro/task_tree.h"
#include "drydock/coro/untaken.h"
#include "drydock/coro/wait_list.h"

namespace drydock::coro {

namespace internal {
class ScopeChild;
}  // namespace internal

// The reaction of a scope to a task that ends with an error.
enum class OnError {
  kContinue,  // the others run on, as sessions of a server do
  kCancel,    // the others are cancelled, as parts of one job are
};

// A frame that finished is freed at once: a scope may live as long as the program. Not movable, not
// thread-safe: it and its tasks are one loop's. Not destroyed by a task of its own.
class Scope {
 public:
  // With OnError::kCancel, a task that ends with an error has the effect of Cancel().
  explicit Scope(OnError on_error = OnError::kContinue) : on_error_(on_error) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  // Starts `task` now, on the caller's stack, until it first suspends. May be called by a task of
  // this scope. The other arguments are where it is called, for reports. REQUIRES: `task` is not
  // empty, and was not started.
  void Spawn(Task<absl::Status> task, const char* file = __builtin_FILE(),
             const char* function = __builtin_FUNCTION(), std::uint32_t line = __builtin_LINE());

  // Cancels every task of the scope, including those spawned until Join ends. Takes effect in
  // Join, so a task of this scope may call it, and runs on until it suspends.
  void Cancel();
  bool cancelled() const { return cancelled_; }

  // Waits until no task runs, including those spawned meanwhile, and returns the error that came
  // first, with the texts of the next few and the number of the rest: "no peer; then: no memory;
  // and 7 more". OK when tasks were cancelled and none failed; a task that returns kCancelled after
  // its scope was cancelled has not failed. After that the scope is as new. A task that is
  // cancelled while it joins cancels the tasks of the scope, which die with it: then the scope is
  // as new but for errors, which the next Join returns. One task joins at a time, and none of the
  // scope's own: that would wait for itself.
  Task<absl::Status> Join();

  // Tasks that have not finished.
  std::size_t running() const { return running_; }

 private:
  friend class internal::ScopeChild;

  // Children that were asked to end. They are destroyed with this object, whether they have ended
  // or not.
  class Doomed {
   public:
    // Takes all children that the scope has.
    explicit Doomed(Scope& scope) : scope_(scope) { children_.Append(scope.children_); }
    ~Doomed();
    void Ask(Cancellation& cancellation);

   private:
    Scope& scope_;
    IntrusiveList<ListNode> children_;
  };

  // Waits for something to change. When it is cancelled, the children that there are die with it.
  class JoinWaiter final : public WaitList::Waiter, private internal::WokenParent {
   public:
    explicit JoinWaiter(Scope& scope) : Waiter(scope.changed_, kNever), scope_(scope) {}
    template <TaskPromise Promise>
    void await_suspend(std::coroutine_handle<Promise> self) {
      Waiter::await_suspend(self);
      Enter(self.promise());
    }
    bool await_resume() {
      Leave();
      return Waiter::await_resume();
    }
    void Cancel(Cancellation& cancellation) override;
    void CancelTasks(Cancellation& cancellation) override;
    void ForEachTask(const std::function<void(const internal::TaskRecord&)>& each) const override;

   private:
    Scope& scope_;
    std::optional<Doomed> doomed_;
  };

  void Failed(const TaskPlace& task, const TaskPlace& spawned, const absl::Status& error);
  void Finished();
  // Asks every child, waits until all have ended, and destroys them.
  Task<> EndChildren();

  const OnError on_error_;
  IntrusiveList<ListNode> children_;
  std::size_t running_ = 0;
  bool cancelled_ = false;
  internal::UntakenErrors errors_;
  WaitList changed_{"the tasks of its scope"};
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_SCOPE_H_
