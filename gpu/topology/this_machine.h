// The machine that this program runs on, as hwloc finds it.

#ifndef DRYDOCK_GPU_TOPOLOGY_THIS_MACHINE_H_
#define DRYDOCK_GPU_TOPOLOGY_THIS_MACHINE_H_

#include "absl/status/statusor.h"
#include "drydock/gpu/topology/machine.h"

namespace drydock::gpu::topology {

// Looks at the machine: milliseconds to a second. Opens no device. CPUs that the system keeps from
// this process, because it runs in a container for example, are left out. kInternal: hwloc failed;
// the message has the reason. Thread-safe.
absl::StatusOr<Machine> DiscoverThisMachine();

}  // namespace drydock::gpu::topology

#endif  // DRYDOCK_GPU_TOPOLOGY_THIS_MACHINE_H_
