#include "drydock/sim/capture/memory.h"

#include <sys/mman.h>

#include "absl/strings/str_cat.h"

namespace drydock::sim::capture {

absl::StatusOr<std::shared_ptr<std::byte>> AllocatePages(std::uint64_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a region of ", bytes, " bytes"));
  }
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(pages),
                                    [bytes](std::byte* first) { munmap(first, bytes); });
}

void ClearPages(std::byte* first, std::uint64_t bytes) { madvise(first, bytes, MADV_DONTNEED); }

}  // namespace drydock::sim::capture
