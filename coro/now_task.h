// A task that can only be awaited where it is called.
//
//   NowTask<int> Sum(const std::vector<int>& numbers);   // reads what it was given for as long as
//   it runs const int sum = co_await Sum({1, 2, 3});             // fine: the arguments live as
//   long auto later = Sum({1, 2, 3});                          // can be made, and neither moved
//   nor awaited
//
// For coroutines that keep references to their arguments: a Task of such a function that is stored
// or spawned dangles as soon as the call is over. Use Task for what is spawned, gathered or stored.

#ifndef CORO_NOW_TASK_H_
#define CORO_NOW_TASK_H_

#include <coroutine>
#include <utility>

#include "coro/task.h"

namespace coro {

// As Task, but for moving. Not movable, and awaited as a temporary only.
template <typename T = void>
class [[nodiscard]] NowTask {
 public:
  using promise_type = internal::Promise<T>;

  // What the coroutine's call makes.
  NowTask(Task<T> task) : task_(std::move(task)) {}  // NOLINT: a conversion, by the language
  NowTask(const NowTask&) = delete;
  NowTask& operator=(const NowTask&) = delete;

  typename Task<T>::Awaiter AwaitedBy(internal::TaskRecord& parent) && {
    return task_.AwaitedBy(parent);
  }

 private:
  Task<T> task_;
};

}  // namespace coro

#endif  // CORO_NOW_TASK_H_
