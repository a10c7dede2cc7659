// A timer wheel: keeps timers in buckets by deadline, so that arming and cancelling take constant
// time, however many timers there are. A part of the schedule queue: a program arms timers in
// timer_queue.h, and sleeps with sleep.h.
//
//   level 0   256 buckets of 1 us      |.|.|x|.| ...      reaches 262 us
//   level 1   256 buckets of 262 us    |.|x|.|.| ...      67 ms
//   level 2   256 buckets of 67 ms                        17 s
//   level 3   256 buckets of 17 s                         73 min
//
// A bucket whose time begins is emptied into the levels below it, and from level 0 into the
// schedule queue, which fires its timers exactly when they are due.

#ifndef DRYDOCK_CORO_DEADLINE_WHEEL_H_
#define DRYDOCK_CORO_DEADLINE_WHEEL_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "drydock/coro/time.h"

namespace drydock::coro {

// An element of the wheel, in the list of one bucket. It has no destructor: its owner removes it
// from its list before it dies.
class WheelNode {
 public:
  Time deadline() const { return Time(deadline_); }
  void set_deadline(Time deadline) { deadline_ = deadline.time_since_epoch(); }

  // The next one in its list; null at its end. REQUIRES: in a list.
  WheelNode* next() const { return next_; }
  // Inserts the node where `place` points: `place` is the list's pointer to its first node, or a
  // node's pointer to the next one. REQUIRES: in no list.
  void Insert(WheelNode*& place) {
    WheelNode* const next = place;
    next_ = next;
    link_ = &place;
    if (next != nullptr) next->link_ = &next_;
    place = this;
  }
  // As Insert, after `node`. REQUIRES: `node` is in a list, this one in none.
  void InsertBehind(WheelNode& node) { Insert(node.next_); }
  // Leaves its list. REQUIRES: in one.
  void Remove() {
    *link_ = next_;
    if (next_ != nullptr) next_->link_ = link_;
  }

 private:
  Duration deadline_;  // a Time would be set to zero first
  WheelNode* next_;
  WheelNode** link_;  // the pointer to this one: the list's to its first, or the next_ before it
};

// The present of the wheel is the tick (1.024 us) that Restart, SetPresent or Advance set last. The
// times that it is given must not decrease, but for Restart's. Not thread-safe. Owns none of its
// nodes, and allocates nothing.
class DeadlineWheel {
 public:
  // Puts `node` into the bucket of its deadline, in constant time. False, and nothing has happened:
  // the deadline is in the bucket of the present or before it, or it is not in the same 73 minutes
  // (counted from the clock's zero) as the present. REQUIRES: `node` is in no list, and its
  // deadline is set.
  bool Add(WheelNode& node) {
    // (A negative deadline would count as beyond the wheel.)
    const std::uint64_t tick =
        static_cast<std::uint64_t>(node.deadline().time_since_epoch().count()) >> kTickBits;
    if (tick <= now_) return false;
    const int highest = 63 - std::countl_zero(tick ^ now_);  // bit in which they differ
    if (highest >= kLevels * kBits) return false;
    const int shift = highest / kBits * kBits;  // of the level
    const std::uint64_t start = tick >> shift;
    const std::size_t bucket =
        static_cast<std::size_t>(shift) / kBits * kBuckets + start % kBuckets;
    WheelNode*& first = buckets_[bucket];
    if (first == nullptr) {  // else both are known already
      occupied_[bucket / kWord] |= std::uint64_t{1} << bucket % kWord;
      if (const std::uint64_t begin = start << shift; begin < next_) next_ = begin;
    }
    node.Insert(first);
    return true;
  }

  // Sets the present to `now`. REQUIRES: the wheel is empty.
  void Restart(Time now) {
    now_ = TickOf(now);
    next_ = kNone;
  }

  // Brings the present to `now`; false, and nothing has happened, when a bucket's time has begun by
  // then: call Advance.
  bool SetPresent(Time now) {
    const std::uint64_t tick = TickOf(now);
    if (tick >= next_) return false;
    now_ = tick;
    return true;
  }

