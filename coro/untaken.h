// Errors of tasks that have ended, until the program takes them. An error that is not taken is
// reported. Scope, WhenAll, WhenAny and WithDeadline use this header. (An error inside of another
// value that a task returns, as a vector or a Completion, is the program's.)
//
//   no task took the error of Serve (server.cc:41) at line 52, spawned in Main (server.cc:88):
//   UNAVAILABLE: peer is gone; then: out of memory; and 7 more

#ifndef DRYDOCK_CORO_UNTAKEN_H_
#define DRYDOCK_CORO_UNTAKEN_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/task.h"
#include "drydock/coro/task_tree.h"

namespace drydock::coro::internal {

// The untaken errors of one scope. It has the size of a pointer, and takes nothing from the heap
// before there is an error.
class UntakenErrors {
 public:
  UntakenErrors() = default;
  UntakenErrors(const UntakenErrors&) = delete;
  UntakenErrors& operator=(const UntakenErrors&) = delete;
  // Reports what was not taken.
  ~UntakenErrors() {
    if (errors_ != nullptr) [[unlikely]]
      ReportAll();
  }

  // `task` failed, and was spawned at `spawned`. Only a few texts are kept: later ones, and those
  // that the first error's text has already, are only counted.
  void Add(const TaskPlace& task, const TaskPlace& spawned, const absl::Status& error);

  // The one that came first, with its payloads, the texts of the next few and the number of the
  // rest; OK: there are none. They are taken: an error that comes later is a first one again.
  absl::Status Take();

 private:
  struct Errors {
    TaskPlace task;
    TaskPlace spawned;
    absl::Status first;     // its text has those of others, too
    std::size_t texts = 0;  // of others
    std::size_t more = 0;   // that are only counted
  };

  void ReportAll();

  std::unique_ptr<Errors> errors_;  // null: there are none
};

// Reports that `task` has ended with `error`, and that the coroutine that waited for it is gone.
void ReportUntaken(const TaskRecord& task, const absl::Status& error);

// The error that a task's value is, or OK. CanFail: values of this type can be errors.
inline absl::Status ErrorIn(const absl::Status& value) { return value; }
template <typename T>
absl::Status ErrorIn(const absl::StatusOr<T>& value) {
  return value.status();
}
template <typename T>
concept CanFail = requires(const T& value) {
  ErrorIn(value);
};

// Takes the value of a task that will not be awaited any more, and reports it if it is an error.
// Does nothing for a task that is empty or has not finished.
template <typename T>
void ReportUntakenError(const Task<T>& task) {
  if constexpr (CanFail<T>) {
    if (!task.handle() || !task.handle().done()) return;
    const absl::Status error = ErrorIn(task.handle().promise().TakeValue());
    if (!error.ok()) ReportUntaken(task.handle().promise(), error);
  }
}

// For the frame of a coroutine that waits for tasks of its own: calls `report`, which names them,
// when the frame dies before the coroutine has taken their values.
template <typename Report>
class UnlessTaken {
 public:
  explicit UnlessTaken(const Report& report) : report_(report) {}
  UnlessTaken(const UnlessTaken&) = delete;
  UnlessTaken& operator=(const UnlessTaken&) = delete;
  ~UnlessTaken() {
    if (!taken_) [[unlikely]]
      report_();
  }

  // The values are taken, or there are none: nothing is reported.
  void Taken() { taken_ = true; }

 private:
  const Report& report_;
  bool taken_ = false;
};

}  // namespace drydock::coro::internal

#endif  // DRYDOCK_CORO_UNTAKEN_H_
