// Running several tasks at once and waiting for all of them.
//
//   auto [a, b] = co_await coro::WhenAll(First(), Second());
//   std::vector<absl::Status> results = co_await coro::WhenAll(std::move(tasks));
//
// The tasks start in order when the result is awaited, each running until it first suspends. The
// result comes after the last of them has finished, without a turn of the loop in between, and at
// once where none has to wait or there are none. Nothing is cancelled when one fails: every result
// is returned. A WhenAll that is cancelled cancels its tasks. Results of one that is destroyed
// before are lost, except for errors: these are reported to the loop. REQUIRES: no task is empty,
// or was started.
//
// Use a Scope where the number of tasks is not known beforehand or the first error is to end the
// others, and WhenAny where the first result is enough.

#ifndef DRYDOCK_CORO_WHEN_ALL_H_
#define DRYDOCK_CORO_WHEN_ALL_H_

#include <tuple>
#include <utility>
#include <vector>

#include "drydock/coro/join_latch.h"
#include "drydock/coro/task.h"
#include "drydock/coro/untaken.h"

namespace drydock::coro {

// One value per task, in the order of the arguments. REQUIRES: every T is a value (void: use the
// vector form).
template <typename... T>
Task<std::tuple<T...>> WhenAll(Task<T>... tasks) {
  const auto report = [&] { (internal::ReportUntakenError(tasks), ...); };
  internal::UnlessTaken results(report);
  JoinLatch latch;
  (latch.Start(tasks), ...);
  co_await latch;
  results.Taken();
  co_return std::tuple<T...>(tasks.handle().promise().TakeValue()...);
}

// One value per task, in the order of the vector.
template <typename T>
Task<std::vector<T>> WhenAll(std::vector<Task<T>> tasks) {
  const auto report = [&] {
    for (const Task<T>& task : tasks) internal::ReportUntakenError(task);
  };
  internal::UnlessTaken results(report);
  JoinLatch latch;
  for (const Task<T>& task : tasks) latch.Start(task);
  co_await latch;
  results.Taken();
  std::vector<T> values;
  values.reserve(tasks.size());
  for (const Task<T>& task : tasks) values.push_back(task.handle().promise().TakeValue());
  co_return values;
}

// The same for tasks without a value.
inline Task<void> WhenAll(std::vector<Task<void>> tasks) {
  JoinLatch latch;
  for (const Task<void>& task : tasks) latch.Start(task);
  co_await latch;
}

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_WHEN_ALL_H_
