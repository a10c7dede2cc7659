// The tasks that live on this thread: where each was made, and where it waits.
//
// Always on: two links and three constants in each frame. The list tells which tasks there are when
// a program hangs or ends with work left (task_tree.h). A record also has what its task waits for,
// and its place in the ready queue (ready_queue.h) when it can run. A task that is always awaited
// by another one is found through that one and needs no links (now_task.h).

#ifndef DRYDOCK_CORO_LIVE_TASKS_H_
#define DRYDOCK_CORO_LIVE_TASKS_H_

#include <coroutine>
#include <cstdint>

#include "drydock/coro/wait.h"

namespace drydock::coro::internal {

// The record of a task; the first part of every task's promise. Belongs to the thread that made the
// task. It says at any time one of: never started, runs, awaits a task, waits in a Wait, is ready.
// (One that has ended, or awaits something that is not ours, counts as one that runs.)
class TaskRecord {
 public:
  enum class Begins { kWhenAwaited, kAtOnce };

  explicit TaskRecord(Begins begins) : waits_for_(begins == Begins::kAtOnce ? 0 : kNew) {}
  TaskRecord(const TaskRecord&) = delete;
  TaskRecord& operator=(const TaskRecord&) = delete;

  // The coroutine's function and where its body begins.
  const char* file() const { return file_; }
  const char* function() const { return function_; }
  std::uint32_t line() const { return line_; }

  // False: made, and never awaited or started.
  bool started() const { return waits_for_ != kNew; }

  // The co_await at which it is suspended, or was last; 0 before the first.
  std::uint32_t await_line() const { return await_line_; }

  // The task that it awaits; null when it awaits something else, or runs. While it is being
  // destroyed that task may be gone already, unless it is a call.
  TaskRecord* awaited_task() const {
    return (waits_for_ & kTask) != 0 ? reinterpret_cast<TaskRecord*>(waits_for_ & ~kTag) : nullptr;
  }
  // The task that it awaits is in no list of live tasks (now_task.h).
  bool awaits_call() const { return (waits_for_ & kTag) == kCall; }
  // The task that it awaits. REQUIRES: there is one.
  TaskRecord& its_awaited_task() const {
    return *reinterpret_cast<TaskRecord*>(waits_for_ - kTask);
  }
  // The wait that it is suspended in; null when it awaits a task, or can run, or awaits something
  // that is not ours.
  Wait* wait() const { return As<Wait>(kWait); }
  // It is in a ready queue.
  bool ready() const { return (waits_for_ & kReady) != 0; }

  // Suspended in something that is ours, or ready.
  bool waits() const { return waits_for_ != 0 && waits_for_ != kNew; }

  // The handle that resumes it. REQUIRES: it is suspended.
  std::coroutine_handle<> handle() {
    // The place of a promise in its frame depends on nothing but its alignment, which task.h
    // checks.
    return std::coroutine_handle<TaskRecord>::from_promise(*this);
  }

  // Each of these replaces what was set before.
  void set_awaited_task(TaskRecord* task) { Set(task, kTask); }
  void set_awaited_call(TaskRecord* call) { Set(call, kCall); }
  void set_wait(Wait* wait) { Set(wait, kWait); }
  void set_running() { waits_for_ = 0; }
  // It is in a ready queue, at `place`, which becomes nullptr when it leaves.
  void set_ready(TaskRecord** place) { Set(place, kReady); }

  // Asks the wait of the last task in the chain of those that this one awaits. Where the last task
  // is ready, takes it out of the ready queue instead, and asks the tasks for which it had waited
  // (WokenParent). None of the chain runs again before it is destroyed, unless it awaits something
  // that is not ours. REQUIRES: it is suspended.
  void Cancel(Cancellation& cancellation);

 protected:
  ~TaskRecord() = default;

  // Takes it out of the ready queue, if it is in one. Called when it is cancelled, and before it
  // dies where it is suspended.
  void StopWaiting() {
    if (ready()) [[unlikely]]
      LeaveReadyQueue();
  }

  void set_origin(const char* file, const char* function, std::uint32_t line) {
    file_ = file;
    function_ = function;
    line_ = line;
    await_line_ = 0;  // with line_, in one store
  }
  void set_await_line(std::uint32_t line) { await_line_ = line; }

