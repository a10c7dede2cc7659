// A GPU for machines that have none: host memory that behaves as a device's.
//
//   address()  ──► reserved addresses: a host that touches them ends at that line
//   dmabuf fd  ──► a memfd: what the device sees lives there
//   a NIC's writes wait beside it until they become visible, or are flushed
//   a stream does nothing before a caller asks whether it is done
//
// It is never faster or kinder than a GPU: what a GPU does not promise to have happened yet, has
// not happened here.

#ifndef DRYDOCK_GPU_HOST_DEVICE_HOST_DEVICE_H_
#define DRYDOCK_GPU_HOST_DEVICE_HOST_DEVICE_H_

#include <chrono>
#include <cstddef>
#include <memory>

#include "drydock/gpu/device_memory.h"

namespace drydock::gpu {

struct HostDeviceOptions {
  int ordinal = 0;
  // All that can be allocated at a time.
  std::size_t memory_bytes = std::size_t{8} << 30;
  // How long after a NIC's write the device sees it by itself. Assumed: it is not published for
  // GPUs; it is of the order of a round trip over PCIe.
  std::chrono::nanoseconds visibility_delay = std::chrono::microseconds(2);
  // As libfabric over CUDA: its memory is registered by address on a thread where it is current
  // (current_device.h), and refused with kUnimplemented elsewhere. libfabric asks the driver for a
  // dmabuf (src/hmem_cuda.c, cuda_get_dmabuf_fd), which finds the device by the thread's context,
  // and says FI_EOPNOTSUPP without. False: as if it were current everywhere.
  bool needs_context = false;
};

// Threads: as Device.
std::unique_ptr<Device> OpenHostDevice(const HostDeviceOptions& options = {});

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_HOST_DEVICE_HOST_DEVICE_H_
