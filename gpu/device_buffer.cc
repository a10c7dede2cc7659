#include "drydock/gpu/device_buffer.h"

#include <memory>
#include <optional>
#include <utility>

#include "drydock/coro/status_macros.h"

namespace drydock::gpu {

using fabric::async::BufferRef;
using fabric::async::RegisteredBuffer;

absl::StatusOr<BufferRef> AllocateDeviceBuffer(fabric::Domain& domain, Device& device,
                                               std::size_t length_bytes,
                                               const DeviceBufferOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> allocated,
                   device.Allocate(length_bytes, options.allocation));
  const std::shared_ptr<DeviceMemory> memory = std::move(allocated);
  std::optional<Dmabuf> dmabuf;  // until it was registered: the region holds the memory, not the fd
  if (options.registration == Registration::kDmabuf) {
    ASSIGN_OR_RETURN(dmabuf, memory->ExportDmabuf());
  }
  fabric::MemoryRequest request =
      RequestFor(device, *memory, dmabuf.has_value() ? &*dmabuf : nullptr);
  request.access = options.access;
  ASSIGN_OR_RETURN(std::unique_ptr<fabric::MemoryRegion> region, domain.RegisterMemory(request));
  return BufferRef(std::make_unique<RegisteredBuffer>(memory, std::move(region)));
}

}  // namespace drydock::gpu
