// Two writes that a receiver has to tell apart have different immediates.

#ifndef DRYDOCK_SIM_CHECKS_IMMEDIATE_NAMESPACE_H_
#define DRYDOCK_SIM_CHECKS_IMMEDIATE_NAMESPACE_H_

#include "drydock/sim/checks/in_flight.h"
#include "drydock/sim/device/posted.h"

namespace drydock::sim {

// Off unless a program asks for it: one that counts immediates gives all writes of a transfer the
// same one, and is right. Nothing in the requests tells it from a program whose sequence numbers
// have wrapped.
class ImmediateNamespace {
 public:
  // Whether `posted`, a write with an immediate, has the immediate of another one in flight to the
  // same peer and a different place.
  static bool IsTaken(const Posted& posted, const InFlight& others);
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_IMMEDIATE_NAMESPACE_H_
