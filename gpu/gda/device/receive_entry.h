// Entries of a receive completion ring, several at a look: on a GPU each look is a trip over PCIe.

#ifndef DRYDOCK_GPU_GDA_DEVICE_RECEIVE_ENTRY_H_
#define DRYDOCK_GPU_GDA_DEVICE_RECEIVE_ENTRY_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/done_ring.h"
#include "drydock/gpu/gda/queue/queue.h"

namespace drydock::gpu::gda {

// What a port needs of one.
struct ReceiveEntry {
  bool has_immediate = false;
  std::uint8_t status = 0;  // EFA's
  std::uint32_t immediate = 0;
};

struct ReceiveEntries {
  static constexpr std::uint32_t kMost = 8;
  std::uint32_t count = 0;
  bool overrun = false;  // the NIC has come round: entries are lost
  ReceiveEntry entries[kMost];
};

// Those that follow `consumed` entries, up to kMost. The bytes that they report are visible to this
// thread where they lie in the same memory.
DD_HOST_DEVICE inline ReceiveEntries LookAtReceived(const DoneRing& ring, std::uint32_t consumed) {
  using namespace fabric::efa_queue::internal;  // NOLINT(build/namespaces)
  const auto entry = [&ring, consumed](std::uint32_t ahead) {
    return EntryOf(ring, (consumed + ahead) & (ring.entry_count - 1));
  };
  const auto here = [&ring, consumed](std::uint32_t ahead, std::uint64_t word) {
    const bool phase = ((consumed + ahead) & ring.entry_count) == 0;
    return ((word & kCqePhase) != 0) == phase;
  };
  ReceiveEntries found;
  // The last slot of this lap is written after all others of it.
  const std::uint64_t last = LoadAheadWord(entry(ring.entry_count - 1), 0);
  std::uint64_t words[ReceiveEntries::kMost];
  GDA_UNROLL for (std::uint32_t i = 0; i < ReceiveEntries::kMost; ++i) {
    words[i] = LoadAheadWord(entry(i), 0);
  }
  GDA_UNROLL for (std::uint32_t i = 0; i < ReceiveEntries::kMost; ++i) {
    if (i == found.count && here(i, words[i])) ++found.count;
  }
  if (found.count == 0) {
    // It may all have been written since the first look: then this one is here, too.
    found.overrun = ring.entry_count > 1 && here(ring.entry_count - 1, last) &&
                    !here(0, LoadAheadWord(entry(0), 0));
    return found;
  }
  AcquireLoaded();
  GDA_UNROLL for (std::uint32_t i = 0; i < ReceiveEntries::kMost; ++i) {
    if (i >= found.count) continue;
    const std::uint64_t second = LoadAheadWord(entry(i), 1);
    found.entries[i].has_immediate = (words[i] >> (kFlags + 3) & 1) != 0;
    found.entries[i].status = static_cast<std::uint8_t>(words[i] >> kStatus);
    found.entries[i].immediate = static_cast<std::uint32_t>(second >> kImmediate);
  }
  return found;
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_RECEIVE_ENTRY_H_
