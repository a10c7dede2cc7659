#include "drydock/fabric/async/registered_buffer.h"

#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::fabric::async {

void BufferRef::Free(RegisteredBuffer* buffer) { delete buffer; }

absl::StatusOr<BufferRef> AllocateBuffer(Domain& domain, std::size_t length_bytes, Access access) {
  // Not make_shared: it puts the owners' count behind the bytes, where no sanitizer sees an
  // overrun.
  const std::shared_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[length_bytes]());
  if (bytes == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("allocate ", length_bytes, " B: there is not so much memory"));
  }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> region =
      domain.RegisterMemory({.data = bytes.get(), .length_bytes = length_bytes, .access = access});
  if (!region.ok()) return region.status();
  return BufferRef(std::make_unique<RegisteredBuffer>(bytes, *std::move(region)));
}

}  // namespace drydock::fabric::async
