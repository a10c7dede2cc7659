// What NVSHMEM asks of a transport: its table of functions, declared again. The hook is no
// transport of its own: it stands in two of them of the libfabric transport, and leaves the others
// alone. The page lists each member (docs/gda.md), and a test compares.
//
// From NVIDIA/nvshmem src/include/internal/host_transport/transport.h, commit 2c7f5a37, of 2025:
// nvshmem_transport_v2, whose transports are C++. Nothing includes this beside the test.

#ifndef GPU_GDA_NVSHMEM_TRANSPORT_OPS_H_
#define GPU_GDA_NVSHMEM_TRANSPORT_OPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpu::gda::nvshmem {

struct Transport;
struct PeInfo;
struct MemHandle;
struct RmaVerb {};
struct RmaMemory {};
struct RmaBytes {};
struct AtomicVerb {};
struct AtomicMemory;
struct AtomicBytes {};

// In the order of the structure: the member, and its type. All return 0, or NVSHMEM's error.
#define GDA_NVSHMEM_TRANSPORT_OPS(X)                                                    \
  X(can_reach_peer, int (*)(int*, PeInfo*, Transport*))                                 \
  X(connect_endpoints, int (*)(Transport*, int*, int, int*, int))                       \
  X(get_mem_handle, int (*)(MemHandle*, void*, std::size_t, Transport*, bool))          \
  X(release_mem_handle, int (*)(MemHandle*, Transport*))                                \
  X(finalize, int (*)(Transport*))                                                      \
  X(show_info, int (*)(Transport*, int))                                                \
  X(progress, int (*)(Transport*, int))                                                 \
  X(rma, int (*)(Transport*, int, RmaVerb, RmaMemory*, RmaMemory*, RmaBytes, int))      \
  X(amo, int (*)(Transport*, int, void*, AtomicVerb, AtomicMemory*, AtomicBytes, int))  \
  X(fence, int (*)(Transport*, int, int, int))                                          \
  X(quiet, int (*)(Transport*, int, int))                                               \
  X(put_signal,                                                                         \
    int (*)(Transport*, int, RmaVerb, std::vector<RmaMemory>&, std::vector<RmaMemory>&, \
            std::vector<RmaBytes>&, AtomicVerb, AtomicMemory*, AtomicBytes, int))       \
  X(enforce_cst, int (*)(Transport*))                                                   \
  X(enforce_cst_at_target, int (*)(Transport*))                                         \
  X(add_device_remote_mem_handles, int (*)(Transport*, int, MemHandle*, std::uint64_t, std::size_t))

}  // namespace gpu::gda::nvshmem

#endif  // GPU_GDA_NVSHMEM_TRANSPORT_OPS_H_
