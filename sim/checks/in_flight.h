// The requests of one queue whose completions were not read yet, by the slot that the driver gave
// them, and by their contexts.

#ifndef DRYDOCK_SIM_CHECKS_IN_FLIGHT_H_
#define DRYDOCK_SIM_CHECKS_IN_FLIGHT_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/device/posted.h"

namespace drydock::sim {

// Not thread-safe. Allocates only when more requests are in flight than ever before.
class InFlight {
 public:
  struct Entry {
    Posted posted;
    coro::Duration since{};
    bool live = false;
    std::uint16_t next = kNone;  // in its bucket
  };

  // REQUIRES: 0 < depth <= 32768.
  explicit InFlight(std::size_t depth)
      : slot_mask_(static_cast<std::uint16_t>(std::bit_ceil(depth) - 1)),
        buckets_(std::min<std::size_t>(std::bit_ceil(depth), kFirstBuckets), kNone) {}

  // `id`: the driver's request id, whose low bits are the slot. REQUIRES: the slot is free.
  void Add(std::uint16_t id, const Posted& posted, coro::Duration now) {
    const auto slot = static_cast<std::uint16_t>(id & slot_mask_);
    if (slot >= entries_.size()) [[unlikely]] {
      entries_.resize(slot + 1u);
      while (buckets_.size() < entries_.size()) Spread();
    }
    Entry& entry = entries_[slot];
    entry.posted = posted;
    entry.since = now;
    entry.live = true;
    ++count_;
    if (posted.signalled) Link(slot);
  }

  // The request that had this id, which is not in flight any more; null when there was none. Valid
  // until the next Add.
  const Posted* Remove(std::uint16_t id) {
    const auto slot = static_cast<std::uint16_t>(id & slot_mask_);
    if (slot >= entries_.size() || !entries_[slot].live) return nullptr;
    Entry& entry = entries_[slot];
    entry.live = false;
    --count_;
    if (entry.posted.signalled) {
      std::uint16_t* link = &buckets_[BucketOf(entry.posted)];
      while (*link != slot) link = &entries_[*link].next;
      *link = entry.next;
    }
    return &entry.posted;
  }

  // One in flight of the same kind with the same context; null when there is none.
  const Posted* Find(const Posted& like) const {
    for (std::uint16_t slot = buckets_[BucketOf(like)]; slot != kNone; slot = entries_[slot].next) {
      const Posted& posted = entries_[slot].posted;
      if (posted.context == like.context && posted.kind == like.kind) return &posted;
    }
    return nullptr;
  }

  std::size_t count() const { return count_; }

  // Calls visit(slot, entry) for each, by rising slot.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::size_t slot = 0; slot < entries_.size(); ++slot) {
      if (entries_[slot].live) visit(static_cast<std::uint16_t>(slot), entries_[slot]);
    }
  }

  std::uint16_t slot_mask() const { return slot_mask_; }

 private:
  static constexpr std::uint16_t kNone = UINT16_MAX;
  static constexpr std::size_t kFirstBuckets = 64;

  // Contexts count up, or are addresses at equal distances. Of a product with 2^64 over the golden
  // ratio, the high bits tell them apart.
  std::size_t BucketOf(const Posted& posted) const {
    const std::uint64_t number =
        static_cast<std::uint64_t>(posted.context) + static_cast<std::uint64_t>(posted.kind);
    return (number * 0x9e37'79b9'7f4a'7c15u) >> 32 & (buckets_.size() - 1);
  }

  void Link(std::uint16_t slot) {
    std::uint16_t& head = buckets_[BucketOf(entries_[slot].posted)];
    entries_[slot].next = head;
    head = slot;
  }

  // Twice as many buckets: a receive queue has thousands of requests, and each is looked for when
  // it is posted and when it ends.
  void Spread() {
    buckets_.assign(2 * buckets_.size(), kNone);
    for (std::size_t slot = 0; slot < entries_.size(); ++slot) {
      const Entry& entry = entries_[slot];
      if (entry.live && entry.posted.signalled) Link(static_cast<std::uint16_t>(slot));
    }
  }

  std::uint16_t slot_mask_;
  std::vector<std::uint16_t> buckets_;
  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_IN_FLIGHT_H_
