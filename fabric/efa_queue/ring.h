// Rings: compute the slot, the phase and the value to write to the doorbell. They are numbers only
// and own no memory of a ring.
//
//   host or GPU                      NIC
//   Producer   -- work ring -->      Fetcher
//   CompletionConsumer <-- completion ring -- CompletionProducer
//
// Counters run on and never go back to 0 at the end of a ring; slot = counter & (entries - 1), and
// the phase is the parity of the lap. They are 32 bits wide here. A doorbell carries the low 16,
// so a work ring has at most 32768 entries: more could not be told from none.
//
// Threads: one at a time for each object; slot() and phase() of several positions `ahead` may be
// asked by many threads that fill slots together while no other member runs.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_RING_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_RING_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/host_device.h"

namespace drydock::fabric::efa_queue {

inline constexpr std::uint32_t kMaxWorkRingEntries = 32768;

// Whether a ring can have so many entries: powers of two only.
DD_HOST_DEVICE constexpr bool IsRingSize(std::uint32_t entries) {
  return entries != 0 && (entries & (entries - 1)) == 0;
}

// How many send entries of `entry_bytes` may be written between two doorbells: `max_tx_batch` is
// the device's figure, in units of 64 bytes, 0 for no limit. A device that reports a minimum depth
// of its send queues (not 0) takes no whole ring at once (ofiwg/libfabric
// prov/efa/src/efa_data_path_direct.c).
DD_HOST_DEVICE constexpr std::uint32_t MaxBatch(std::uint32_t max_tx_batch,
                                                std::uint32_t entry_bytes, std::uint32_t entries,
                                                std::uint32_t min_sq_depth) {
  std::uint32_t batch = max_tx_batch == 0 ? 0xFFFF : max_tx_batch * 64 / entry_bytes;
  if (min_sq_depth != 0 && batch > entries - 1) batch = entries - 1;
  return batch == 0 ? 1 : batch;
}

// The driver's side of a send ring, or of a receive ring (which counts descriptors, and whose phase
// is never written).
class Producer {
 public:
  // REQUIRES: IsRingSize(entries), entries <= kMaxWorkRingEntries; max_batch > 0.
  DD_HOST_DEVICE constexpr Producer(std::uint32_t entries, std::uint32_t max_batch)
      : entries_(entries), max_batch_(max_batch) {}

  DD_HOST_DEVICE constexpr std::uint32_t entries() const { return entries_; }
  DD_HOST_DEVICE constexpr std::uint32_t max_batch() const { return max_batch_; }

  // Where the next entry goes, or the one that is `ahead` of it, and the phase to write there.
  DD_HOST_DEVICE constexpr std::uint32_t slot(std::uint32_t ahead = 0) const {
    return (posted_ + ahead) & (entries_ - 1);
  }
  DD_HOST_DEVICE constexpr unsigned phase(std::uint32_t ahead = 0) const {
    return ((posted_ + ahead) & entries_) != 0 ? 1 : 0;
  }

  // Entries ever posted, modulo 2^32.
  DD_HOST_DEVICE constexpr std::uint32_t posted() const { return posted_; }
  // Entries posted whose completion was not polled. They keep a slot each, whatever the order in
  // which they complete: EFA has no other way to know what the device has fetched.
  DD_HOST_DEVICE constexpr std::uint32_t in_flight() const { return posted_ - completed_; }
  DD_HOST_DEVICE constexpr std::uint32_t free() const { return entries_ - in_flight(); }
  DD_HOST_DEVICE constexpr bool full() const { return in_flight() == entries_; }
  // Entries posted since the last doorbell.
  DD_HOST_DEVICE constexpr std::uint32_t unannounced() const { return posted_ - announced_; }
  // How many entries may be posted now. 0 and not full(): ring the doorbell first.
  DD_HOST_DEVICE constexpr std::uint32_t room() const {
    const std::uint32_t batch = max_batch_ - unannounced();
    return batch < free() ? batch : free();
  }

  // The next `count` slots were filled. REQUIRES: count <= room().
  DD_HOST_DEVICE constexpr void Post(std::uint32_t count = 1) { posted_ += count; }

  // The 32-bit value for the doorbell, to be stored after a fence: everything posted is announced.
  DD_HOST_DEVICE constexpr std::uint32_t Ring() {
    announced_ = posted_;
    return posted_ & 0xFFFF;
  }

  // Completions of `count` entries were polled. REQUIRES: count <= in_flight().
  DD_HOST_DEVICE constexpr void Complete(std::uint32_t count = 1) { completed_ += count; }

 private:
  std::uint32_t entries_;
  std::uint32_t max_batch_;
  std::uint32_t posted_ = 0;
  std::uint32_t announced_ = 0;
  std::uint32_t completed_ = 0;
};

// Why a doorbell is refused.
enum class DoorbellFault : std::uint8_t {
  kNone,
  kNothingNew,  // the value of before: a count was written, perhaps, instead of the counter
  kOverBatch,   // more than max_batch new entries
  kOverRing,    // more entries than the ring has: it was overrun, or the value went back
};

// A few words for people. For values outside the enum: "unknown".
DD_HOST_DEVICE inline const char* DoorbellFaultName(DoorbellFault fault) {
  switch (fault) {
    case DoorbellFault::kNone:
      return "no fault";
    case DoorbellFault::kNothingNew:
      return "doorbell announces nothing new";
    case DoorbellFault::kOverBatch:
      return "doorbell announces more than a batch";
    case DoorbellFault::kOverRing:
      return "doorbell announces more than the ring holds";
  }
  return "unknown";
}

// The device's side of a send or receive ring. Entries past the doorbell are not looked at.
class Fetcher {
 public:
  // REQUIRES: as Producer.
  DD_HOST_DEVICE constexpr Fetcher(std::uint32_t entries, std::uint32_t max_batch)
      : entries_(entries), max_batch_(max_batch) {}

