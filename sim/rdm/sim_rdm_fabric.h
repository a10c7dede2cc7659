// The `efa` fabric on a machine of the simulated world.
//
//   sim::World world(/*seed=*/1, profile);
//   auto fabric = sim::rdm::OpenSimRdmFabric(world, world.AddNode("a"));

#ifndef DRYDOCK_SIM_RDM_SIM_RDM_FABRIC_H_
#define DRYDOCK_SIM_RDM_SIM_RDM_FABRIC_H_

#include <memory>

#include "drydock/fabric/fabric.h"
#include "drydock/sim/rdm/alarm.h"
#include "drydock/sim/rdm/settings.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::rdm {

// Opens sim::OpenSimDevice(world, node) below. World and node outlive the fabric and
// everything opened from it.
std::unique_ptr<fabric::Fabric> OpenSimRdmFabric(World& world, Node& node,
                                                 const Settings& settings = {});

// The world's time, for a fabric that is opened over something else.
std::shared_ptr<Alarm> AlarmOf(World& world);

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_SIM_RDM_FABRIC_H_
