#include "fabric/async/registered_buffer.h"

namespace fabric::async {

absl::StatusOr<BufferRef> AllocateBuffer(Domain& domain, std::size_t length_bytes, Access access) {
  const auto bytes = std::make_shared<std::byte[]>(length_bytes);
  absl::StatusOr<std::unique_ptr<MemoryRegion>> region =
      domain.RegisterMemory({.data = bytes.get(), .length_bytes = length_bytes, .access = access});
  if (!region.ok()) return region.status();
  return BufferRef(std::make_unique<RegisteredBuffer>(bytes, *std::move(region)));
}

}  // namespace fabric::async
