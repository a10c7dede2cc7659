// The ring of receives of a queue pair: one descriptor a segment, in host memory.

#ifndef DRYDOCK_SIM_DEVICE_RECEIVE_QUEUE_H_
#define DRYDOCK_SIM_DEVICE_RECEIVE_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/memory/zeroed_array.h"

namespace drydock::sim {

// A posted receive, as the device finds it in its ring.
struct ReceiveWork {
  std::uint16_t request_id = 0;
  std::uint8_t segment_count = 0;
  bool malformed = false;  // consumed, and reported as failed
  std::array<Segment, fabric::efa_queue::kMaxReceiveSegments> segments{};
  std::uint64_t length = 0;  // bytes of all segments
  std::uint32_t descriptors = 0;

  std::span<const Segment> memory() const { return {segments.data(), segment_count}; }
};

// Not thread-safe.
class ReceiveQueue {
 public:
  // REQUIRES: descriptors is a power of two, at most 32768.
  ReceiveQueue(std::uint32_t descriptors, std::uint32_t max_segments)
      : fetcher_(descriptors, descriptors), max_segments_(max_segments), memory_(descriptors) {}

  // --- For the driver ---
  std::uint32_t descriptors() const { return fetcher_.entries(); }
  void* memory() { return memory_.data(); }

  // --- For the device ---
  // As SendQueue::Ring.
  fabric::efa_queue::DoorbellFault Ring(std::uint32_t doorbell) {
    return fetcher_.Announce(doorbell);
  }
  // Descriptors that were rung for and not consumed.
  std::uint32_t posted() const { return fetcher_.pending(); }
  // The oldest receive that was posted and not consumed; false when there is none.
  bool Peek(ReceiveWork& receive) const { return Look(fetcher_, receive); }
  // How many receives that are: one has a descriptor for each of its segments.
  std::size_t receives() const;
  // REQUIRES: Peek gave it.
  void Consume(const ReceiveWork& receive) { fetcher_.Fetch(receive.descriptors); }
  // As SendQueue::Clear.
  void Clear() { fetcher_ = {fetcher_.entries(), fetcher_.entries()}; }

 private:
  // The receive at the position of `fetcher`, as Peek.
  bool Look(const fabric::efa_queue::Fetcher& fetcher, ReceiveWork& receive) const;

  fabric::efa_queue::Fetcher fetcher_;
  const std::uint32_t max_segments_;
  ZeroedArray<fabric::efa_queue::ReceiveDescriptor> memory_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_RECEIVE_QUEUE_H_
