// The schedule queue: timers in the order of their deadlines. A coroutine sleeps with sleep.h; this
// is for an awaiter that wakes at a time.
//
//   class Waiter : public WaitNode, private TimerNode {
//     Waiter() : TimerNode(&Waiter::Expire) {}
//     static void Expire(TimerNode& timer) {
//       EventLoop::Current().Schedule(static_cast<Waiter&>(timer));
//     }
//     ...
//   };
//   EventLoop::Current().timers().Arm(*this, deadline);  // in its await_suspend

#ifndef DRYDOCK_CORO_TIMER_QUEUE_H_
#define DRYDOCK_CORO_TIMER_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/coro/check.h"
#include "drydock/coro/deadline_wheel.h"
#include "drydock/coro/time.h"

namespace drydock::coro {

class TimerQueue;

// One timer, a member or base of the object that waits for it. Its destructor takes it out of the
// queue. Not copyable: the queue points at it.
class TimerNode : private WheelNode {
 public:
  // `fire` is called once, from the loop, at or after the deadline; the node is out of the queue by
  // then and may be armed again, or destroyed. It must not block.
  using FireFunction = void (*)(TimerNode& node);

  explicit TimerNode(FireFunction fire) : fire_(fire) {}
  // For callers that give the function to Arm.
  TimerNode() {}
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;
  ~TimerNode() {
    if (armed()) [[unlikely]]
      CancelAtLast();
  }

  // In a queue: since it was armed it has neither fired nor been cancelled.
  bool armed() const { return queue_ != nullptr; }

  // Leaves the queue, if in it; it will not fire.
  void Cancel();

 private:
  friend class TimerQueue;

  // Not inline: the destructor rarely finds the timer armed.
  void CancelAtLast() noexcept;

  FireFunction fire_;
  TimerQueue* queue_ = nullptr;
  // While it is armed:
  std::uint64_t sequence_;
  std::size_t position_;  // in the heap, or kInWheel
};

// Timers fire exactly when they are due, and those of equal deadline in the order in which they
// were armed.
//
//   wheel   by microseconds; arming and cancelling take constant time
//     │ its microsecond has come
//     ▼
//   soon    a sorted list of a few
//     │ too many for a list
//     ▼
//   heap    knows where each timer is; also for what is due at once, or further away than the wheel
//           reaches
//
// Only the heap allocates memory, as it grows; it never shrinks. Timers that are armed when the
// queue dies are let go and never fire. Not thread-safe.
class TimerQueue {
 public:
  TimerQueue() = default;
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;
  ~TimerQueue();

  bool empty() const { return armed_ == 0; }

  // The clock was read: the present of the wheel, if that is empty, becomes `now`.
  void SetPresent(Time now) {
    if (wheel_is_empty()) wheel_.Restart(now);
  }

  // Deadline of the next timer; kNever when there is none. Takes constant time, unless since the
  // last call a bucket of the wheel began or its earliest timer was cancelled: then time in
  // proportion to the timers of one bucket.
  Time NextDeadline();

  // `node` fires in the first FireDue that begins afterwards with a time of `deadline` or later,
  // also when that has passed already. REQUIRES: `node` is not armed. It must stay where it is
  // until it fires or is cancelled.
  void Arm(TimerNode& node, Time deadline, TimerNode::FireFunction fire) {
    node.fire_ = fire;
    Arm(node, deadline);
  }
  // The same for a node that was made with its function.
  void Arm(TimerNode& node, Time deadline) {
    DD_CHECK(node.queue_ == nullptr, "timer is armed already");
    node.queue_ = this;
    node.sequence_ = next_sequence_++;
    ++armed_;
    node.set_deadline(deadline);
    if (!wheel_.Add(node)) return ArmInHeap(node);
    node.position_ = kInWheel;
    if (deadline < earliest_in_wheel_) earliest_in_wheel_ = deadline;
  }

  // Fires every timer that is due at `now`, in order of deadline; returns how many. Timers armed
  // meanwhile wait for the next call even if they are due, so that a timer that re-arms itself
  // cannot hold the loop.
  std::size_t FireDue(Time now) {
    if (last_fired_ < now) last_fired_ = now;
    if (soon_ == nullptr && heap_.empty() && now < earliest_in_wheel_) return 0;
    return Fire(now);
  }

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

  static constexpr std::size_t kInWheel = SIZE_MAX;  // or in soon_
  // How far an insertion goes along soon_.
  static constexpr int kMostSteps = 8;

  void Cancel(TimerNode& node) {
    if (node.position_ != kInWheel) return Remove(node.position_);
    node.Remove();
    node.queue_ = nullptr;
    --armed_;
    if (node.deadline() == earliest_in_wheel_) earliest_is_known_ = false;
  }
  bool wheel_is_empty() const { return armed_ == heap_.size(); }
  static bool Before(const TimerNode& a, const TimerNode& b) {
    return a.deadline() != b.deadline() ? a.deadline() < b.deadline() : a.sequence_ < b.sequence_;
  }
  std::size_t Fire(Time now);
  void ArmInHeap(TimerNode& node);
  // Into the list `soon_`, or the heap.
  void AddToSoon(TimerNode& node);
  // The timer that fires next of those that the wheel does not have; null when there is none.
  TimerNode* First() const;
  void Push(TimerNode& node);
  void Remove(std::size_t position);
  void SiftUp(std::size_t position, Entry entry);
  void SiftDown(std::size_t position, Entry entry);
  void Place(std::size_t position, Entry entry);

  std::vector<Entry> heap_;
  DeadlineWheel wheel_;
  WheelNode* soon_ = nullptr;
  std::size_t armed_ = 0;
  // No later than the earliest deadline in the wheel, and just that where it is known.
  Time earliest_in_wheel_ = kNever;
  bool earliest_is_known_ = true;
  std::uint64_t next_sequence_ = 0;
  Time last_fired_{};  // `now` of the last FireDue
};

inline void TimerNode::Cancel() {
  if (queue_ != nullptr) queue_->Cancel(*this);
}

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_TIMER_QUEUE_H_
