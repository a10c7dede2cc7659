// A task that can only be awaited where it is called: the cheapest way to write a helper that
// awaits.
//
//   NowTask<int> Sum(const std::vector<int>& numbers);   // may refer to its arguments
//
//   const int sum = co_await Sum(Numbers());   // fine: the arguments live as long
//   auto later = Sum(Numbers());               // wrong: it refers to arguments that are gone
//
// For coroutines that keep references to their arguments: a Task of such a function that is stored
// or spawned dangles as soon as the call is over. Use Task for coroutines that are spawned,
// gathered or stored.
//
// It runs when it is called, which is when it is awaited. Its caller need not ask whether it is
// done, nor destroy it: it leaves its value where it is awaited, frees its own frame and resumes
// its caller. That enters its frame half as often as a Task's.
//
//   the caller's frame            the call's memory, gone when it ends
//   [ ... | NowTask: value ] <--- [ awaiting task | frame: promise, parameters, locals ]
//                   ^                       |
//                   +-----------------------+  goes on after that
//
// (With Clang before 17 it is a Task that cannot be moved: it runs when it is awaited, and is no
// cheaper.)
//
// Threads and errors: as Task. Stack: a call that finishes at once uses none. Where a chain of
// calls waited and ends, each resumes its caller from its own end; without optimisation that takes
// stack for each of them, about twice as much as with tasks. In the tree of tasks (task_tree.h) it
// is found below the task that awaits it, once it has waited for the first time.

#ifndef DRYDOCK_CORO_NOW_TASK_H_
#define DRYDOCK_CORO_NOW_TASK_H_

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/coro/frame_pool.h"
#include "drydock/coro/live_tasks.h"
#include "drydock/coro/promise.h"
#include "drydock/coro/return_value.h"
#include "drydock/coro/task.h"

namespace drydock::coro {

#if defined(__clang__) && __clang_major__ < 17

// As Task, but for moving: Clang looks into the frame once more when the coroutine has run, and
// must not find it gone.
template <typename T = void>
class [[nodiscard]] NowTask {
 public:
  using promise_type = internal::Promise<T>;
  using Awaiter = typename Task<T>::Awaiter;

  // Converts the Task that a call of the coroutine makes.
  NowTask(Task<T> task) : task_(std::move(task)) {}  // NOLINT: a conversion, by the language
  NowTask(const NowTask&) = delete;
  NowTask& operator=(const NowTask&) = delete;

  Awaiter AwaitedBy(internal::TaskRecord& parent) && { return task_.AwaitedBy(parent); }

 private:
  Task<T> task_;
};

#else

namespace internal {

// A coroutine that frees its frame at its end, then resumes the coroutine that awaits it.
class NowPromiseBase : public CoroutinePromise<TaskRecord> {
 public:
  std::suspend_never initial_suspend() const noexcept { return {}; }
  std::suspend_never final_suspend() const noexcept { return {}; }

  // The awaiting coroutine is noted in front of the frame, where it is known when promise,
  // parameters and frame are gone.
  static void* operator new(std::size_t bytes) {
    Front* const front = new (FramePool::Allocate(sizeof(Front) + bytes)) Front;
    front->promise = 2 + front;
    return front + 1;
  }
  static void operator delete(void* frame, std::size_t bytes) noexcept(false) {
    Front* const front = static_cast<Front*>(frame) - 1;
    TaskRecord* const awaiting = front->awaiting;
    FramePool::Release(front, sizeof(Front) + bytes);
    if (awaiting == nullptr) return;
    awaiting->set_running();
    awaiting->handle().resume();
  }

  // `task` is suspended until this coroutine has ended.
  void SuspendForIt(TaskRecord& task) {
    front().awaiting = &task;
    task.set_awaited_call(this);
  }
  // Ends it where it is suspended. Nothing is resumed: the coroutine that awaits it is being
  // destroyed.
  void Destroy() {
    if (TaskRecord* const awaiting = std::exchange(front().awaiting, nullptr)) {
      awaiting->set_running();
    }
    StopWaiting();
    handle().destroy();
  }

