// Work requests written to an endpoint's rings by hand, past its driver: as a GPU does it, or a
// program that is wrong.

#ifndef DRYDOCK_SIM_TESTING_RAW_WORK_H_
#define DRYDOCK_SIM_TESTING_RAW_WORK_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/sim/driver/queue_access.h"
#include "drydock/sim/testing/lab.h"

namespace drydock::sim_testing {

// A request id that the driver never gives out in a short test: an old generation.
inline constexpr std::uint16_t kRawRequestId = 0xffc0;

// A write from one side to another, as the driver would describe it.
inline fabric::efa_queue::SendWork RawWrite(Side& from, const Side& to, std::size_t offset,
                                            std::uint32_t length) {
  fabric::efa_queue::SendWork work;
  work.request_id = kRawRequestId;
  work.operation = fabric::efa_queue::Operation::kWrite;
  work.segment_count = 1;
  work.segments[0] = {.length = length,
                      .lkey = static_cast<std::uint32_t>(from.region->local_key()),
                      .address = reinterpret_cast<std::uint64_t>(from.memory().data() + offset)};
  const fabric::RemoteBuffer remote = to.Remote(offset);
  work.remote = {
      .length = length, .rkey = static_cast<std::uint32_t>(remote.key), .address = remote.address};
  sim::QueuePair& target = const_cast<Side&>(to).rings().queue_pair();
  work.destination_queue_pair = target.number;
  work.qkey = target.qkey;
  work.address_handle = from.rings().AddressHandleOf(from.PeerOf(to));
  return work;
}

// Writes `work` to the next slot and moves the producer on, without ringing. Returns the slot.
inline void* PlaceRaw(Side& side, const fabric::efa_queue::SendWork& work) {
  sim::QueueAccess& rings = side.rings();
  sim::SendQueue& ring = rings.queue_pair().send;
  fabric::efa_queue::Producer& producer = rings.send_producer();
  void* slot = ring.Slot(producer.slot());
  fabric::efa_queue::EncodeSend(work, ring.format(), producer.phase(), slot);
  producer.Post();
  return slot;
}

inline void RingRaw(Side& side) {
  sim::QueueAccess& rings = side.rings();
  rings.nic().RingSend(rings.queue_pair(), rings.send_producer().Ring());
}

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_TESTING_RAW_WORK_H_
