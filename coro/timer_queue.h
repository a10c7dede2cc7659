// The schedule queue: timers in the order of their deadlines.

#ifndef CORO_TIMER_QUEUE_H_
#define CORO_TIMER_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coro/deadline_wheel.h"
#include "coro/time.h"

namespace coro {

class TimerQueue;

// One timer; lives in whatever waits for it, and leaves the queue when that dies. Not copyable: the
// queue points at it.
class TimerNode {
 public:
  // `fire` is called once, from the loop, at or after the deadline; the node is out of the queue by
  // then.
  using FireFunction = void (*)(TimerNode& node);

  explicit TimerNode(FireFunction fire) : fire_(fire) {}
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;
  ~TimerNode() { Cancel(); }

  bool armed() const { return queue_ != nullptr; }

  // Leaves the queue, if in it; it will not fire.
  void Cancel();

 private:
  friend class TimerQueue;

  FireFunction fire_;
  TimerQueue* queue_ = nullptr;
  WheelNode in_wheel_;
  std::uint64_t sequence_ = 0;
  std::size_t position_ = 0;  // in the heap, or kInWheel
};

// A 4-ary heap that knows where each timer is: arming and cancelling cost O(log n). Timers that are
// hardly ever due wait in a wheel before it, where both take constant time. Either way a timer
// fires exactly when it is due, and timers of equal deadline fire in the order in which they were
// armed. Not thread-safe.
class TimerQueue {
 public:
  TimerQueue() = default;
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;
  ~TimerQueue();

  bool empty() const { return heap_.empty() && in_wheel_ == 0; }

  // The clock was read. What is armed from now on is meant from here.
  void SetPresent(Time now) {
    if (in_wheel_ == 0) wheel_.Restart(now);
  }

  // Deadline of the next timer; kNever when there is none.
  Time NextDeadline();

  // REQUIRES: `node` is not armed. It must stay where it is until it fires or is cancelled.
  void Arm(TimerNode& node, Time deadline);
  // The same for a timer that will most likely be cancelled, such as a time-out.
  void ArmDeadline(TimerNode& node, Time deadline) {
    if (node.queue_ != nullptr) [[unlikely]]
      return Arm(node, deadline);  // which complains
    node.in_wheel_.Set(std::max(deadline, last_fired_), node);
    if (!wheel_.Add(node.in_wheel_)) return Arm(node, deadline);
    node.queue_ = this;
    node.sequence_ = next_sequence_++;
    node.position_ = kInWheel;
    ++in_wheel_;
    earliest_in_wheel_ = std::min(earliest_in_wheel_, node.in_wheel_.deadline());
  }

  // Fires every timer that is due at `now`, in order of deadline; returns how many. Timers armed
  // meanwhile wait for the next call even if they are due, so that a timer that re-arms itself
  // cannot hold the loop.
  std::size_t FireDue(Time now);

 private:
  friend class TimerNode;

  struct Entry {
    Time deadline;
    std::uint64_t sequence;  // breaks ties in favour of the timer that was armed first
    TimerNode* node;

    bool Before(const Entry& other) const {
      return deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence;
    }
  };

  static constexpr std::size_t kInWheel = SIZE_MAX;

  void Cancel(TimerNode& node) {
    if (node.position_ != kInWheel) return Remove(node.position_);
    node.in_wheel_.Unlink();
    node.queue_ = nullptr;
    --in_wheel_;
    if (node.in_wheel_.deadline() == earliest_in_wheel_) earliest_is_known_ = false;
  }
  void Push(TimerNode& node, Time deadline, std::uint64_t sequence);
  void Remove(std::size_t position);
  void SiftUp(std::size_t position, Entry entry);
  void SiftDown(std::size_t position, Entry entry);
  void Place(std::size_t position, Entry entry);

  std::vector<Entry> heap_;
  DeadlineWheel wheel_;
  std::size_t in_wheel_ = 0;
  // No later than the earliest deadline in the wheel, and just that where it is known.
  Time earliest_in_wheel_ = kNever;
  bool earliest_is_known_ = true;
  std::uint64_t next_sequence_ = 0;
  Time last_fired_{};  // `now` of the last FireDue
};

inline void TimerNode::Cancel() {
  if (queue_ != nullptr) queue_->Cancel(*this);
}

}  // namespace coro

#endif  // CORO_TIMER_QUEUE_H_
