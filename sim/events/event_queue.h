// The coming events, in the order in which they will happen.

#ifndef DRYDOCK_SIM_EVENTS_EVENT_QUEUE_H_
#define DRYDOCK_SIM_EVENTS_EVENT_QUEUE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/coro/check.h"
#include "drydock/coro/time.h"
#include "drydock/sim/events/event.h"

namespace drydock::sim {

// A monotone radix queue (Ahuja, Mehlhorn, Orlin, Tarjan 1990): an event waits in the bucket of the
// highest bit in which its time differs from that of the event that was popped last.
//
//   bucket 0      events of exactly that time, in the order in which they were pushed
//   bucket i > 0  events whose time differs from it first in bit i - 1
//
// Times only rise, so an event moves to lower buckets only, at most 64 times and a few in practice;
// a push is constant time. Events of equal time are always in one bucket and are moved in their
// order: the one that was pushed first is popped first.
//
// Not thread-safe. Allocates only when a bucket is fuller than ever before.
class EventQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // The time of the earliest event; the end of time when there is none.
  coro::Time next_time() const { return FromTicks(next_); }

  // REQUIRES: event.time is not before the time of the event that was popped last.
  void Push(const Event& event) {
    const std::uint64_t ticks = ToTicks(event.time);
    if (ticks < last_) [[unlikely]] {
      RefusePast();
    }
    ++size_;
    next_ = std::min(next_, ticks);
    Put(event, ticks);
  }

  // The earliest event; among several of that time, the one that was pushed first.
  // REQUIRES: not empty.
  Event Pop() {
    --size_;
    if (next_in_first_ == buckets_[0].size()) {
      std::vector<Event>& earliest = buckets_[Lowest()];
      if (earliest.size() == 1) return PopOnly(earliest);
      Refill();
    }
    const Event event = buckets_[0][next_in_first_++];
    if (next_in_first_ == buckets_[0].size()) {
      buckets_[0].clear();
      next_in_first_ = 0;
      FindNext();
    }
    return event;
  }

 private:
  static constexpr std::size_t kBuckets = 65;
  static constexpr std::uint64_t kNothing = INT64_MAX;

  static std::uint64_t ToTicks(coro::Time time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
  }
  static coro::Time FromTicks(std::uint64_t ticks) {
    return coro::Time(coro::Duration(static_cast<std::int64_t>(ticks)));
  }
  static void RefusePast() { DD_CHECK(false, "an event is scheduled in the past"); }

  // The lowest bucket above 0 that holds something.
  std::size_t Lowest() const { return static_cast<std::size_t>(std::countr_zero(filled_)) + 1; }

  void Put(const Event& event, std::uint64_t ticks) {
    const auto bucket = static_cast<std::size_t>(std::bit_width(ticks ^ last_));
    if (bucket > 0) {
      const std::uint64_t bit = std::uint64_t{1} << (bucket - 1);
      earliest_[bucket] = (filled_ & bit) != 0 ? std::min(earliest_[bucket], ticks) : ticks;
      filled_ |= bit;
    }
    buckets_[bucket].push_back(event);
  }

  void FindNext() { next_ = filled_ == 0 ? kNothing : earliest_[Lowest()]; }

  // The earliest event is alone in its bucket, as nearly always in a small world: it need not pass
  // through bucket 0, which is empty.
  Event PopOnly(std::vector<Event>& bucket) {
    const Event event = bucket.front();
    bucket.clear();
    filled_ &= filled_ - 1;
    last_ = next_;
    FindNext();
    return event;
  }

  // Moves the earliest events to bucket 0, which is empty, and those near them to lower buckets.
  void Refill() {
    const std::size_t bucket = Lowest();
    last_ = earliest_[bucket];
    filled_ &= filled_ - 1;
    std::vector<Event>& from = buckets_[bucket];
    for (const Event& event : from) Put(event, ToTicks(event.time));
    from.clear();
  }

  std::array<std::vector<Event>, kBuckets> buckets_;
  std::array<std::uint64_t, kBuckets> earliest_{};  // of each bucket that holds something
  std::uint64_t filled_ = 0;                        // bit i: bucket i + 1 holds something
  std::uint64_t last_ = 0;                          // the time of the event that was popped last
  std::size_t next_in_first_ = 0;                   // of bucket 0: those before it were popped
  std::size_t size_ = 0;
  std::uint64_t next_ = kNothing;  // the time of the earliest event
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EVENTS_EVENT_QUEUE_H_
