#include "coro/timer_queue.h"

#include <algorithm>

#include "coro/check.h"

namespace coro {
namespace {

constexpr std::size_t kArity = 4;

}  // namespace

TimerQueue::~TimerQueue() {
  for (Entry& entry : heap_) entry.node->queue_ = nullptr;
  wheel_.ForEach([](const WheelNode& node) { node.timer().queue_ = nullptr; });
}

void TimerQueue::Arm(TimerNode& node, Time deadline) {
  DD_CHECK(!node.armed(), "timer is armed already");
  node.queue_ = this;
  // A deadline in the past means "now": a timer that keeps re-arming itself there must not overtake
  // those that are due.
  Push(node, std::max(deadline, last_fired_), next_sequence_++);
}

void TimerQueue::Push(TimerNode& node, Time deadline, std::uint64_t sequence) {
  heap_.emplace_back();
  SiftUp(heap_.size() - 1, Entry{deadline, sequence, &node});
}

Time TimerQueue::NextDeadline() {
  if (in_wheel_ == 0) {
    earliest_in_wheel_ = kNever;
    earliest_is_known_ = true;
  } else if (!earliest_is_known_) {
    earliest_in_wheel_ = wheel_.Earliest();
    earliest_is_known_ = true;
  }
  return heap_.empty() ? earliest_in_wheel_ : std::min(earliest_in_wheel_, heap_.front().deadline);
}

std::size_t TimerQueue::FireDue(Time now) {
  const std::uint64_t armed_before = next_sequence_;
  std::size_t fired = 0;
  last_fired_ = std::max(last_fired_, now);
  if (!wheel_.SetPresent(now)) {
    wheel_.Advance(now, [this](const WheelNode& due) {
      --in_wheel_;
      Push(due.timer(), due.deadline(), due.timer().sequence_);
    });
    earliest_is_known_ = false;
  }
  while (!heap_.empty() && heap_.front().deadline <= now && heap_.front().sequence < armed_before) {
    TimerNode& node = *heap_.front().node;
    Remove(0);
    node.fire_(node);
    ++fired;
  }
  return fired;
}

void TimerQueue::Remove(std::size_t position) {
  heap_[position].node->queue_ = nullptr;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (position == heap_.size()) return;
  if (position > 0 && last.Before(heap_[(position - 1) / kArity])) {
    SiftUp(position, last);
  } else {
    SiftDown(position, last);
  }
}

void TimerQueue::SiftUp(std::size_t position, Entry entry) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / kArity;
    if (!entry.Before(heap_[parent])) break;
    Place(position, heap_[parent]);
    position = parent;
  }
  Place(position, entry);
}

void TimerQueue::SiftDown(std::size_t position, Entry entry) {
  for (;;) {
    const std::size_t first_child = position * kArity + 1;
    if (first_child >= heap_.size()) break;
    const std::size_t end = std::min(first_child + kArity, heap_.size());
    std::size_t smallest = first_child;
    for (std::size_t child = first_child + 1; child < end; ++child) {
      if (heap_[child].Before(heap_[smallest])) smallest = child;
    }
    if (!heap_[smallest].Before(entry)) break;
    Place(position, heap_[smallest]);
    position = smallest;
  }
  Place(position, entry);
}

void TimerQueue::Place(std::size_t position, Entry entry) {
  heap_[position] = entry;
  entry.node->position_ = position;
}

}  // namespace coro
