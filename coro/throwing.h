// Turns errors that are values into exceptions, for callers that want those.
//
//   const Message message = coro::RunOrThrow(loop, Fetch());   // throws coro::StatusError
//
// Inside, errors are values: nothing is thrown through a co_await.

#ifndef DRYDOCK_CORO_THROWING_H_
#define DRYDOCK_CORO_THROWING_H_

#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/task.h"

namespace drydock::coro {

// An error as an exception. what() is the status as text: "NOT_FOUND: no such page".
class StatusError : public std::runtime_error {
 public:
  // REQUIRES: not ok.
  explicit StatusError(absl::Status status)
      : std::runtime_error(status.ToString()), status_(std::move(status)) {}

  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// Nothing, or the value, moved out; throws StatusError for an error.
inline void OrThrow(const absl::Status& status) {
  if (!status.ok()) throw StatusError(status);
}
template <typename T>
T OrThrow(absl::StatusOr<T> value) {
  if (!value.ok()) throw StatusError(value.status());
  return *std::move(value);
}

// EventLoop::Run for callers outside of coroutines: returns the value of the task, and throws its
// error, or the loop's (kAborted: it is stuck). REQUIRES: not called from within the loop.
template <typename T>
auto RunOrThrow(EventLoop& loop, Task<T> task) {
  return OrThrow(loop.Run(std::move(task)));
}

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_THROWING_H_
