// The loop that runs coroutines. Three parts, as a reader can hold them in the head:
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

#ifndef CORO_EVENT_LOOP_H_
#define CORO_EVENT_LOOP_H_

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coro/clock.h"
#include "coro/intrusive_list.h"
#include "coro/selector.h"
#include "coro/task.h"
#include "coro/timer_queue.h"

namespace coro {

// A suspended coroutine in some queue. Lives in the awaiter, hence in the coroutine's own frame.
class WaitNode : public ListNode {
 public:
  std::coroutine_handle<> handle;
};

// What a loop does when nothing is ready and its selectors can only be polled.
struct IdlePolicy {
  // Polls without pause for this long after the last event: the lowest latency, at the price of a
  // core.
  Duration busy_poll = std::chrono::milliseconds(2);
  // Then sleeps this long between polls: a program that waits for work uses a few per cent of a
  // core.
  Duration nap = std::chrono::microseconds(100);
};

class EventLoop {
 public:
  // `clock` outlives the loop.
  explicit EventLoop(Clock& clock, const IdlePolicy& policy = {})
      : clock_(clock), policy_(policy), now_(clock.Now()), last_event_(now_) {}
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  // The loop whose Run is on this thread's stack. REQUIRES: there is one.
  static EventLoop& Current();

  // Runs `task` to its end and returns its result. A task of absl::Status or absl::StatusOr<U>
  // returns just that; a task of T returns absl::StatusOr<T>; a task of nothing returns
  // absl::Status. kAborted: the task waits for something that can never happen (no timer is armed,
  // no selector has anything to wait for, and time passes by no other means); the task was
  // destroyed. REQUIRES: `task` is not empty; not called from within the loop.
  template <typename T>
  auto Run(Task<T> task);

  // Time of the current turn: read once per turn, so that all of a turn's timers agree.
  Time Now() const { return now_; }
  Clock& clock() { return clock_; }

  // REQUIRES: for Add, not added before; for Remove, added before. Not from within Selector::Poll.
  void AddSelector(Selector& selector);
  void RemoveSelector(Selector& selector);

  // Makes a coroutine run in the next turn. REQUIRES: `node` is in no queue and its handle is set.
  void Schedule(WaitNode& node) { ready_.PushBack(node); }
  TimerQueue& timers() { return timers_; }

  // First half of a turn: polls every selector, then wakes what is due. Returns how many events and
  // timers there were.
  std::size_t Select();

  // Second half: resumes the coroutines that are ready now. Returns how many.
  std::size_t RunOne();

 private:
  // Events that one selector may handle in one turn.
  static constexpr std::size_t kPollBudget = 64;

  // Turns the loop until `root` is done; false when nothing can ever wake it.
  bool RunUntilDone(std::coroutine_handle<> root);

  // Lets time pass while nothing is ready; false when that cannot help.
  bool Idle();

  Clock& clock_;
  const IdlePolicy policy_;
  Time now_;
  Time last_event_;  // when something last happened
  IntrusiveList<WaitNode> ready_;
  TimerQueue timers_;
  std::vector<Selector*> selectors_;
};

namespace internal {

// What EventLoop::Run returns for a task of T.
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

absl::Status StuckError();

}  // namespace internal

template <typename T>
auto EventLoop::Run(Task<T> task) {
  using Result = typename internal::RunResult<T>::type;
  if (!RunUntilDone(task.handle())) return Result(internal::StuckError());
  if constexpr (std::is_void_v<T>) {
    return Result();
  } else {
    return Result(task.handle().promise().TakeValue());
  }
}

}  // namespace coro

#endif  // CORO_EVENT_LOOP_H_
