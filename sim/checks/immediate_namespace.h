// Two writes that a receiver has to tell apart have different immediates.

#ifndef SIM_CHECKS_IMMEDIATE_NAMESPACE_H_
#define SIM_CHECKS_IMMEDIATE_NAMESPACE_H_

#include "sim/checks/in_flight.h"
#include "sim/checks/posted.h"

namespace sim {

// Off unless a world asks for it: a program that counts immediates gives all writes of a transfer
// the same one, and is right. Nothing in the requests tells it from a program whose sequence
// numbers have wrapped.
class ImmediateNamespace {
 public:
  void set_on(bool on) { on_ = on; }
  bool on() const { return on_; }

  // Whether `posted`, a write with an immediate, has the immediate of another one in flight to the
  // same peer and a different place.
  static bool IsTaken(const Posted& posted, const InFlight& others);

 private:
  bool on_ = false;
};

}  // namespace sim

#endif  // SIM_CHECKS_IMMEDIATE_NAMESPACE_H_
