// The NIC as target: handles the packets of its peers.

#ifndef DRYDOCK_SIM_DEVICE_RESPONDER_H_
#define DRYDOCK_SIM_DEVICE_RESPONDER_H_

#include <cstdint>

#include "drydock/coro/time.h"
#include "drydock/sim/device/completion_writer.h"
#include "drydock/sim/device/landing.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/placement.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/device/transmitter.h"
#include "drydock/sim/efa_status.h"

namespace drydock::sim {

// Of one NIC. Not thread-safe. Its constructor's arguments outlive it.
class Responder {
 public:
  Responder(NicState& nic, Surroundings& around, Transmitter& transmitter, Placement& placement,
            CompletionWriter& completions)
      : nic_(nic),
        around_(around),
        transmitter_(transmitter),
        placement_(placement),
        completions_(completions) {}

  // The driver has written the doorbell of a receive queue: `counter` is the running number of
  // posted descriptors.
  void Ring(QueuePair& queue_pair, std::uint32_t counter);

  // --- Events of peers' operations ---
  // A packet is here. `flags`: PacketFlags.
  void OnPacket(Operation& operation, std::uint32_t flags);
  // One that found no receive looks for one again.
  void OnRetry(Operation& operation);
  // Every byte of a write is where it belongs.
  void OnWritten(Operation& operation);
  // A message is in the receive that it has taken; see PlacementListener.
  void OnLanded(QueuePair& target, const Landing& landing, Operation* operation);

  // --- Ends from outside ---
  // The receives of a queue pair that is in error end as flushed.
  void FlushReceives(QueuePair& queue_pair);
  // Peers' work that waits for a receive of the queue pair: it finds out at its next attempt that
  // there is none any more.
  void Abandon(QueuePair& queue_pair);
  // Peers' work is told that the device has restarted (status 8).
  void AbortAll();
  // Peers' work that waits for a receive falls silent: of one peer; of all, for the NIC is dead.
  void Silence(const NicState& peer);
  void Die();

 private:
  EfaStatus CheckTarget(const Operation& operation, const QueuePair* target);
  // `target`: null where no queue pair has both the number and the key.
  void CountWrongKey(const Operation& operation, const QueuePair* target);
  void AcceptDatagram(Operation& operation, QueuePair* target);
  void AcceptMessage(Operation& operation, QueuePair& target);
  void AcceptRead(Operation& operation, QueuePair& target);
  // Whether a fault plan lets the operation fail here.
  bool Refuses(const QueuePair& target, Operation& operation);
  bool RefusesReceive(QueuePair& target, Operation& operation, Landing& landing);
  void Deliver(Operation& operation, QueuePair& target, const ReceiveWork& receive,
               std::uint64_t prefix);
  void Announce(Operation& operation, QueuePair& target);
  DeviceCompletion FromPeer(const Operation& operation, const QueuePair& target) const;

  // --- Receives ---
  void NoReceive(Operation& operation, QueuePair& target);
  void AwaitReceive(const Operation& operation, QueuePair& target);
  bool TakeReceive(QueuePair& target, ReceiveWork& receive);
  void Consume(QueuePair& target, const ReceiveWork& receive);
  void RefuseReceive(QueuePair& target, const ReceiveWork& receive, EfaStatus status);
  // `more`: beside the profile's delay.
  void RetryLater(OperationId operation, coro::Duration more = {});
  // The packet of one that looks for a receive again is here, of so many bytes.
  void OnRetried(Operation& operation, std::uint64_t bytes);
  // Operations that wait for a receive, and for which this is true.
  template <typename Concerned>
  void SilenceWaiting(const Concerned& concerned);

  NicState& nic_;
  Surroundings& around_;
  Transmitter& transmitter_;
  Placement& placement_;
  CompletionWriter& completions_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_RESPONDER_H_