 protected:
  NowPromiseBase() : CoroutinePromise(Begins::kAtOnce) {
    DD_CHECK(front().promise == this, kBrokenFrame);
  }

 private:
  // As long as what operator new aligns to.
  struct alignas(2 * sizeof(void*)) Front {
    TaskRecord* awaiting = nullptr;
    void* promise;  // where it has to be
  };

  Front& front() { return *(static_cast<Front*>(handle().address()) - 1); }
};

// Where the value goes: the NowTask, which the caller's frame holds.
template <typename T>
class NowPromise final : public NowPromiseBase {
 public:
  NowTask<T> get_return_object(const char* file = __builtin_FILE(),
                               const char* function = __builtin_FUNCTION(),
                               std::uint32_t line = __builtin_LINE()) {
    set_origin(file, function, line);
    return NowTask<T>(*this);
  }
  template <typename U>
  void return_value(U&& value) {
    call_->Finish(std::forward<U>(value));
  }

 private:
  friend class NowTask<T>;
  NowTask<T>* call_;
};

template <>
class NowPromise<void> final : public NowPromiseBase {
 public:
  NowTask<void> get_return_object(const char* file = __builtin_FILE(),
                                  const char* function = __builtin_FUNCTION(),
                                  std::uint32_t line = __builtin_LINE());
  void return_void() const;

 private:
  friend class NowTask<void>;
  NowTask<void>* call_;
};

}  // namespace internal

// A call of a coroutine, and the place of its value. Not movable, and awaited once, as a temporary,
// by a task or another call. Destroyed while the coroutine is suspended, it destroys the coroutine,
// as Task does. T is void, or a movable value of at most the alignment of operator new.
template <typename T = void>
class [[nodiscard]] NowTask {
 public:
  using promise_type = internal::NowPromise<T>;

  NowTask(const NowTask&) = delete;
  NowTask& operator=(const NowTask&) = delete;
  ~NowTask() {
    if (promise_ != nullptr) [[unlikely]]
      promise_->Destroy();
  }

  class Awaiter {
   public:
    explicit Awaiter(NowTask& call) : call_(call) {}
    bool await_ready() const { return call_.promise_ == nullptr; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> self) const {
      call_.promise_->SuspendForIt(self.promise());
    }
    T await_resume() const {
      if (call_.promise_ != nullptr) __builtin_unreachable();
      if constexpr (!std::is_void_v<T>) return call_.value_.Take();
    }

   private:
    NowTask& call_;
  };
  // The awaiter of a co_await in a task.
  Awaiter AwaitedBy(internal::TaskRecord&) && { return Awaiter(*this); }

 private:
  friend promise_type;
  struct Nothing {};
  using Value = std::conditional_t<std::is_void_v<T>, Nothing, internal::ReturnValue<T> >;

  explicit NowTask(promise_type& promise) : promise_(&promise) {
    static_assert(internal::kHasOrdinaryAlignment<promise_type>);
    static_assert(internal::kHasOrdinaryAlignment<Value>,
                  "a task's value is aligned as operator new aligns");
    promise.call_ = this;
  }

  // The coroutine has come to its end, and frees itself.
  template <typename... U>
  void Finish(U&&... value) {
    if constexpr (!std::is_void_v<T>) value_.Set(std::forward<U>(value)...);
    promise_ = nullptr;
  }

  promise_type* promise_;  // null: it has ended
  [[no_unique_address]] Value value_;
};

namespace internal {

inline NowTask<void> NowPromise<void>::get_return_object(const char* file, const char* function,
                                                         std::uint32_t line) {
  set_origin(file, function, line);
  return NowTask<void>(*this);
}
inline void NowPromise<void>::return_void() const { call_->Finish(); }

}  // namespace internal

#endif  // Clang

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_NOW_TASK_H_
