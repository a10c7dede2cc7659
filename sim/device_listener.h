// What a device does that the event log does not tell, for whoever draws it (sim/tracing): which
// bytes, of which memory. It comes from pointers, which no digest may meet.

#ifndef SIM_DEVICE_LISTENER_H_
#define SIM_DEVICE_LISTENER_H_

#include <cstdint>

#include "sim/completion_ring.h"
#include "sim/operation.h"
#include "sim/queue_pair.h"

namespace sim {

class Nic;

// Told by every NIC of a world. Must not touch the world.
class DeviceListener {
 public:
  virtual ~DeviceListener() = default;

  // Live mode, which logs nothing: a work request was taken; what is told of id {0, 0} is about it.
  virtual void OnFetched(const Operation& operation) = 0;
  // The queue pair has new work, and now so many work requests that were not taken.
  virtual void OnDoorbell(const Nic& nic, const QueuePair& queue_pair, std::uint32_t waiting) = 0;
  // Bytes of the operation have reached memory of `nic`: `piece`, whose key is the local one or, of
  // a peer's write, the remote one.
  virtual void OnPlaced(const Nic& nic, OperationId operation, const Segment& piece) = 0;
  // The oldest receive is used.
  virtual void OnReceiveTaken(const Nic& nic, const QueuePair& queue_pair,
                              const ReceiveWork& receive) = 0;
  // The next entry that is reported is the immediate of this operation of a peer's.
  virtual void OnImmediate(const Operation& operation) = 0;
  // An entry was written; or found no room (`kept`).
  virtual void OnReported(const Nic& nic, const CompletionRing& ring,
                          const DeviceCompletion& completion, bool kept) = 0;
};

}  // namespace sim

#endif  // SIM_DEVICE_LISTENER_H_
