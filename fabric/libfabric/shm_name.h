// The name under which endpoints of the shm provider are found.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_SHM_NAME_H_
#define DRYDOCK_FABRIC_LIBFABRIC_SHM_NAME_H_

#include <rdma/fabric.h>

namespace drydock::fabric::libfabric {

// Gives the entries of the shm provider in `list` a source address of the form
// `fi_shm://PID-<16 hexadecimal digits>`, the same in the whole process; the provider appends the
// user and the number of the endpoint. Its own choice is the process number alone, which two
// containers that share /dev/shm share as well: the second would find its file taken, and fi_enable
// would fail with EBUSY. Other providers' entries stay as they are. Thread-safe.
void NameSharedMemory(fi_info* list);

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_SHM_NAME_H_
