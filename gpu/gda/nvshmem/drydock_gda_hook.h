// What NVSHMEM's libfabric transport calls so that kernels can drive its endpoints' queues.
//
// C interface, C++17 inside, needs nothing but libfabric and the CUDA runtime: it is compiled
// inside an NVSHMEM source tree, where install.sh puts it.

#ifndef DRYDOCK_GPU_GDA_NVSHMEM_DRYDOCK_GDA_HOOK_H_
#define DRYDOCK_GPU_GDA_NVSHMEM_DRYDOCK_GDA_HOOK_H_

struct fid_cq;
struct fid_domain;
struct fid_ep;

#ifdef __cplusplus
extern "C" {
#endif

// Endpoints whose queues are kept.
#define DRYDOCK_GDA_MAX_QUEUES 8

// The endpoint is enabled, and `cq` is its completion queue for sends: maps its rings and doorbell
// into the current device, and publishes them there as drydock_gda_queues[index]. 0, or a negative
// errno: -ENOSYS where libfabric or its headers have no FI_EFA_GDA_OPS, -EINVAL for an index out of
// range, -EIO when CUDA maps something not; a line on standard error says which. The transport
// works on without it after an error. REQUIRES: nothing was posted on the endpoint; once a kernel
// posts on it, the host neither posts nor reads `cq`, as a ring has one producer and one consumer.
int drydock_gda_init_on_ep(struct fid_domain* domain, struct fid_ep* endpoint, struct fid_cq* cq,
                           int index);

// Unmaps everything. Before the endpoints close. Harmless when there is nothing.
void drydock_gda_fini(void);

#ifdef __cplusplus
}
#endif

#endif  // DRYDOCK_GPU_GDA_NVSHMEM_DRYDOCK_GDA_HOOK_H_