 private:
  // In the lowest bits of waits_for_.
  static constexpr std::uintptr_t kWait = 0;
  static constexpr std::uintptr_t kTask = 1;
  static constexpr std::uintptr_t kReady = 2;
  static constexpr std::uintptr_t kCall = 4 | kTask;
  static constexpr std::uintptr_t kTag = 7;
  // No task.
  static constexpr std::uintptr_t kNew = kTask;

  template <typename T>
  T* As(std::uintptr_t tag) const {
    return (waits_for_ & kTag) == tag ? reinterpret_cast<T*>(waits_for_ & ~kTag) : nullptr;
  }
  template <typename T>
  void Set(T* what, std::uintptr_t tag) {
    waits_for_ = reinterpret_cast<std::uintptr_t>(what) + tag;
  }

  void LeaveReadyQueue() {
    *reinterpret_cast<TaskRecord**>(waits_for_ - kReady) = nullptr;
    waits_for_ = 0;
  }

  std::uintptr_t waits_for_;
  // Set by the code that makes the task.
  const char* file_;
  const char* function_;
  std::uint32_t line_;
  std::uint32_t await_line_;
};

// A wait for tasks whose own task is in the ready queue, or may be: it was woken, and has not run
// yet. If that task is cancelled in between, these have to be asked all the same.
class WokenParent {
 public:
  WokenParent() = default;
  WokenParent(const WokenParent&) = delete;
  WokenParent& operator=(const WokenParent&) = delete;

  // `task` waits here.
  void Enter(TaskRecord& task) {
    task_ = &task;
    next_ = first_;
    if (next_ != nullptr) next_->place_ = &next_;
    place_ = &first_;
    first_ = this;
  }
  // It runs, or dies.
  void Leave() {
    if (task_ == nullptr) return;
    *place_ = next_;
    if (next_ != nullptr) next_->place_ = place_;
    task_ = nullptr;
  }
  // Asks the tasks for which `task`, which is ready, had waited.
  static void CancelTasksOf(TaskRecord& task, Cancellation& cancellation) {
    for (WokenParent* parent = first_; parent != nullptr; parent = parent->next_) {
      if (parent->task_ == &task) parent->CancelTasks(cancellation);
    }
  }

  // Asks the tasks that it waits for.
  virtual void CancelTasks(Cancellation& cancellation) = 0;

 protected:
  ~WokenParent() { Leave(); }

 private:
  static inline thread_local constinit WokenParent* first_ = nullptr;  // of this thread

  TaskRecord* task_ = nullptr;  // null: in no list
  WokenParent* next_ = nullptr;
  WokenParent** place_ = nullptr;  // the pointer to it
};

inline void TaskRecord::Cancel(Cancellation& cancellation) {
  TaskRecord* task = this;
  while (TaskRecord* awaited = task->awaited_task()) task = awaited;
  if (Wait* wait = task->wait()) {
    wait->Cancel(cancellation);
  } else if (task->ready()) {
    WokenParent::CancelTasksOf(*task, cancellation);
  }
  task->StopWaiting();
}

class LiveTask;

// The newest task of the calling thread; null when there is none.
inline thread_local constinit LiveTask* live_tasks = nullptr;

// A task in the thread's list of those that live. Entering and leaving it take constant time.
class LiveTask : public TaskRecord {
 public:
  LiveTask() : TaskRecord(Begins::kWhenAwaited), next_(live_tasks) {
    if (next_ != nullptr) [[likely]]
      next_->newer_ = this;
    live_tasks = this;
  }
  ~LiveTask() {
    StopWaiting();
    if (live_tasks == this) [[likely]] {  // what was made last goes first
      live_tasks = next_;
    } else {
      newer_->next_ = next_;
      if (next_ != nullptr) next_->newer_ = newer_;
    }
  }

  // Of the tasks that live, the one that was made before it; null: it is the oldest.
  const LiveTask* next() const { return next_; }

 private:
  LiveTask* next_;
  LiveTask* newer_;  // whose next_ this is; not set in the newest
};

}  // namespace drydock::coro::internal

#endif  // DRYDOCK_CORO_LIVE_TASKS_H_