  // Brings the present to `now` and gives every node whose tick has begun to `due`, in any order
  // and in no list. The deadline of such a node is before the end of the tick of `now`, and may be
  // after `now`. `due` may insert its node into another list, and must not change the wheel. Takes
  // time in proportion to the buckets that have begun, their nodes, and the buckets that all nodes
  // have left.
  template <typename Due>
  void Advance(Time now, const Due& due) {
    const std::uint64_t target = TickOf(now);
    for (;;) {
      const First first = FindFirst();
      next_ = first.tick;
      if (first.tick > target) break;
      now_ = first.tick;
      WheelNode* node = buckets_[first.bucket];
      buckets_[first.bucket] = nullptr;
      occupied_[first.bucket / kWord] &= ~(std::uint64_t{1} << first.bucket % kWord);
      while (node != nullptr) {
        WheelNode* const next = node->next();
        if (first.bucket < kBuckets || !Add(*node)) due(*node);
        node = next;
      }
    }
    if (target > now_) now_ = target;
  }

  // No deadline in the wheel is earlier than this; kNever only where it is empty. Constant time.
  Time NoneBefore() const {
    return next_ == kNone ? kNever : Time(Duration(static_cast<std::int64_t>(next_ << kTickBits)));
  }

  // Calls `each` for every node.
  template <typename Each>
  void ForEach(const Each& each) {
    for (WheelNode* bucket : buckets_) {
      for (; bucket != nullptr; bucket = bucket->next()) each(*bucket);
    }
  }

  // The earliest deadline in the wheel; kNever when it is empty. Takes time in proportion to the
  // number of nodes in one bucket.
  Time Earliest() {
    const First first = FindFirst();
    next_ = first.tick;
    Time earliest = kNever;
    if (first.tick == kNone) return earliest;
    const WheelNode* node = buckets_[first.bucket];
    for (; node != nullptr; node = node->next()) {
      if (node->deadline() < earliest) earliest = node->deadline();
    }
    return earliest;
  }

 private:
  static constexpr int kLevels = 4;
  static constexpr int kBits = 8;
  static constexpr std::size_t kBuckets = 1 << kBits;  // of a level
  static constexpr std::size_t kWord = 64;
  static constexpr int kTickBits = 10;  // of nanoseconds
  static constexpr std::uint64_t kNone = UINT64_MAX;

  struct First {
    std::uint64_t tick = kNone;  // when it begins
    std::size_t bucket = 0;      // its place in buckets_
  };

  static std::uint64_t TickOf(Time time) {
    const auto nanoseconds = time.time_since_epoch().count();
    return nanoseconds <= 0 ? 0 : static_cast<std::uint64_t>(nanoseconds) >> kTickBits;
  }

  // The bucket with nodes that begins first. Forgets those that are empty because their nodes left.
  First FindFirst() {
    for (std::size_t word = 0; word < occupied_.size(); ++word) {
      std::uint64_t& occupied = occupied_[word];
      for (; occupied != 0; occupied &= occupied - 1) {
        const auto bucket = word * kWord + static_cast<std::size_t>(std::countr_zero(occupied));
        if (buckets_[bucket] == nullptr) continue;
        const int shift = static_cast<int>(bucket / kBuckets) * kBits;
        const std::uint64_t above = now_ >> (shift + kBits) << kBits;
        return {(above | bucket % kBuckets) << shift, bucket};
      }
    }
    return {};
  }

  std::uint64_t now_ = 0;
  std::uint64_t next_ = kNone;  // no bucket with nodes begins earlier
  // Level by level. Every node of level n has the same digits (of kBits) above the n-th as the
  // present, and a greater n-th one.
  std::array<WheelNode*, kLevels * kBuckets> buckets_{};
  std::array<std::uint64_t, kLevels * kBuckets / kWord> occupied_{};  // bit n: n may have nodes
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_DEADLINE_WHEEL_H_
