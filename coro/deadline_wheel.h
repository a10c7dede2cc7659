// Timers by the time at which they are due, roughly: arming and cancelling take constant time,
// however many there are.
//
//   level 0   64 buckets of 1 us      |.|.|x|.| ...      what the next 65 us bring
//   level 1   64 buckets of 65 us     |.|x|.|.| ...      4.2 ms
//   level 2   64 buckets of 4.2 ms                       268 ms
//   level 3   64 buckets of 268 ms                       17 s
//   level 4   64 buckets of 17 s                         18 min
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
    Level& at = levels_[level];
    node.Insert(at.buckets[start % kBuckets]);
    at.occupied |= std::uint64_t{1} << start % kBuckets;
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
      at.occupied &= ~(std::uint64_t{1} << first.bucket);
      while (node != nullptr) {
        WheelNode* const next = node->next();
        if (first.level == 0 || !Add(*node)) due(*node);
        node = next;
      }
    }
    if (target > now_) now_ = target;
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
  static constexpr std::size_t kLevels = 5;
  static constexpr std::size_t kBits = 6;
  static constexpr std::size_t kBuckets = 1 << kBits;
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
    std::uint64_t occupied = 0;  // bit n: bucket n may have nodes
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
      while (at.occupied != 0) {
        const auto bucket = static_cast<std::size_t>(std::countr_zero(at.occupied));
        if (at.buckets[bucket] != nullptr) {
          const std::uint64_t above = now_ >> ((level + 1) * kBits) << kBits;
          return {(above | bucket) << (level * kBits), level, bucket};
        }
        at.occupied &= at.occupied - 1;
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
