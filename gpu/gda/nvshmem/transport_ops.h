// What NVSHMEM asks of a transport: the names of its table of functions. The hook is no transport of
// its own: it stands in two of them of the libfabric transport, and leaves the others alone. The page
// says of each what becomes of it (docs/gda.md), and a test holds the page to this list.

#ifndef DRYDOCK_GPU_GDA_NVSHMEM_TRANSPORT_OPS_H_
#define DRYDOCK_GPU_GDA_NVSHMEM_TRANSPORT_OPS_H_

#include <array>
#include <string_view>

namespace drydock::gpu::gda::nvshmem {

// In the order of nvshmem_transport_host_ops (NVIDIA/nvshmem
// src/include/internal/host_transport/transport.h, commit 2c7f5a37 of 2025).
inline constexpr std::array<std::string_view, 15> kTransportOps = {
    "can_reach_peer",
    "connect_endpoints",
    "get_mem_handle",
    "release_mem_handle",
    "finalize",
    "show_info",
    "progress",
    "rma",
    "amo",
    "fence",
    "quiet",
    "put_signal",
    "enforce_cst",
    "enforce_cst_at_target",
    "add_device_remote_mem_handles",
};

}  // namespace drydock::gpu::gda::nvshmem

#endif  // DRYDOCK_GPU_GDA_NVSHMEM_TRANSPORT_OPS_H_
