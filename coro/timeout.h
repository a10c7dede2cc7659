// A task with a limit on its time.
//
//   absl::Status status = co_await coro::WithDeadline(deadline, Transfer());
//
// When the deadline comes first, the task is cancelled (wait.h) and the result is
// kDeadlineExceeded, once the task has ended: later than the deadline where the NIC still has an
// operation of it. The code does not tell it from a kDeadlineExceeded of the task's own. Nested
// deadlines need no care: the earliest comes first. A deadline that loses leaves nothing behind.
//
// Most waits take a deadline themselves (Event::Wait, Channel::Receive, the operations of
// fabric/async), which costs no further coroutine. For several tasks of which the first counts, use
// WhenAny (when_any.h).

#ifndef DRYDOCK_CORO_TIMEOUT_H_
#define DRYDOCK_CORO_TIMEOUT_H_

#include <type_traits>

#include "absl/status/status.h"
#include "drydock/coro/cancel.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/race.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/untaken.h"

namespace drydock::coro {

// The result is that of the task, as EventLoop::Run returns it: absl::Status for a task of nothing
// or of absl::Status, absl::StatusOr<T> for a task of T or of absl::StatusOr<T>. The task starts
// when the result is awaited, even if the deadline (on the loop's clock) has passed. A task has
// finished in time that finishes without suspending, or in the turn in which the deadline comes,
// before the waiter's place in that turn. kNever: no limit. An error of the task that is destroyed
// before it is returned is reported to the loop. REQUIRES: `task` is not empty, and was not
// started.
template <typename T>
Task<typename internal::RunResult<T>::type> WithDeadline(Time deadline, Task<T> task) {
  using Result = typename internal::RunResult<T>::type;
  const auto report = [&] { internal::ReportUntakenError(task); };
  internal::UnlessTaken result(report);
  Race race(deadline);
  race.Start(task);
  co_await race;
  result.Taken();
  if (race.winner() == nullptr) {
    EndOfWaits ended;
    race.CancelTasks(ended);
    co_await ended;
    task = {};  // its frame goes now, also where somebody keeps this one
    co_return Result(absl::DeadlineExceededError("the deadline of a task has passed"));
  }
  if constexpr (std::is_void_v<T>) {
    co_return Result();
  } else {
    co_return Result(task.handle().promise().TakeValue());
  }
}

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_TIMEOUT_H_
