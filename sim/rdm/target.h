// What peers ask of us: messages, and emulated writes, reads and atomics.

#ifndef SIM_RDM_TARGET_H_
#define SIM_RDM_TARGET_H_

#include <cstddef>
#include <span>

#include "sim/rdm/inbound_message.h"
#include "sim/rdm/operation_table.h"
#include "sim/rdm/packet.h"
#include "sim/rdm/peer.h"
#include "sim/rdm/receive_queue.h"
#include "sim/rdm/services.h"

namespace sim::rdm {

// Not thread-safe. The services and the operations outlive it.
class Target {
 public:
  Target(const Services& services, OperationTable& operations, ReceiveQueue& receives)
      : services_(services), operations_(operations), receives_(receives) {}

  // A request of a peer; `bytes` is the whole packet, kept where its turn has not come.
  void OnRequest(Peer& peer, const Packet& packet, std::span<const std::byte> bytes);

  // A receive of the program: takes what is waiting, or waits. REQUIRES: the queue is not full.
  void PostReceive(const PostedReceive& receive);

  // As fabric::Cancel::CancelReceive.
  fabric::ErrorCode CancelReceive(fabric::Context context);

 private:
  // --- Messages and atomics, in the order of their numbers ---
  void OnOrdered(Peer& peer, const Packet& packet, std::span<const std::byte> bytes);
  void Handle(Peer& peer, const Packet& packet);
  // A further packet of a message that has begun.
  void Continue(Peer& peer, const Packet& packet);
  void OnMessage(Peer& peer, const Packet& packet);
  void OnAtomic(Peer& peer, const Packet& packet);
  void CountProtocol(PacketKind kind);

  // --- At once ---
  void OnWrite(Peer& peer, const Packet& packet);
  void OnRead(Peer& peer, const Packet& packet);

  // The peer's request fails there.
  void Refuse(Peer& peer, const Packet& packet);

  const Services& services_;
  OperationTable& operations_;
  ReceiveQueue& receives_;
};

}  // namespace sim::rdm

#endif  // SIM_RDM_TARGET_H_
