// Which faults of the catalogue (docs/faults.md) the simulated NIC applies from within.

#ifndef DRYDOCK_SIM_FAULTS_DEVICE_FAULTS_H_
#define DRYDOCK_SIM_FAULTS_DEVICE_FAULTS_H_

#include "drydock/fabric/faults/fault.h"

namespace drydock::sim {

// The device faults to give to fabric::faults::FaultEngine::Create as Appliers::device, where a
// World gets the engine. Of the catalogue's device faults it lacks the one that is no NIC's doing
// (late_device_visibility: the stand-in GPU has that delay of its own, always); of those that both
// layers could apply it has the ones for which the device is nearer to the truth.
fabric::faults::FaultSet DeviceFaults();

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_FAULTS_DEVICE_FAULTS_H_
