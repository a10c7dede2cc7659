#include "drydock/gpu/device_memory.h"

#include <unistd.h>

namespace drydock::gpu {

Dmabuf::~Dmabuf() {
  if (fd_ >= 0) close(fd_);
}

fabric::MemoryRequest RequestFor(const Device& device, const DeviceMemory& memory,
                                 const Dmabuf* dmabuf) {
  fabric::MemoryRequest request;
  request.data = memory.address();
  request.length_bytes = memory.length_bytes();
  request.kind = device.kind();
  request.device = device.ordinal();
  if (dmabuf != nullptr) request.dmabuf = dmabuf->handle();
  return request;
}

}  // namespace drydock::gpu
