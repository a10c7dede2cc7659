// Timers by the time at which they are due, roughly: arming and cancelling take constant time,
// however many there are.
//
//   level 0   256 buckets of 1 us      |.|.|x|.| ...      what the next 262 us bring
//   level 1   256 buckets of 262 us    |.|x|.|.| ...      67 ms
//   level 2   256 buckets of 67 ms                        17 s
//   level 3   256 buckets of 17 s                         73 min
//
// A bucket whose time begins is emptied into the levels below it, and from level 0 into the
// schedule queue, which fires its timers exactly when they are due (timer_queue.h).

#ifndef CORO_DEADLINE_WHEEL_H_
#define CORO_DEADLINE_WHEEL_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "coro/time.h"

namespace coro {

// What the wheel holds, in a bucket, which is a list. Whoever owns it removes it before it dies.
class WheelNode {
 public:
  Time deadline() const { return deadline_; }
  void set_deadline(Time deadline) { deadline_ = deadline; }

  // The next one in its list; null at its end. REQUIRES: in a list.
  WheelNode* next() const { return next_; }
  // Enters a list: at its beginning, where `place` is what points there, or behind a node.
  // REQUIRES: in no list.
  void Insert(WheelNode*& place) {
    WheelNode* const next = place;
    next_ = next;
    link_ = &place;
    if (next != nullptr) next->link_ = &next_;
    place = this;
  }
  void InsertBehind(WheelNode& node) { Insert(node.next_); }
  // Leaves its list. REQUIRES: in one.
  void Remove() {
    *link_ = next_;
    if (next_ != nullptr) next_->link_ = link_;
  }

 private:
  Time deadline_;
  WheelNode* next_;
  WheelNode** link_;  // what points at this one
};

// Not thread-safe. Owns none of its nodes.
class DeadlineWheel {
 public:
  // False, and nothing has happened: the deadline is in the bucket of the present, or further than
  // the wheel reaches. REQUIRES: not in a wheel.
  bool Add(WheelNode& node) {
    const std::uint64_t tick = TickOf(node.deadline());
    if (tick <= now_) return false;
    const std::size_t level = kLevelOf[63 - std::countl_zero(tick ^ now_)];
    if (level >= kLevels) return false;
    const std::uint64_t start = tick >> (level * kBits);
    const std::size_t bucket = start % kBuckets;
    Level& at = levels_[level];
    node.Insert(at.buckets[bucket]);
    at.occupied[bucket / kWord] |= std::uint64_t{1} << bucket % kWord;
    if (const std::uint64_t first = start << (level * kBits); first < next_) next_ = first;
    return true;
  }

  // Begins anew at `now`. REQUIRES: there are no nodes.
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

  // Brings the present to `now` and gives every node whose bucket has begun to `due`, in any order
  // and in no list.
  template <typename Due>
  void Advance(Time now, const Due& due) {
    const std::uint64_t target = TickOf(now);
    for (;;) {
      const First first = FindFirst();
      next_ = first.tick;
      if (first.tick > target) break;
      now_ = first.tick;
      Level& at = levels_[first.level];
      WheelNode* node = at.buckets[first.bucket];
      at.buckets[first.bucket] = nullptr;
      at.occupied[first.bucket / kWord] &= ~(std::uint64_t{1} << first.bucket % kWord);
      while (node != nullptr) {
        WheelNode* const next = node->next();
        if (first.level == 0 || !Add(*node)) due(*node);
        node = next;
      }
    }
    if (target > now_) now_ = target;
  }

  // A time before which no deadline in the wheel is.
  Time NoneBefore() const {
    return next_ == kNone ? kNever : Time(Duration(static_cast<std::int64_t>(next_ << kTickBits)));
  }

  // Calls `each` for every node.
  template <typename Each>
  void ForEach(const Each& each) {
    for (Level& level : levels_) {
      for (WheelNode* bucket : level.buckets) {
        for (; bucket != nullptr; bucket = bucket->next()) each(*bucket);
      }
    }
  }

  // The earliest deadline in the wheel; kNever when it is empty. Takes time in proportion to the
  // number of nodes in one bucket.
  Time Earliest() {
    const First first = FindFirst();
    next_ = first.tick;
    Time earliest = kNever;
    if (first.tick == kNone) return earliest;
    const WheelNode* node = levels_[first.level].buckets[first.bucket];
    for (; node != nullptr; node = node->next()) {
      if (node->deadline() < earliest) earliest = node->deadline();
    }
    return earliest;
  }

 private:
  static constexpr std::size_t kLevels = 4;
  static constexpr std::size_t kBits = 8;
  static constexpr std::size_t kBuckets = 1 << kBits;
  static constexpr std::size_t kWord = 64;
  static constexpr int kTickBits = 10;  // of nanoseconds
  static constexpr std::uint64_t kNone = UINT64_MAX;

  // By the number of the highest bit in which a tick differs from the present.
  static constexpr std::array<std::uint8_t, 64> kLevelOf = [] {
    std::array<std::uint8_t, 64> levels{};
    for (std::size_t bit = 0; bit < 64; ++bit) {
      levels[bit] = static_cast<std::uint8_t>(bit / kBits);
    }
    return levels;
  }();

  // Every node of level n has the same digits (of kBits) above the n-th as the present, and a
  // greater n-th one.
  struct Level {
    std::array<std::uint64_t, kBuckets / kWord> occupied{};  // bit n: bucket n may have nodes
    std::array<WheelNode*, kBuckets> buckets{};
  };
  struct First {
    std::uint64_t tick = kNone;  // when it begins
    std::size_t level = 0;
    std::size_t bucket = 0;
  };

  static std::uint64_t TickOf(Time time) {
    const auto nanoseconds = time.time_since_epoch().count();
    return nanoseconds <= 0 ? 0 : static_cast<std::uint64_t>(nanoseconds) >> kTickBits;
  }

  // The bucket with nodes that begins first. Forgets those that are empty because their nodes left.
  First FindFirst() {
    for (std::size_t level = 0; level < kLevels; ++level) {
      Level& at = levels_[level];
      for (std::size_t word = 0; word < at.occupied.size(); ++word) {
        std::uint64_t& occupied = at.occupied[word];
        for (; occupied != 0; occupied &= occupied - 1) {
          const auto bucket = word * kWord + static_cast<std::size_t>(std::countr_zero(occupied));
          if (at.buckets[bucket] == nullptr) continue;
          const std::uint64_t above = now_ >> ((level + 1) * kBits) << kBits;
          return {(above | bucket) << (level * kBits), level, bucket};
        }
      }
    }
    return {};
  }

  std::uint64_t now_ = 0;
  std::uint64_t next_ = kNone;  // no bucket with nodes begins earlier
  std::array<Level, kLevels> levels_;
};

}  // namespace coro

#endif  // CORO_DEADLINE_WHEEL_H_
