// The machine that one of the simulator's profiles describes, as a topology.

#ifndef SIM_TOPOLOGY_TOPOLOGY_OF_H_
#define SIM_TOPOLOGY_TOPOLOGY_OF_H_

#include "gpu/topology/machine.h"
#include "sim/profile/profile.h"

namespace sim {

// What the profile does not tell, the memory of its NUMA nodes for example, is not told here either.
gpu::topology::Machine TopologyOf(const Profile& profile);

}  // namespace sim

#endif  // SIM_TOPOLOGY_TOPOLOGY_OF_H_
