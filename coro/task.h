// Task<T>: a coroutine that runs when it is awaited and hands its value to whoever awaited it.
//
// What it is: lazy (nothing runs before the await), move-only, single use. `co_await f()` on a
// temporary is the usual form; a stored task is awaited as `co_await std::move(task)`. Ownership: a
// Task owns its coroutine frame. Destroying a Task that is suspended destroys the frame and, with
// it, every task that it awaits; whatever they waited for forgets them. Threads: a task lives and
// dies on the thread of its event loop. Errors: values (absl::Status, absl::StatusOr). An exception
// that leaves a task ends the program with its text. Stack: awaiting a task that finishes at once
// uses no native stack, in every build mode of every compiler (a child is started on its parent's
// stack and returns to it; the parent is suspended only if the child is).
//
// GCC 12 destroys some temporaries of a `co_await` expression twice: see docs/coroutine-traps.md
// before writing an awaiter.

#ifndef CORO_TASK_H_
#define CORO_TASK_H_

#include <coroutine>
#include <optional>
#include <utility>

#include "coro/check.h"
#include "coro/join_latch.h"

namespace coro {

template <typename T>
class Task;

namespace internal {

// Ends the program with the text of the exception in flight.
[[noreturn]] void UnhandledExceptionInTask();

class PromiseBase {
 public:
  // Catches a coroutine that the compiler got wrong, before it runs: GCC 12 lays out the frame so
  // that no handle to it works where a coroutine awaits in the condition of an `if`, `while` or
  // `switch` and has no local variable.
  struct InitialAwaiter {
    const PromiseBase* promise;
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      DD_CHECK(
          static_cast<const PromiseBase*>(&self.promise()) == promise,
          "GCC 12 cannot compile this coroutine: name the result of a co_await before an if or "
          "while tests it (docs/coroutine-traps.md)");
    }
    void await_resume() const noexcept {}
  };
  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      return self.promise().Continuation();
    }
    void await_resume() const noexcept {}
  };

  InitialAwaiter initial_suspend() const noexcept { return {this}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() const { UnhandledExceptionInTask(); }

  // Who to resume at the end. Null until the awaiting coroutine has really been suspended.
  void set_continuation(std::coroutine_handle<> continuation) { continuation_ = continuation; }
  // Or else, where to report the end.
  void set_latch(JoinLatch* latch) { latch_ = latch; }

 private:
  std::coroutine_handle<> Continuation() const noexcept {
    if (latch_ != nullptr) return latch_->Arrive();
    return continuation_ ? continuation_ : std::noop_coroutine();
  }

  std::coroutine_handle<> continuation_;
  JoinLatch* latch_ = nullptr;
};

template <typename T>
class Promise final : public PromiseBase {
 public:
  Task<T> get_return_object();

  template <typename U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T TakeValue() { return *std::move(value_); }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> final : public PromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void TakeValue() const noexcept {}
};

}  // namespace internal

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  // Empty: awaiting it is a bug.
  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    Task old(std::move(*this));
    handle_ = std::exchange(other.handle_, nullptr);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Starts the task on the caller's stack; suspends the caller only if the task did not finish.
  class Awaiter {
   public:
    explicit Awaiter(Handle task) : task_(task) {}
    bool await_ready() const {
      task_.resume();
      return task_.done();
    }
    void await_suspend(std::coroutine_handle<> parent) const {
      task_.promise().set_continuation(parent);
    }
    T await_resume() const { return task_.promise().TakeValue(); }

   private:
    Handle task_;
  };

  // REQUIRES: not empty, and never awaited or started before.
  Awaiter operator co_await() && {
    DD_CHECK(handle_ && !handle_.done(), "awaiting an empty or finished task");
    return Awaiter(handle_);
  }

  // For code that runs tasks by itself (when_all, scope, event_loop).
  Handle handle() const { return handle_; }

 private:
  friend promise_type;
  explicit Task(Handle handle) : handle_(handle) {}

  Handle handle_;
};

namespace internal {

template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace internal
}  // namespace coro

#endif  // CORO_TASK_H_
