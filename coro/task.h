// Task<T>: a coroutine that runs when it is awaited and hands its value to the coroutine that
// awaited it.
//
//   coro::Task<absl::StatusOr<Page>> Fetch(Peer& peer, int number) {
//     CO_RETURN_IF_ERROR(co_await peer.Ask(number));
//     co_return co_await peer.Receive();
//   }
//   ...
//   CO_ASSIGN_OR_RETURN(const Page page, co_await Fetch(peer, 7));
//
// What it is: lazy (nothing runs before the await), move-only, single use. `co_await f()` on a
// temporary is the usual form; a stored task is awaited as `co_await std::move(task)`. Ownership: a
// Task owns its coroutine frame, and with it the parameters and locals; objects to which parameters
// refer, and a lambda with captures that was called, must outlive it. Destroying a Task that is
// suspended destroys the frame and, with it, every task that it awaits; whatever they waited for
// forgets them. Threads: a task lives and dies on the thread of its event loop. Errors: values
// (absl::Status, absl::StatusOr). An exception that leaves a task ends the program with its text.
// Stack: awaiting a task that finishes at once uses no native stack, in every build mode of every
// compiler (a child is started on its parent's stack and returns to it; the parent is suspended
// only if the child is). Memory: the frame comes from a pool (frame_pool.h), which takes no frame
// of up to 2 KiB from the heap in the steady state.
//
// A helper that is always awaited where it is called is better a NowTask (now_task.h), which costs
// two thirds of it (the same with Clang before 17). WhenAll and Scope run several tasks at once;
// EventLoop::Run runs the one that a thread begins with.
//
// GCC 12 destroys some temporaries of a `co_await` expression twice: see docs/coroutine-traps.md
// before writing an awaiter.

#ifndef DRYDOCK_CORO_TASK_H_
#define DRYDOCK_CORO_TASK_H_

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/coro/live_tasks.h"
#include "drydock/coro/promise.h"
#include "drydock/coro/return_value.h"

namespace drydock::coro {

namespace internal {

// How a coroutine's frame begins, in GCC and in Clang (compiler_probe_test.cc keeps an eye on it).
struct FrameHead {
  void (*resume)(void* frame);
  void (*destroy)(void* frame);
};

// Resumed by a task that finishes, in the place of a coroutine that awaits it. It begins as a frame
// does, so that a task ends in the same way whatever waits for it. Lives until the tasks that were
// given its handle have finished, or will not run any more.
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
  FrameHead head_;  // never destroyed by this handle
};
static_assert(std::is_standard_layout_v<TaskObserver>);

// A coroutine that keeps its value, and its frame, until its owner lets it go.
class PromiseBase : public CoroutinePromise<LiveTask> {
 public:
  struct InitialAwaiter {
    PromiseBase* promise;
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      DD_CHECK(static_cast<const PromiseBase*>(&self.promise()) == promise, kBrokenFrame);
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

  InitialAwaiter initial_suspend() noexcept { return {this}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }

  // The coroutine, or the observer, that is resumed as this one ends. By default nothing is. A
  // coroutine is not given before it has really been suspended.
  void set_continuation(std::coroutine_handle<> continuation) { continuation_ = continuation; }

  // The next task of the same JoinLatch or Race, which is the one that was started before it.
  PromiseBase* sibling() const { return sibling_; }
  void set_sibling(PromiseBase* sibling) { sibling_ = sibling; }

 private:
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
  PromiseBase* sibling_;  // set when the latch starts it
};

template <typename T>
class Promise final : public PromiseBase {
 public:
  // The defaults are where the coroutine begins: its place in reports.
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

// The contract is above. T is void or a movable value of at most the alignment of operator new. A
// value that is not taken dies with the task, without a report.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  // Empty, as a task that was moved from: awaiting or starting it stops the program.
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

  // For coroutines of other kinds, which have no task record.
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

  // For a co_await in a coroutine that is no task. REQUIRES: not empty, and never awaited or
  // started before. The task outlives the await.
  ForeignAwaiter operator co_await() && {
    DD_CHECK(handle_ && !handle_.promise().started(), "awaiting an empty or finished task");
    return ForeignAwaiter(handle_);
  }
  // The awaiter of a co_await in a task. REQUIRES: not empty, and never awaited or started before.
  Awaiter AwaitedBy(internal::TaskRecord& parent) const {
    DD_CHECK(handle_ && !handle_.promise().started(), "awaiting an empty or finished task");
    parent.set_awaited_task(&handle_.promise());
    return Awaiter(parent);
  }

  // Null: empty. For code that runs tasks by itself (when_all, scope, event_loop): the task still
  // owns the frame.
  Handle handle() const { return handle_; }
  // Runs it until it first suspends, or ends. Nothing hears of its end but the continuation that
  // its promise has by then. REQUIRES: not empty, and never started before.
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

template <typename T>
Task<T> Promise<T>::get_return_object(const char* file, const char* function, std::uint32_t line) {
  static_assert(kHasOrdinaryAlignment<Promise<T>>,
                "a task's value is aligned as operator new aligns");
  set_origin(file, function, line);
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object(const char* file, const char* function,
                                                   std::uint32_t line) {
  set_origin(file, function, line);
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace internal
}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_TASK_H_
