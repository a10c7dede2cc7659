#include "drydock/sim/world/freed_memory.h"

#include <cstdlib>  // says which C library this is

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace drydock::sim {

void KeepFreedMemory() {
#if defined(__GLIBC__)
  static const bool kept = [] {
    constexpr int kMiB = 1 << 20;
    // The heap's top, and what is large enough for a mapping of its own: glibc's own limit.
    return mallopt(M_TRIM_THRESHOLD, 256 * kMiB) != 0 && mallopt(M_MMAP_THRESHOLD, 32 * kMiB) != 0;
  }();
  static_cast<void>(kept);
#endif
}

}  // namespace drydock::sim
