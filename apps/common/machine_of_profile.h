// The machine that one of the simulator's profiles describes, as a topology.

#ifndef APPS_COMMON_MACHINE_OF_PROFILE_H_
#define APPS_COMMON_MACHINE_OF_PROFILE_H_

#include "gpu/topology/machine.h"
#include "sim/profile/profile.h"

namespace apps {

// What the profile does not tell, the memory of its NUMA nodes for example, is not told here either.
gpu::topology::Machine MachineOf(const sim::Profile& profile);

}  // namespace apps

#endif  // APPS_COMMON_MACHINE_OF_PROFILE_H_
