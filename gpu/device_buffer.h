// Memory of a device, allocated and registered, as fabric/async takes buffers.

#ifndef GPU_DEVICE_BUFFER_H_
#define GPU_DEVICE_BUFFER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "fabric/async/registered_buffer.h"
#include "fabric/domain.h"
#include "fabric/memory.h"
#include "gpu/device_memory.h"

namespace gpu {

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

}  // namespace gpu

#endif  // GPU_DEVICE_BUFFER_H_
