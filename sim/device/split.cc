#include "drydock/sim/device/split.h"

#include <algorithm>

namespace drydock::sim {
namespace {

// Devices that promise it place aligned blocks of this size in one piece, and in order.
constexpr std::uint64_t kInOrderBlock = 128;

// How far the byte at `offset` is from where its block begins, or its piece of memory.
std::uint64_t IntoBlock(std::span<const Segment> memory, std::uint64_t offset) {
  for (const Segment& piece : memory) {
    if (offset < piece.length) return std::min(offset, (piece.address + offset) % kInOrderBlock);
    offset -= piece.length;
  }
  return 0;
}

}  // namespace

Range WholeBlocks(std::span<const Segment> memory, Range range, Range all) {
  const auto moved = [&](std::uint64_t cut) {
    if (cut <= all.offset || cut >= all.offset + all.length) return cut;
    return std::max(cut - IntoBlock(memory, cut), all.offset);
  };
  const std::uint64_t begin = moved(range.offset);
  return {begin, moved(range.offset + range.length) - begin};
}

}  // namespace drydock::sim
