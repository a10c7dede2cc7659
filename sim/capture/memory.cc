#include "drydock/sim/capture/memory.h"

#include <sys/mman.h>

#include <cstring>

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

void ClearPages(std::byte* first, std::uint64_t bytes) {
  // Those of a process that has locked its memory stay, with what is in them.
  if (madvise(first, bytes, MADV_DONTNEED) != 0) std::memset(first, 0, bytes);
}

}  // namespace drydock::sim::capture
