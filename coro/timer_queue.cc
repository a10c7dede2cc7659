#include "drydock/coro/timer_queue.h"

#include <algorithm>

namespace drydock::coro {
namespace {

constexpr std::size_t kArity = 4;

}  // namespace

void TimerNode::CancelAtLast() noexcept { Cancel(); }

TimerQueue::~TimerQueue() {
  for (Entry& entry : heap_) entry.node->queue_ = nullptr;
  for (WheelNode* node = soon_; node != nullptr; node = node->next()) {
    static_cast<TimerNode*>(node)->queue_ = nullptr;
  }
  wheel_.ForEach([](WheelNode& node) { static_cast<TimerNode&>(node).queue_ = nullptr; });
}

void TimerQueue::ArmInHeap(TimerNode& node) {
  // A deadline in the past means "now": a timer that keeps re-arming itself there must not overtake
  // those that are due.
  if (node.deadline() < last_fired_) node.set_deadline(last_fired_);
  Push(node);
}

void TimerQueue::Push(TimerNode& node) {
  heap_.emplace_back();
  SiftUp(heap_.size() - 1, Entry{node.deadline(), node.sequence_, &node});
}

void TimerQueue::AddToSoon(TimerNode& node) {
  if (soon_ == nullptr || Before(node, static_cast<TimerNode&>(*soon_))) return node.Insert(soon_);
  WheelNode* before = soon_;
  for (int steps = 0; steps < kMostSteps; ++steps) {
    WheelNode* const next = before->next();
    if (next == nullptr || Before(node, static_cast<TimerNode&>(*next))) {
      return node.InsertBehind(*before);
    }
    before = next;
  }
  Push(node);
}

TimerNode* TimerQueue::First() const {
  auto* const soon = static_cast<TimerNode*>(soon_);
  if (heap_.empty()) return soon;
  TimerNode* const top = heap_.front().node;
  return soon != nullptr && Before(*soon, *top) ? soon : top;
}

Time TimerQueue::NextDeadline() {
  if (!earliest_is_known_) {
    earliest_in_wheel_ = wheel_.Earliest();
    earliest_is_known_ = true;
  }
  const TimerNode* const first = First();
  return first == nullptr ? earliest_in_wheel_ : std::min(earliest_in_wheel_, first->deadline());
}

std::size_t TimerQueue::Fire(Time now) {
  const std::uint64_t armed_before = next_sequence_;
  std::size_t fired = 0;
  if (!wheel_.SetPresent(now)) {
    wheel_.Advance(now, [this](WheelNode& due) { AddToSoon(static_cast<TimerNode&>(due)); });
    earliest_in_wheel_ = wheel_.NoneBefore();
    earliest_is_known_ = false;
  }
  for (;;) {
    TimerNode* const first = First();
    if (first == nullptr || first->deadline() > now || first->sequence_ >= armed_before) {
      return fired;
    }
    Cancel(*first);
    first->fire_(*first);
    ++fired;
  }
}

void TimerQueue::Remove(std::size_t position) {
  heap_[position].node->queue_ = nullptr;
  --armed_;
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

}  // namespace drydock::coro
