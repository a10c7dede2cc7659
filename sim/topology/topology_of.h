// The machine that one of the simulator's profiles describes, as a topology.

#ifndef DRYDOCK_SIM_TOPOLOGY_TOPOLOGY_OF_H_
#define DRYDOCK_SIM_TOPOLOGY_TOPOLOGY_OF_H_

#include "drydock/gpu/topology/machine.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// Facts that the profile lacks, the memory of its NUMA nodes for example, are not in it.
gpu::topology::Machine TopologyOf(const Profile& profile);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_TOPOLOGY_TOPOLOGY_OF_H_
