// The parts of a world that all neighbours of a host share.

#ifndef DRYDOCK_SIM_HOSTS_NEIGHBOUR_CONTEXT_H_
#define DRYDOCK_SIM_HOSTS_NEIGHBOUR_CONTEXT_H_

#include <cstdint>

#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/host_counters.h"
#include "drydock/sim/hosts/sockets/far_machines.h"
#include "drydock/sim/machine/node.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

// The objects that it refers to outlive the neighbours. Not thread-safe.
struct NeighbourContext {
  World& world;
  Node& node;  // ours
  Directory& directory;
  FarMachines* const far;  // null: the network is of this computer
  const std::uint64_t fabric;
  const bool cross_memory;
  HostCounters counters{};  // all but thread_turns
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_NEIGHBOUR_CONTEXT_H_
