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
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "coro/check.h"
#include "coro/frame_pool.h"
#include "coro/live_tasks.h"
#include "coro/return_value.h"

namespace coro {

template <typename T>
class Task;
template <typename T>
class NowTask;

namespace internal {

// Ends the program with the text of the exception in flight.
[[noreturn]] void UnhandledExceptionInTask();

// How a coroutine's frame begins, in GCC and in Clang (compiler_probe_test.cc keeps an eye on it).
struct FrameHead {
  void (*resume)(void* frame);
  void (*destroy)(void* frame);
};

// Resumed by a task that finishes, where that is not just the coroutine that awaits it. It begins
// as a frame does, so that a task ends in the same way whoever waits for it.
class TaskObserver {
 public:
  std::coroutine_handle<> handle() { return std::coroutine_handle<>::from_address(&head_); }

 protected:
  // `resume` is given this object's address.
  explicit TaskObserver(void (*resume)(void* observer)) : head_{resume, nullptr} {}
  TaskObserver(const TaskObserver&) = delete;
  TaskObserver& operator=(const TaskObserver&) = delete;
  ~TaskObserver() = default;

 private:
  FrameHead head_;  // nobody destroys it by this handle
};
static_assert(std::is_standard_layout_v<TaskObserver>);

// An awaiter that lives elsewhere in the co_await expression. (GCC 12 copies what await_transform
// returns by reference.)
template <typename Awaiter>
struct AwaiterRef {
  Awaiter& awaiter;

  bool await_ready() const { return awaiter.await_ready(); }
  template <typename Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) const {
    return awaiter.await_suspend(self);
  }
  decltype(auto) await_resume() const { return awaiter.await_resume(); }
};

class PromiseBase : public TaskRecord {
 public:
  // Catches a coroutine that the compiler got wrong, before it runs: GCC 12 lays out the frame so
  // that no handle to it works where a coroutine awaits in the condition of an `if`, `while` or
  // `switch` and has no local variable.
  struct InitialAwaiter {
    PromiseBase* promise;
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
      return self.promise().continuation_;
    }
    void await_resume() const noexcept {}
  };

  static void* operator new(std::size_t bytes) { return FramePool::Allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    FramePool::Release(frame, bytes);
  }

  InitialAwaiter initial_suspend() noexcept { return {this}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() const { UnhandledExceptionInTask(); }

  // Every co_await of the coroutine comes through here: notes where it is.
  template <typename T>
  typename Task<T>::Awaiter await_transform(Task<T>&& task,
                                            std::uint32_t line = __builtin_LINE()) noexcept {
    set_await_line(line);
    return std::move(task).AwaitedBy(*this);
  }
  template <typename T>
  typename Task<T>::Awaiter await_transform(NowTask<T>&& task,
                                            std::uint32_t line = __builtin_LINE()) noexcept {
    set_await_line(line);
    return std::move(task).AwaitedBy(*this);
  }
  template <typename Awaitable>
  auto await_transform(Awaitable&& awaitable, std::uint32_t line = __builtin_LINE()) noexcept {
    set_await_line(line);
    using Plain = std::remove_cvref_t<Awaitable>;
    if constexpr (std::is_empty_v<Plain> && std::is_trivially_copyable_v<Plain> &&
                  requires { awaitable.await_ready(); }) {
      return Plain(awaitable);  // nothing to refer to
    } else if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); }) {
      return std::forward<Awaitable>(awaitable).operator co_await();
    } else {
      return AwaiterRef<std::remove_reference_t<Awaitable>>{awaitable};
    }
  }

  // Whom to resume at the end. Not set until the awaiting coroutine has really been suspended.
  void set_continuation(std::coroutine_handle<> continuation) { continuation_ = continuation; }

  // The next task of the same JoinLatch.
  PromiseBase* sibling() const { return sibling_; }
  void set_sibling(PromiseBase* sibling) { sibling_ = sibling; }

 private:
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
  PromiseBase* sibling_;  // set when the latch starts it
};

template <typename T>
class Promise final : public PromiseBase {
 public:
  Task<T> get_return_object(const char* file = __builtin_FILE(),
                            const char* function = __builtin_FUNCTION(),
                            std::uint32_t line = __builtin_LINE());

  template <typename U>
  void return_value(U&& value) {
    value_.Set(std::forward<U>(value));
  }
  // REQUIRES: the task has finished; once.
  T TakeValue() { return value_.Take(); }

 private:
  ReturnValue<T> value_;
};

template <>
class Promise<void> final : public PromiseBase {
 public:
  Task<void> get_return_object(const char* file = __builtin_FILE(),
                               const char* function = __builtin_FUNCTION(),
                               std::uint32_t line = __builtin_LINE());
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
    if (handle_) [[likely]]
      handle_.destroy();
  }

  // Starts the task on the caller's stack; suspends the caller only if the task did not finish.
  // The task is what the parent's record says that it awaits: a second pointer to it would cost
  // each await a store.
  class Awaiter {
   public:
    explicit Awaiter(internal::TaskRecord& parent) : parent_(parent) {}
    bool await_ready() const {
      promise_type& task = promise();
      task.set_running();
      const Handle handle = Handle::from_promise(task);
      handle.resume();
      return handle.done();
    }
    void await_suspend(std::coroutine_handle<> parent) const { promise().set_continuation(parent); }
    T await_resume() const {
      promise_type& task = promise();
      parent_.set_running();
      return task.TakeValue();
    }

   private:
    promise_type& promise() const { return static_cast<promise_type&>(parent_.its_awaited_task()); }

    internal::TaskRecord& parent_;
  };

  // For coroutines of other kinds, which nobody keeps a record of.
  class ForeignAwaiter {
   public:
    explicit ForeignAwaiter(Handle task) : task_(task) {}
    bool await_ready() const {
      task_.promise().set_running();
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

  // REQUIRES: as below.
  ForeignAwaiter operator co_await() && {
    DD_CHECK(handle_ && !handle_.promise().started(), "awaiting an empty or finished task");
    return ForeignAwaiter(handle_);
  }
  // What co_await in a task makes of it. REQUIRES: not empty, and never awaited or started before.
  Awaiter AwaitedBy(internal::TaskRecord& parent) const {
    DD_CHECK(handle_ && !handle_.promise().started(), "awaiting an empty or finished task");
    parent.set_awaited_task(&handle_.promise());
    return Awaiter(parent);
  }

  // For code that runs tasks by itself (when_all, scope, event_loop).
  Handle handle() const { return handle_; }
  // Runs it until it first suspends, or ends. REQUIRES: not empty, and never started before.
  void Start() const {
    DD_CHECK(handle_ && !handle_.promise().started(), "starting an empty task");
    handle_.promise().set_running();
    handle_.resume();
  }

 private:
  friend promise_type;
  explicit Task(Handle handle) : handle_(handle) {}

  Handle handle_;
};

namespace internal {

// Nothing else moves a promise within its frame: TaskRecord::handle() counts on it.
template <typename T>
inline constexpr bool kHasOrdinaryAlignment = alignof(Promise<T>) <= 2 * sizeof(void*);

template <typename T>
Task<T> Promise<T>::get_return_object(const char* file, const char* function, std::uint32_t line) {
  static_assert(kHasOrdinaryAlignment<T>, "a task's value is aligned as operator new aligns");
  set_origin(file, function, line);
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object(const char* file, const char* function,
                                                   std::uint32_t line) {
  set_origin(file, function, line);
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace internal
}  // namespace coro

#endif  // CORO_TASK_H_
