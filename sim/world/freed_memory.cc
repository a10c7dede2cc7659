#include "drydock/sim/world/freed_memory.h"

#include <atomic>
#include <cstdlib>  // says which C library this is

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace drydock::sim {

#if defined(__GLIBC__)

void KeepFreedMemoryFromTheSecondWorld() {
  static std::atomic<unsigned> worlds = 0;
  if (worlds.fetch_add(1) != 1) return;
  constexpr int kMiB = 1 << 20;
  // The heap's top, and what is large enough for a mapping of its own: glibc's own limit. Where a
  // limit is refused, memory goes back as before.
  mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
  mallopt(M_MMAP_THRESHOLD, 32 * kMiB);
}

#else

void KeepFreedMemoryFromTheSecondWorld() {}

#endif

}  // namespace drydock::sim
