// Running several tasks at once until the first of them has finished.
//
//   std::variant<Message, Alarm> first = co_await coro::WhenAny(Next(), Rings());
//   auto [which, status] = co_await coro::WhenAny(std::move(tasks));
//
// The tasks start in order when the result is awaited, each running until it first suspends; when
// one finishes at once, those after it are not started. The others are cancelled (wait.h), and have
// ended when the result comes: they have no result, and the tasks that they spawned report their
// own errors. The result is thus later than the first task's end where the NIC still has an
// operation of another. An error counts as finishing. The error of a winner that is destroyed
// before it is returned is reported to the loop. REQUIRES: no task is empty, or was started.
//
// For one task and a limit on its time use WithDeadline (timeout.h). Where the losers are to run
// on, use a Scope and an Event.

#ifndef DRYDOCK_CORO_WHEN_ANY_H_
#define DRYDOCK_CORO_WHEN_ANY_H_

#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "drydock/coro/cancel.h"
#include "drydock/coro/check.h"
#include "drydock/coro/race.h"
#include "drydock/coro/task.h"
#include "drydock/coro/untaken.h"

namespace drydock::coro {

namespace internal {

// The value of the task that won, at its place in the variant.
template <std::size_t kIndex, typename Variant, typename Tasks>
void TakeWinner(const Race& race, Tasks& tasks, std::optional<Variant>& value) {
  if constexpr (kIndex < std::tuple_size_v<Tasks>) {
    auto& task = std::get<kIndex>(tasks);
    if (race.WonBy(task)) {
      value.emplace(std::in_place_index<kIndex>, task.handle().promise().TakeValue());
    } else {
      TakeWinner<kIndex + 1>(race, tasks, value);
    }
  }
}

}  // namespace internal

// The index of the variant is the place of the task among the arguments. REQUIRES: every T is a
// value (void: use the vector form).
template <typename... T>
Task<std::variant<T...>> WhenAny(Task<T>... tasks) {
  std::tuple<Task<T>...> all(std::move(tasks)...);
  const auto report = [&] {
    std::apply([](const auto&... task) { (internal::ReportUntakenError(task), ...); }, all);
  };
  internal::UnlessTaken winner(report);
  Race race;
  std::apply([&race](const auto&... task) { (race.Start(task) && ...); }, all);
  co_await race;
  EndOfWaits ended;
  race.CancelTasks(ended);
  co_await ended;
  winner.Taken();
  std::optional<std::variant<T...>> value;
  internal::TakeWinner<0>(race, all, value);
  all = {};  // their frames go now, also where somebody keeps this one
  co_return *std::move(value);
}

// The place of the task that finished first, and its value. REQUIRES: there is a task.
template <typename T>
Task<std::pair<std::size_t, T>> WhenAny(std::vector<Task<T>> tasks) {
  DD_CHECK(!tasks.empty(), "WhenAny of nothing would wait for ever");
  const auto report = [&] {
    for (const Task<T>& task : tasks) internal::ReportUntakenError(task);
  };
  internal::UnlessTaken result(report);
  Race race;
  for (const Task<T>& task : tasks) {
    if (!race.Start(task)) break;
  }
  co_await race;
  EndOfWaits ended;
  race.CancelTasks(ended);
  co_await ended;
  result.Taken();
  std::size_t winner = 0;
  while (!race.WonBy(tasks[winner])) ++winner;
  std::pair<std::size_t, T> first(winner, tasks[winner].handle().promise().TakeValue());
  tasks.clear();
  co_return first;
}

// The place of the task that finished first. REQUIRES: there is a task.
inline Task<std::size_t> WhenAny(std::vector<Task<void>> tasks) {
  DD_CHECK(!tasks.empty(), "WhenAny of nothing would wait for ever");
  Race race;
  for (const Task<void>& task : tasks) {
    if (!race.Start(task)) break;
  }
  co_await race;
  EndOfWaits ended;
  race.CancelTasks(ended);
  co_await ended;
  std::size_t winner = 0;
  while (!race.WonBy(tasks[winner])) ++winner;
  tasks.clear();
  co_return winner;
}

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_WHEN_ANY_H_
