// The events of simulated devices and of their drivers, for observers that keep the log, check the
// program, draw a trace, or count.
//
//   driver ─┐
//   device ─┼─► Observers ──► event log, checks, outcome counts, trace, fault plan, ...
//   world  ─┘
//
// An event is told in one place of the device, or in one of each driver: sim/driver, and sim/verbs
// for programs of libibverbs (docs/observer_test.cc). An observer changes nothing: a run has the
// same digest with it as without it.

#ifndef DRYDOCK_SIM_DEVICE_OBSERVER_H_
#define DRYDOCK_SIM_DEVICE_OBSERVER_H_

#include "drydock/sim/device/device_events.h"
#include "drydock/sim/device/driver_events.h"

namespace drydock::sim {

// Told by every device and driver of a world, within the call that it describes. Must not touch
// the world. Not thread-safe.
class Observer : public DeviceEvents, public DriverEvents {
 public:
  virtual ~Observer() = default;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_OBSERVER_H_
