// The ring of work requests of a queue pair: sends, writes and reads.
//
//   driver: writes entries ──► ring ──► doorbell = running number of entries written
//   device:                    fetched, in order, up to the doorbell

#ifndef DRYDOCK_SIM_DEVICE_SEND_QUEUE_H_
#define DRYDOCK_SIM_DEVICE_SEND_QUEUE_H_

#include <cstddef>
#include <cstdint>

#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/memory/zeroed_array.h"

namespace drydock::sim {

enum class FetchResult { kOk, kMalformed, kUnknownOperation };

// Not thread-safe, but for a device that writes the entries itself (gpu/gda): it rings before they
// are read.
class SendQueue {
 public:
  // REQUIRES: entries is a power of two, at most 32768. `wide`: entries of 128 bytes instead of 64.
  SendQueue(std::uint32_t entries, bool wide, std::uint32_t max_batch)
      : format_{.wide = wide},
        fetcher_(entries, max_batch),
        max_batch_(max_batch),
        memory_(std::size_t{entries} * format_.entry_bytes() / sizeof(std::uint64_t)) {}

  // --- For the driver ---
  std::uint32_t entries() const { return fetcher_.entries(); }
  fabric::efa_queue::SendFormat format() const { return format_; }
  // Work requests that may be written between two doorbells.
  std::uint32_t max_batch() const { return max_batch_; }
  // Device memory: entries() entries of format().entry_bytes().
  void* Slot(std::uint32_t slot) const {
    return memory_.data() + slot * (format_.entry_bytes() / 8);
  }

  // --- For the device ---
  // The driver has written the doorbell. A fault: no number of posted entries explains the value,
  // and nothing happened.
  fabric::efa_queue::DoorbellFault Ring(std::uint32_t doorbell) {
    return fetcher_.Announce(doorbell);
  }
  // Entries ever rung for, modulo 2^32.
  std::uint32_t announced() const { return fetcher_.fetched() + fetcher_.pending(); }
  // Entries that were rung for and not fetched.
  std::uint32_t unfetched() const { return fetcher_.pending(); }
  // Reads the entry that is `ahead` of the next one. REQUIRES: the driver has written it.
  DD_HOT fabric::efa_queue::Malformed Decode(std::uint32_t ahead,
                                             fabric::efa_queue::SendWork& work) const {
    const std::uint32_t counter = fetcher_.fetched() + ahead;
    const unsigned phase = (counter & entries()) != 0 ? 1 : 0;
    return fabric::efa_queue::DecodeSend(Slot(counter & (entries() - 1)), format_, phase, work);
  }
  // Forgets all that was posted; the next entry is in slot 0 again.
  void Clear() { fetcher_ = {fetcher_.entries(), max_batch_}; }
  // Takes the next entry. `operation.request_id` is set in any case; the other fields of the work
  // request when the result is kOk. REQUIRES: unfetched() > 0.
  FetchResult Fetch(Operation& operation);

 private:
  const fabric::efa_queue::SendFormat format_;
  fabric::efa_queue::Fetcher fetcher_;
  const std::uint32_t max_batch_;
  ZeroedArray<std::uint64_t> memory_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_SEND_QUEUE_H_
