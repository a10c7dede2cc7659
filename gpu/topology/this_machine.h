// The machine that this program runs on, as hwloc finds it.

#ifndef GPU_TOPOLOGY_THIS_MACHINE_H_
#define GPU_TOPOLOGY_THIS_MACHINE_H_

#include "absl/status/statusor.h"
#include "gpu/topology/machine.h"

namespace gpu::topology {

// Looks at the machine: milliseconds to a second. Opens no device. CPUs that the system keeps from
// this process, because it runs in a container for example, are left out. kInternal: hwloc failed;
// the message has the reason. Thread-safe.
absl::StatusOr<Machine> DiscoverThisMachine();

}  // namespace gpu::topology

#endif  // GPU_TOPOLOGY_THIS_MACHINE_H_
