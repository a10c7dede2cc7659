// A place for tasks whose number is not known beforehand: a server's sessions, a pipeline's stages.
//
//   coro::Scope sessions;
//   sessions.Spawn(Serve(client));
//   ...
//   absl::Status first_error = co_await sessions.Join();
//
// Structured: no task outlives its scope. Join waits for all of them; a scope that is destroyed
// without Join destroys the tasks that still run, which is safe for every awaiter of this project
// (a fabric operation that is dropped keeps its buffer until its completion was read).

#ifndef CORO_SCOPE_H_
#define CORO_SCOPE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "coro/intrusive_list.h"
#include "coro/task.h"
#include "coro/wait_list.h"

namespace coro {

namespace internal {
class ScopeChild;
}  // namespace internal

// Not thread-safe, not movable. A frame that finished is freed at once: a scope may live as long as
// the program.
class Scope {
 public:
  Scope() = default;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  // Starts `task` now, on the caller's stack, until it first suspends. May be called by a task of
  // this scope.
  void Spawn(Task<absl::Status> task);

  // Waits until no task runs, those included that are spawned meanwhile, and returns the error that
  // came first.
  Task<absl::Status> Join();

  // Tasks that have not finished.
  std::size_t running() const { return running_; }

 private:
  friend class internal::ScopeChild;

  void Finished(absl::Status status);

  IntrusiveList<ListNode> children_;
  std::size_t running_ = 0;
  absl::Status first_error_;
  WaitList idle_;
};

}  // namespace coro

#endif  // CORO_SCOPE_H_
