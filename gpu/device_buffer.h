// Memory of a device, allocated and registered, as fabric/async takes buffers.

#ifndef DRYDOCK_GPU_DEVICE_BUFFER_H_
#define DRYDOCK_GPU_DEVICE_BUFFER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/memory.h"
#include "drydock/gpu/device_memory.h"

namespace drydock::gpu {

// How a NIC is told of it: by a dmabuf, as every driver with open kernel modules can, or by its
// address and kind, for the provider to find out.
enum class Registration : std::uint8_t { kDmabuf, kAddress };

struct DeviceBufferOptions {
  Registration registration = Registration::kDmabuf;
  Allocation allocation = Allocation::kPlain;
  fabric::Access access = fabric::Access::kAll;
};

// `length_bytes` of undefined bytes. The device outlives the buffer. Errors: those of
// Device::Allocate, DeviceMemory::ExportDmabuf and Domain::RegisterMemory.
absl::StatusOr<fabric::async::BufferRef> AllocateDeviceBuffer(
    fabric::Domain& domain, Device& device, std::size_t length_bytes,
    const DeviceBufferOptions& options = {});

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_DEVICE_BUFFER_H_
