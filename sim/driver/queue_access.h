// The rings of an endpoint themselves: a power of simulated endpoints, for code that drives them in
// place of the host driver, as a GPU does, and for tests of how the device treats nonsense.

#ifndef DRYDOCK_SIM_DRIVER_QUEUE_ACCESS_H_
#define DRYDOCK_SIM_DRIVER_QUEUE_ACCESS_H_

#include <cstdint>

#include "drydock/fabric/capability.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/nic.h"
#include "drydock/sim/device/queue_pair.h"

namespace drydock::sim {

// Everything stays valid until the endpoint closes; afterwards power<QueueAccess>() is null,
// and nothing of this may be called. Asking for it tells the checks that the rings are driven from
// outside (Observer::OnRingsTaken). One thread at a time, with the endpoint's own posts. No call
// can fail.
class QueueAccess {
 public:
  static constexpr fabric::PowerId kPower{"QueueAccess"};
  virtual ~QueueAccess() = default;

  // The device of the endpoint, which takes doorbells: nic().RingSend(queue_pair(), ...).
  virtual Nic& nic() = 0;
  // The device's half of the endpoint, with both of its rings.
  virtual QueuePair& queue_pair() = 0;

  // The driver's position in the send ring: shared, so that its posts and others can alternate.
  virtual fabric::efa_queue::Producer& send_producer() = 0;

  // The device's number for a peer; AddressHandles::kUnknown when it is not in the address vector.
  virtual std::uint16_t AddressHandleOf(fabric::Peer peer) = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_QUEUE_ACCESS_H_
