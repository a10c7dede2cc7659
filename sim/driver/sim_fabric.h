// The simulator as a backend: the host driver of the simulated NICs.
//
//   sim::World world(/*seed=*/1, profile);
//   auto client = sim::OpenSimFabric(world, world.AddNode("client"));
//   auto server = sim::OpenSimFabric(world, world.AddNode("server"));
//   coro::EventLoop loop(world);  // the world is the clock

#ifndef DRYDOCK_SIM_DRIVER_SIM_FABRIC_H_
#define DRYDOCK_SIM_DRIVER_SIM_FABRIC_H_

#include <memory>

#include "drydock/fabric/fabric.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

// The fabric efa-direct of one machine of the world: its NICs offer remote memory access where they
// both read and write, none elsewhere. Both outlive the fabric and everything opened from it. All
// fabrics of one world are used from one thread.
std::unique_ptr<fabric::Fabric> OpenSimFabric(World& world, Node& node);

// The same NICs with all that they have: those of a p4d read, and do not write. The fabric `efa` is
// built on it (ofiwg/libfabric prov/efa/src/rdm/efa_rdm_ep.h asks for either by itself); programs
// open OpenSimFabric.
std::unique_ptr<fabric::Fabric> OpenSimDevice(World& world, Node& node);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_SIM_FABRIC_H_