  DD_HOST_DEVICE constexpr std::uint32_t entries() const { return entries_; }

  // Takes a value that was written to the doorbell; its upper 16 bits mean nothing. A fault changes
  // nothing.
  DD_HOST_DEVICE constexpr DoorbellFault Announce(std::uint32_t doorbell) {
    const std::uint32_t added = (doorbell - announced_) & 0xFFFF;
    if (added == 0) return DoorbellFault::kNothingNew;
    if (pending() + added > entries_) return DoorbellFault::kOverRing;
    if (added > max_batch_) return DoorbellFault::kOverBatch;
    announced_ += added;
    return DoorbellFault::kNone;
  }

  // Entries announced and not fetched.
  DD_HOST_DEVICE constexpr std::uint32_t pending() const { return announced_ - fetched_; }
  // Entries ever fetched, modulo 2^32: where the next one is.
  DD_HOST_DEVICE constexpr std::uint32_t fetched() const { return fetched_; }
  DD_HOST_DEVICE constexpr std::uint32_t slot() const { return fetched_ & (entries_ - 1); }
  DD_HOST_DEVICE constexpr unsigned phase() const { return (fetched_ & entries_) != 0 ? 1 : 0; }

  // The next `count` entries were read. Their slots may be overwritten as soon as a completion of
  // any of them, or of a later one, is polled. REQUIRES: count <= pending().
  DD_HOST_DEVICE constexpr void Fetch(std::uint32_t count = 1) { fetched_ += count; }

 private:
  std::uint32_t entries_;
  std::uint32_t max_batch_;
  std::uint32_t announced_ = 0;
  std::uint32_t fetched_ = 0;
};

// The driver's side of a completion ring, whose memory starts as zeros.
class CompletionConsumer {
 public:
  // REQUIRES: IsRingSize(entries).
  DD_HOST_DEVICE constexpr explicit CompletionConsumer(std::uint32_t entries) : entries_(entries) {}

  DD_HOST_DEVICE constexpr std::uint32_t entries() const { return entries_; }

  // Where the next completion will be, or the one that is `ahead` of it, and the phase that says
  // that it is there: 1 in the first lap.
  DD_HOST_DEVICE constexpr std::uint32_t slot(std::uint32_t ahead = 0) const {
    return (consumed_ + ahead) & (entries_ - 1);
  }
  DD_HOST_DEVICE constexpr unsigned phase(std::uint32_t ahead = 0) const {
    return ((consumed_ + ahead) & entries_) == 0 ? 1 : 0;
  }

  // Completions ever consumed, modulo 2^32.
  DD_HOST_DEVICE constexpr std::uint32_t consumed() const { return consumed_; }
  DD_HOST_DEVICE constexpr void Pop(std::uint32_t count = 1) { consumed_ += count; }

  // The value for the doorbell: how far we have read; with `arm`, also that the next completion
  // shall raise an event. Written at the end of a poll, by drivers that take interrupts.
  DD_HOST_DEVICE constexpr std::uint32_t Doorbell(bool arm) const {
    return (consumed_ & 0xFFFF) | (events_ & 3) << 29 | (arm ? std::uint32_t{1} << 31 : 0);
  }

  // An event came: the sequence number of doorbells goes up.
  DD_HOST_DEVICE constexpr void NoteEvent() { ++events_; }

 private:
  std::uint32_t entries_;
  std::uint32_t consumed_ = 0;
  std::uint32_t events_ = 0;
};

// The fields of a completion ring's doorbell.
struct CompletionDoorbell {
  std::uint16_t consumed = 0;  // the consumer's counter, low 16 bits
  std::uint8_t sequence = 0;   // events taken, low 2 bits
  bool arm = false;
};

DD_HOST_DEVICE constexpr CompletionDoorbell ReadCompletionDoorbell(std::uint32_t value) {
  CompletionDoorbell doorbell;
  doorbell.consumed = static_cast<std::uint16_t>(value);
  doorbell.sequence = static_cast<std::uint8_t>((value >> 29) & 3);
  doorbell.arm = (value >> 31) != 0;
  return doorbell;
}

// The device's side of a completion ring. Nothing protects the ring: the consumer's doorbell comes
// late or never, so the device cannot wait for room.
class CompletionProducer {
 public:
  // REQUIRES: IsRingSize(entries).
  DD_HOST_DEVICE constexpr explicit CompletionProducer(std::uint32_t entries) : entries_(entries) {}

  DD_HOST_DEVICE constexpr std::uint32_t entries() const { return entries_; }
  DD_HOST_DEVICE constexpr std::uint32_t slot() const { return produced_ & (entries_ - 1); }
  DD_HOST_DEVICE constexpr unsigned phase() const { return (produced_ & entries_) == 0 ? 1 : 0; }

  // Completions ever written, modulo 2^32.
  DD_HOST_DEVICE constexpr std::uint32_t produced() const { return produced_; }

  // Whether all slots hold completions that a consumer that has read `consumed` of them, modulo
  // 2^32, has yet to read: one more would overwrite the oldest.
  DD_HOST_DEVICE constexpr bool full(std::uint32_t consumed) const {
    return produced_ - consumed >= entries_;
  }

  // The next slot was written.
  DD_HOST_DEVICE constexpr void Push() { ++produced_; }

 private:
  std::uint32_t entries_;
  std::uint32_t produced_ = 0;
};

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_RING_H_
