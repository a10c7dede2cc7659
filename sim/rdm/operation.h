// Something under way between us and one peer: a message going out or coming in, a write, a read,
// an atomic. Each kind is a class of its own; the table (operation_table.h) drives them all alike.

#ifndef DRYDOCK_SIM_RDM_OPERATION_H_
#define DRYDOCK_SIM_RDM_OPERATION_H_

#include <cstdint>

#include "drydock/sim/rdm/outcome.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/peer.h"
#include "drydock/sim/rdm/services.h"

namespace drydock::sim::rdm {

// Why an operation could not go on.
enum class Blocked : std::uint8_t {
  kNo,        // not blocked: the next step is the peer's, or the device's
  kByPeer,    // the peer is in back-off, or holds its share of packets
  kByDevice,  // no packet is free, or the device's queue is full: so for all
};

// The life of an operation: Advance, then the packets that arrive, each followed by Advance, until
// Done, then Report, and the end. Nothing of the program's memory is touched after Report.
class Operation {
 public:
  explicit Operation(Peer& peer) : peer_(peer) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  OperationId id() const { return id_; }
  Peer& peer() const { return peer_; }

  // Sends all packets that can be sent now.
  virtual Blocked Advance() = 0;
  // An answer of the peer for this operation; false when it makes no sense here and now.
  virtual bool OnPacket(const Packet& packet) = 0;
  // A packet of this operation will not be sent again.
  virtual void OnPacketSent(const Outcome& outcome) = 0;
  // A device write or read of this operation has ended.
  virtual void OnTransferred(const Outcome& outcome) { static_cast<void>(outcome); }
  // The peer will answer nothing more.
  virtual void OnPeerGone(const Outcome& outcome) { static_cast<void>(outcome); }
  // Some region was closed: maybe ours.
  virtual void OnMemoryRemoved() {}

  // The peer's own operation that waits for this one, and must be told when this is given up;
  // kNoOperation: nothing there waits.
  virtual OperationId ToTell() const { return kNoOperation; }
  // True when a work request of it is under way that touches the program's memory.
  virtual bool TouchesMemory() const { return false; }

  // It has ended, and no work request of it is under way that touches the program's memory.
  virtual bool Done() const = 0;
  // Reports the end to the program or to the peer. Called once, after Done.
  virtual void Report() = 0;

 private:
  friend class OperationTable;

  Peer& peer_;
  OperationId id_ = kNoOperation;
  bool waiting_ = false;  // in the table's list of those that are blocked
};

// An operation that works with the endpoint's parts: all but those of tests.
class ServedOperation : public Operation {
 protected:
  ServedOperation(const Services& services, Peer& peer) : Operation(peer), services_(services) {}

  const Services& services() const { return services_; }

 private:
  const Services& services_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_OPERATION_H_
