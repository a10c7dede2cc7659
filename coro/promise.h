// The base of the promises of all our coroutines: where their frames come from, what they can
// await, and the line at which each of them waits.
//
//   CoroutinePromise<LiveTask>    keeps value and frame for its owner  PromiseBase (task.h)
//   CoroutinePromise<TaskRecord>  frees its frame at its end           NowPromiseBase (now_task.h)
//
// Read docs/coroutine-traps.md before changing it: GCC 12 miscompiles some forms of co_await.

#ifndef DRYDOCK_CORO_PROMISE_H_
#define DRYDOCK_CORO_PROMISE_H_

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/coro/frame_pool.h"
#include "drydock/coro/live_tasks.h"

namespace drydock::coro {

template <typename T>
class Task;
template <typename T>
class NowTask;

namespace internal {

// Ends the program with the text of the exception in flight, on standard error. REQUIRES: called
// while an exception is handled.
[[noreturn]] void UnhandledExceptionInTask() noexcept;

// An awaiter that lives elsewhere in the co_await expression. (GCC 12 copies what await_transform
// returns by reference.)
template <typename Awaiter>
class AwaiterRef {
 public:
  explicit AwaiterRef(Awaiter& awaiter) : awaiter_(awaiter) {}

  bool await_ready() const { return awaiter_.await_ready(); }
  template <typename Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) const {
    return awaiter_.await_suspend(self);
  }
  decltype(auto) await_resume() const { return awaiter_.await_resume(); }

 private:
  Awaiter& awaiter_;
};

// An awaiter without a destructor that is told when its coroutine is destroyed while it waits:
// Abandon() is called then, once, in place of await_resume(), and makes everything that would wake
// the awaiter forget it. This is cheaper than a destructor, which would set the pointer to its
// class's virtual functions, and test whether the wait is over where only the compiler does not
// know that it is.
template <typename Awaiter>
concept AbandonedAwaiter = std::is_trivially_destructible_v<Awaiter> && requires(Awaiter& awaiter) {
  awaiter.Abandon();
};
template <AbandonedAwaiter Awaiter>
class AwaiterRef<Awaiter> {
 public:
  explicit AwaiterRef(Awaiter& awaiter) : awaiter_(awaiter) {}
  AwaiterRef(const AwaiterRef&) = delete;
  AwaiterRef& operator=(const AwaiterRef&) = delete;
  ~AwaiterRef() {
    if (waits_) awaiter_.Abandon();
  }

  bool await_ready() const { return awaiter_.await_ready(); }
  template <typename Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) const {
    return awaiter_.await_suspend(self);
  }
  decltype(auto) await_resume() {
    waits_ = false;
    return awaiter_.await_resume();
  }

 private:
  Awaiter& awaiter_;
  bool waits_ = true;
};

// The promise of a coroutine: a task's record, in a frame from the pool. It can await tasks, calls
// (now_task.h), objects with a member operator co_await, and awaiters; an operator co_await that is
// no member is not found. An exception that leaves the coroutine ends the program.
template <typename Record>
class CoroutinePromise : public Record {
 public:
  using Record::Record;

  static void* operator new(std::size_t bytes) { return FramePool::Allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    FramePool::Release(frame, bytes);
  }

  void unhandled_exception() const { UnhandledExceptionInTask(); }

  // Every co_await of the coroutine comes through here, and notes its line (task_tree.h). An
  // awaiter is referred to where it is in the co_await expression, and not copied, unless it is
  // empty.
  template <typename T>
  typename Task<T>::Awaiter await_transform(Task<T>&& task,
                                            std::uint32_t line = __builtin_LINE()) noexcept {
    this->set_await_line(line);
    return std::move(task).AwaitedBy(*this);
  }
  template <typename T>
  typename NowTask<T>::Awaiter await_transform(NowTask<T>&& call,
                                               std::uint32_t line = __builtin_LINE()) noexcept {
    this->set_await_line(line);
    return std::move(call).AwaitedBy(*this);
  }
  template <typename Awaitable>
  auto await_transform(Awaitable&& awaitable, std::uint32_t line = __builtin_LINE()) noexcept {
    this->set_await_line(line);
    using Plain = std::remove_cvref_t<Awaitable>;
    if constexpr (std::is_empty_v<Plain> && std::is_trivially_copyable_v<Plain> &&
                  requires { awaitable.await_ready(); }) {
      return Plain(awaitable);  // nothing to refer to
    } else if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); }) {
      return std::forward<Awaitable>(awaitable).operator co_await();
    } else {
      return AwaiterRef<std::remove_reference_t<Awaitable>>(awaitable);
    }
  }
};

// Why a coroutine cannot run whose promise is not where it has to be. GCC 12 lays out the frame so
// that no handle to it works where a coroutine awaits in the condition of an `if`, `while` or
// `switch` and has no local variable.
inline constexpr char kBrokenFrame[] =
    "GCC 12 cannot compile this coroutine: name the result of a co_await before an if or while "
    "tests it (docs/coroutine-traps.md)";

// Whether the frame has the promise at its usual place, on which TaskRecord::handle() relies.
// Nothing moves it but a greater alignment of the promise, as of a value in it, and GCC's error
// above.
template <typename Promise>
inline constexpr bool kHasOrdinaryAlignment = alignof(Promise) <= 2 * sizeof(void*);

}  // namespace internal
}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_PROMISE_H_
