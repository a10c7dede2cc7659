// The checks, one function for each group of findings. What needs no EFA NIC to be worth knowing is
// said in examination.cc. Pure functions of what was read, but for the files that they look at.

#ifndef DRYDOCK_APPS_DOCTOR_CHECKS_H_
#define DRYDOCK_APPS_DOCTOR_CHECKS_H_

#include "drydock/apps/doctor/finding.h"
#include "drydock/apps/doctor/machine.h"
#include "drydock/apps/doctor/probes.h"

namespace drydock::apps::doctor {

// Instance type, container.
void CheckMachine(const MachineFacts& machine, Findings& findings);

// The number of EFA NICs, against that of the instance type.
void CheckNicsArePresent(const MachineFacts& machine, Findings& findings);
// Driver, RDMA devices, their files, their error counters.
void CheckNicsWork(const MachineFacts& machine, Findings& findings);

// What the NICs can do. Says nothing without rdma-core.
void CheckCapabilities(const MachineFacts& machine, Probes& probes, Findings& findings);

// rdma-core, libfabric, their copies and symbol versions. `probes`: null where nothing may be run.
void CheckLibraries(const MachineFacts& machine, Probes* probes, Findings& findings);

// Locked memory, huge pages, shared memory, forks, ptrace, environment.
void CheckLimits(const MachineFacts& machine, Findings& findings);

// The NVIDIA driver, dmabuf and peer memory, a CUDA context.
void CheckGpus(const MachineFacts& machine, Probes* probes, Findings& findings);

// NUMA nodes, the CPUs that this process may use, PCIe, IOMMU, hwloc.
void CheckPlaces(const MachineFacts& machine, Findings& findings);

// What cannot be seen from here.
void CheckNetwork(Findings& findings);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_CHECKS_H_
