// Pieces of memory, and ranges of bytes that are spread over several of them.

#ifndef DRYDOCK_SIM_MEMORY_SEGMENT_H_
#define DRYDOCK_SIM_MEMORY_SEGMENT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace drydock::sim {

// A piece of registered memory, as a work request names it.
struct Segment {
  std::uint64_t address = 0;
  std::uint32_t length = 0;  // bytes
  std::uint32_t lkey = 0;
};

// A range of an operation's payload, in bytes from its beginning.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

inline std::byte* PointerTo(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

// Calls visit(piece) for each piece of `segments`, laid end to end, that holds bytes [range), in
// order.
template <typename Visit>
void WalkSegments(std::span<const Segment> segments, Range range, Visit visit) {
  for (const Segment& segment : segments) {
    if (range.length == 0) return;
    if (range.offset >= segment.length) {
      range.offset -= segment.length;
      continue;
    }
    const std::uint64_t bytes =
        std::min<std::uint64_t>(range.length, segment.length - range.offset);
    visit(Segment{segment.address + range.offset, static_cast<std::uint32_t>(bytes), segment.lkey});
    range = {0, range.length - bytes};
  }
}

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MEMORY_SEGMENT_H_
