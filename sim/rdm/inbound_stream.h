// Bytes that come from a peer, in its packets or by our reading its memory: the common part of
// messages, emulated writes and emulated reads.
//
// The bytes may come before it is known where they belong: they are held until Bind. From then on
// each is placed once, within the target and nowhere else, for any packets of the peer.

#ifndef DRYDOCK_SIM_RDM_INBOUND_STREAM_H_
#define DRYDOCK_SIM_RDM_INBOUND_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drydock/fabric/memory.h"
#include "drydock/sim/rdm/operation.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/range_set.h"
#include "drydock/sim/rdm/scatter_list.h"

namespace drydock::sim::rdm {

class InboundStream : public ServedOperation {
 public:
  Blocked Advance() override;
  bool OnPacket(const Packet& packet) override;
  void OnPacketSent(const Outcome& outcome) override;
  void OnTransferred(const Outcome& outcome) override;
  void OnPeerGone(const Outcome& outcome) override;
  OperationId ToTell() const override { return Arrived() ? kNoOperation : peer_operation_; }
  bool TouchesMemory() const override { return reads_in_flight_ > 0; }
  bool Done() const override;

  // Bytes that came with a request. False when some of them had come before.
  bool Deliver(std::uint64_t offset, std::span<const std::byte> bytes);

  std::uint64_t length() const { return length_; }
  bool bound() const { return bound_; }
  // All bytes are here, in place or held.
  bool Arrived() const { return pulled_ || arrived_.total() == length_; }

 protected:
  // `request` began the stream; `segments` is the peer's memory where we are to read it.
  InboundStream(const Services& services, Peer& peer, const PacketHeader& request,
                std::vector<ReadSegment> segments);

  // The bytes belong here, as far as there is room; the rest is dropped. `access` is looked at
  // whenever bytes are placed.
  void Bind(const ScatterList& target, fabric::Access access);

  // `bytes` may come without being asked for again. For a request that clears the peer to send.
  void GrantedByRequest(std::uint64_t bytes) {
    clears_ = true;
    granted_ = bytes;
  }
  // Ends the stream at once: nothing more will come, or is wanted.
  void Break(const Outcome& outcome);

  const Outcome& outcome() const { return outcome_; }
  const ScatterList& target() const { return target_; }
  // We read the peer's memory to the end, so that it must be told.
  bool pulled() const { return pulled_; }
  OperationId peer_operation() const { return peer_operation_; }
  void set_peer_operation(OperationId operation) { peer_operation_ = operation; }

 private:
  void Place(std::uint64_t offset, std::span<const std::byte> bytes);
  bool OnData(const Packet& packet);

  // Clears the peer to send the next bytes.
  void SendGrant(PacketKind kind);

  // --- Reading the peer's memory ---
  // Prepares the target; false when the device has no key left.
  bool PrepareReads();
  Blocked PostReads();
  fabric::ErrorCode PostRead(std::uint64_t offset, std::uint64_t most);
  // The peer must send the bytes that we cannot read.
  void FallBack();

  const std::uint64_t length_;
  OperationId peer_operation_;  // where grants go to
  bool bound_ = false;
  ScatterList target_;
  fabric::Access access_ = fabric::Access::kNone;
  RangeSet arrived_;
  bool clears_;                // the peer sends only bytes that we clear to send
  std::uint64_t granted_ = 0;  // bytes from the start that may come
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> held_;
  // The first thing that went wrong. The stream goes on without placing anything, so that the peer
  // can end, unless it is broken.
  Outcome outcome_;
  bool broken_ = false;

  bool reading_ = false;
  bool pulled_ = false;
  bool read_failed_ = false;
  std::vector<ReadSegment> segments_;
  std::vector<std::shared_ptr<fabric::MemoryRegion>> readable_;  // parts of the target, in order
  std::uint64_t wanted_ = 0;                                     // bytes to read
  std::uint64_t next_read_ = 0;
  std::size_t reads_in_flight_ = 0;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_INBOUND_STREAM_H_
