// The loop that runs coroutines. It has three parts:
//
//   selectors       ask a source (a completion queue, epoll) what is ready
//   schedule queue  coroutines that wait for a time                          (timer_queue.h)
//   ready queue     coroutines that can run
//
// One turn of the loop is Select(), which moves whatever became ready to the ready queue, and then
// RunOne(), which resumes what was in the ready queue when it began. A coroutine that makes another
// one ready therefore never starves the selectors, and coroutines that yield alternate.
//
// Ownership: the loop owns none of its clock, selectors, or tasks (Run owns the one it is given).
// Threads: one loop, one thread. Blocking: Run blocks until its task is done; coroutines must not
// block. Destruction: after every selector was removed and every coroutine that waits in it is
// gone.

#ifndef DRYDOCK_CORO_EVENT_LOOP_H_
#define DRYDOCK_CORO_EVENT_LOOP_H_

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/check.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/ready_queue.h"
#include "drydock/coro/report.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/task.h"
#include "drydock/coro/timer_queue.h"
#include "drydock/coro/wait_node.h"

namespace drydock::coro {

// The behaviour of a loop when nothing is ready and its selectors can only be polled.
struct IdlePolicy {
  // Polls without pause for this long after the last event: the lowest latency, at the price of a
  // core.
  Duration busy_poll = std::chrono::milliseconds(2);
  // Then sleeps this long between polls: a program that waits for work uses a few per cent of a
  // core.
  Duration nap = std::chrono::microseconds(100);
};

// Key of the payload of a "stuck" error: what all tasks waited for.
inline constexpr char kTaskTreePayload[] = "drydock.dev/task-tree";

class EventLoop {
 public:
  // `clock` outlives the loop.
  explicit EventLoop(Clock& clock, const IdlePolicy& policy = {});
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  // The loop whose Run, Select or RunOne is on this thread's stack, the innermost. REQUIRES: there
  // is one.
  static EventLoop& Current() {
    DD_CHECK(current_ != nullptr, "no event loop runs on this thread");
    return *current_;
  }

  // Runs `task` to its end and returns its result. A task of absl::Status or absl::StatusOr<U>
  // returns just that; a task of T returns absl::StatusOr<T>; a task of nothing returns
  // absl::Status. kAborted: the task waits for something that can never happen (no timer is armed,
  // and the clock is virtual and knows of no event, or the loop has no selector); the task was
  // destroyed, and the error has what Describe() said before in its payload kTaskTreePayload. A
  // loop with a selector on a real clock waits on, for the world outside may have an event yet.
  // REQUIRES: `task` is not empty; not called from within the loop.
  template <typename T>
  auto Run(Task<T> task);

  // Time of the current turn: read once per turn at most, so that all of a turn's timers agree. A
  // turn in which no task asks, and no timer is armed, does not read the clock.
  Time Now() {
    if (!now_is_read_) ReadClock();
    return now_;
  }
  Clock& clock() { return clock_; }

  // A selector that is removed is asked first which operations it leaves behind
  // (Selector::DescribeOrphans), and they are reported. REQUIRES: for Add, not added before; for
  // Remove, added before. Not from within Selector::Poll.
  void AddSelector(Selector& selector);
  void RemoveSelector(Selector& selector);

  // Makes the task that is suspended in `node` run in the next turn. REQUIRES: there is one, and it
  // was not scheduled.
  void Schedule(WaitNode& node) {
    DD_CHECK(!node.task()->ready(), "a task is scheduled twice");
    ready_.PushBack(*node.task());
  }
  // Makes `task`, which suspends right now in its await_suspend, run in the next turn.
  void Yield(internal::TaskRecord& task) { ready_.PushBack(task); }
  TimerQueue& timers() { return timers_; }

  // What is under way: the tree of the thread's tasks (task_tree.h), and the operations that go on
  // although no task waits for them.
  std::string Describe() const;

  // Takes reports of stalls, of what is under way when the thread's last loop ends, of operations
  // that are left behind, and of errors that were not taken. The default is the thread's reporter
  // (report.h).
  void set_reporter(Reporter reporter) { reporter_ = std::move(reporter); }
  void Report(const std::string& text) const { reporter_(text); }
  // Reports to the loop that runs on this thread; else to the thread's newest one; else to the
  // thread's reporter. For work that may end outside Run, or after its loop.
  static void ReportHere(const std::string& text);

  // Reports every step of a coroutine that takes longer than `budget` on the loop's clock, with the
  // task that took it and the tree of all tasks. Zero, the default: steps are not measured, which
  // takes two more readings of the clock for each.
  void set_stall_budget(Duration budget) { stall_budget_ = budget; }

  // The halves of a turn, for a program with a loop of its own, which turns this one between two
  // calls of Run. First half: polls every selector, then wakes what is due. Returns how many events
  // and timers there were.
  std::size_t Select();

  // Second half: resumes the coroutines that are ready now. False: there are none. REQUIRES: not
  // called by a task of this loop.
  bool RunOne();

 private:
  // Events that one selector may handle in one turn.
  static constexpr std::size_t kPollBudget = 64;

  // Makes a loop the thread's current one for as long as it lives.
  class Entered {
   public:
    explicit Entered(EventLoop& loop) : outer_(std::exchange(current_, &loop)) {}
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
    ~Entered() { current_ = outer_; }

   private:
    EventLoop* const outer_;
  };

  // The two halves of a turn, as RunUntilDone runs them.
  std::size_t SelectNow();
  bool RunReady();  // false: there was nothing to run
  std::size_t PollSelectors();
  // The same for a queue that was touched, and measures each step.
  bool RunMeasured();

  // Turns the loop until `root`, which is suspended at its beginning, is done; false when nothing
  // can ever wake it.
  bool RunUntilDone(std::coroutine_handle<> root);

  absl::Status StuckError() const;

  // Lets time pass while nothing is ready; false when that cannot help.
  bool Idle();

  // Not inline: it runs once a turn, and a caller that asks for the time again need not save
  // registers.
  void ReadClock() noexcept;

  static thread_local constinit inline EventLoop* current_ = nullptr;
  static thread_local constinit inline EventLoop* newest_ = nullptr;

  Clock& clock_;
  const IdlePolicy policy_;
  bool now_is_read_ = true;
  bool was_idle_ = false;
  bool has_selectors_ = false;
  Time now_;
  Time idle_since_;
  internal::ReadyQueue ready_;
  TimerQueue timers_;
  std::vector<Selector*> selectors_;
  Duration stall_budget_{};
  Reporter reporter_ = ReportToThread;
  EventLoop* older_;  // the next one in the list of the thread's loops
};

namespace internal {

// The result type of EventLoop::Run for a task of T.
template <typename T>
struct RunResult {
  using type = absl::StatusOr<T>;
};
template <>
struct RunResult<void> {
  using type = absl::Status;
};
template <>
struct RunResult<absl::Status> {
  using type = absl::Status;
};
template <typename T>
struct RunResult<absl::StatusOr<T>> {
  using type = absl::StatusOr<T>;
};

}  // namespace internal

template <typename T>
auto EventLoop::Run(Task<T> task) {
  using Result = typename internal::RunResult<T>::type;
  task.handle().promise().set_running();
  if (!RunUntilDone(task.handle())) return Result(StuckError());
  if constexpr (std::is_void_v<T>) {
    return Result();
  } else {
    return Result(task.handle().promise().TakeValue());
  }
}

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_EVENT_LOOP_H_
