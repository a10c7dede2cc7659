// The `efa` fabric: the software protocol of libfabric's EFA provider on the device. It adds tags,
// order, messages of any length, atomics, and patience with receivers that are not ready.
//
// It is a backend on top of a backend: it sees nothing of the fabric below but the contract.

#ifndef DRYDOCK_SIM_RDM_RDM_FABRIC_H_
#define DRYDOCK_SIM_RDM_RDM_FABRIC_H_

#include <memory>

#include "drydock/fabric/fabric.h"
#include "drydock/sim/rdm/alarm.h"
#include "drydock/sim/rdm/settings.h"

namespace drydock::sim::rdm {

// Offers every NIC of `device` that can carry messages. The settings are copied.
std::unique_ptr<fabric::Fabric> OpenRdmFabric(std::unique_ptr<fabric::Fabric> device,
                                              std::shared_ptr<Alarm> alarm,
                                              const Settings& settings = {});

// The description of such a NIC, given the NIC below.
fabric::NicInfo RdmNicInfo(const fabric::NicInfo& device, const Settings& settings = {});

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_RDM_FABRIC_H_
