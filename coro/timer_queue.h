// The schedule queue: timers in the order of their deadlines.

#ifndef CORO_TIMER_QUEUE_H_
#define CORO_TIMER_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

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
  std::size_t position_ = 0;
};

// A 4-ary heap that knows where each timer is: arming and cancelling cost O(log n), and timers of
// equal deadline fire in the order in which they were armed. Not thread-safe.
class TimerQueue {
 public:
  TimerQueue() = default;
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;
  ~TimerQueue();

  bool empty() const { return heap_.empty(); }

  // Deadline of the next timer; kNever when there is none.
  Time NextDeadline() const { return heap_.empty() ? kNever : heap_.front().deadline; }

  // REQUIRES: `node` is not armed. It must stay where it is until it fires or is cancelled.
  void Arm(TimerNode& node, Time deadline);

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

  void Remove(std::size_t position);
  void SiftUp(std::size_t position, Entry entry);
  void SiftDown(std::size_t position, Entry entry);
  void Place(std::size_t position, Entry entry);

  std::vector<Entry> heap_;
  std::uint64_t next_sequence_ = 0;
  Time last_fired_{};  // `now` of the last FireDue
};

inline void TimerNode::Cancel() {
  if (queue_ != nullptr) queue_->Remove(position_);
}

}  // namespace coro

#endif  // CORO_TIMER_QUEUE_H_
