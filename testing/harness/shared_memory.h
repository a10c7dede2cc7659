// What killed processes leave behind in /dev/shm.

#ifndef DRYDOCK_TESTING_HARNESS_SHARED_MEMORY_H_
#define DRYDOCK_TESTING_HARNESS_SHARED_MEMORY_H_

#include <sys/types.h>

namespace drydock::harness {

// Removes the shared memory of a process that has ended: the files whose names begin with "PID-",
// as Drydock names those of libfabric's shm provider. For tests that share the machine's process
// numbers (tag `no-sandbox`): in a sandbox, another test's process may have the same.
void RemoveSharedMemoryOf(pid_t pid);

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_SHARED_MEMORY_H_
