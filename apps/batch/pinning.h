// Threads on the CPUs that are near a NIC.

#ifndef DRYDOCK_APPS_BATCH_PINNING_H_
#define DRYDOCK_APPS_BATCH_PINNING_H_

namespace drydock::apps::batch {

// The calling thread runs on the CPUs of this NUMA node from now on. Nothing changes for -1, on a
// machine that does not tell, and where the system refuses: a run that is not pinned is slower, and
// right.
void PinThisThreadToNode(int numa_node);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_PINNING_H_
