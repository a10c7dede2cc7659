// The simulator as a backend: the host driver of the simulated NICs.
//
//   sim::World world(/*seed=*/1, profile);
//   auto client = sim::OpenSimFabric(world, world.AddNode("client"));
//   auto server = sim::OpenSimFabric(world, world.AddNode("server"));
//   coro::EventLoop loop(world);  // the world is the clock

#ifndef SIM_DRIVER_SIM_FABRIC_H_
#define SIM_DRIVER_SIM_FABRIC_H_

#include <memory>

#include "fabric/fabric.h"
#include "sim/world/world.h"

namespace sim {

// The fabric of one machine of the world. Both outlive the fabric and everything opened from it.
// All fabrics of one world are used from one thread.
std::unique_ptr<fabric::Fabric> OpenSimFabric(World& world, Node& node);

}  // namespace sim

#endif  // SIM_DRIVER_SIM_FABRIC_H_
