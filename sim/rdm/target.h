// The target side of the protocol: serves peers' messages, and their emulated writes, reads and
// atomics.

#ifndef DRYDOCK_SIM_RDM_TARGET_H_
#define DRYDOCK_SIM_RDM_TARGET_H_

#include <cstddef>
#include <span>
#include <vector>

#include "drydock/sim/rdm/inbound_message.h"
#include "drydock/sim/rdm/operation_table.h"
#include "drydock/sim/rdm/outcome.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/peer.h"
#include "drydock/sim/rdm/receive_queue.h"
#include "drydock/sim/rdm/services.h"

namespace drydock::sim::rdm {

// Not thread-safe. The services and the operations outlive it.
class Target {
 public:
  Target(const Services& services, OperationTable& operations, ReceiveQueue& receives)
      : services_(services), operations_(operations), receives_(receives) {}

  // A request of a peer; `bytes` is the whole packet, copied where its turn has not come. False,
  // and no effect, when there is no room for it now: it must come again, before the peer's later
  // ones, when ReceiveQueue::changes has.
  [[nodiscard]] bool OnRequest(Peer& peer, const Packet& packet, std::span<const std::byte> bytes);

  // True when messages wait for room that were held until their turn. Resume tries them again.
  bool stuck() const { return !stuck_.empty(); }
  void Resume();

  // A receive of the program: takes a waiting message, or waits. REQUIRES: the queue is not full.
  void PostReceive(const PostedReceive& receive);

  // The device is lost: every receive of the program ends.
  void EndReceives(const Outcome& outcome);

  // As fabric::Cancel::CancelReceive.
  fabric::ErrorCode CancelReceive(fabric::Context context);

 private:
  // --- Messages and atomics, in the order of their numbers ---
  bool OnOrdered(Peer& peer, const Packet& packet, std::span<const std::byte> bytes);
  // Handles held packets that are due, as far as there is room.
  void HandleHeld(Peer& peer, std::vector<HeldPacket> held);
  void HoldEarly(Peer& peer, const Packet& packet, std::span<const std::byte> bytes);
  // True when the message that is due can go into a receive, or wait for one.
  bool HasRoom(const Peer& peer, const Packet& packet) const;
  void Handle(Peer& peer, const Packet& packet);
  // A further packet of a message that has begun.
  void Continue(Peer& peer, const Packet& packet);
  void OnMessage(Peer& peer, const Packet& packet);
  void OnAtomic(Peer& peer, const Packet& packet);
  void CountProtocol(PacketKind kind);

  // --- At once ---
  void OnWrite(Peer& peer, const Packet& packet);
  void OnRead(Peer& peer, const Packet& packet);

  // True when the peer may have one more emulated write or read; otherwise it is refused.
  bool AdmitServed(Peer& peer, const Packet& packet);

  // The peer's request fails there.
  void Refuse(Peer& peer, const Packet& packet);
  void CountUnexpected();

  const Services& services_;
  OperationTable& operations_;
  ReceiveQueue& receives_;
  std::vector<Peer*> stuck_;  // in the order in which they got stuck
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_TARGET_H_
