#include "drydock/sim/device/split.h"

#include <algorithm>

#include "drydock/sim/random.h"

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

std::optional<coro::Duration> DrawSplit(const Profile& profile, const Operation& operation,
                                        std::uint32_t flags, std::uint64_t bytes) {
  const std::uint32_t one_in = profile.split_placement_one_in;
  if (one_in == 0 || bytes < 2 || operation.undisturbed) return std::nullopt;
  const OperationDraws& draws = operation.draws;
  if (Below(draws.Word(DrawPurpose::kPlacement, flags, PlacementWord::kSplit), one_in) != 0) {
    return std::nullopt;
  }
  const auto most = static_cast<std::uint64_t>(profile.split_placement_delay.count());
  const std::uint64_t word = draws.Word(DrawPurpose::kPlacement, flags, PlacementWord::kSplitDelay);
  return coro::Duration(static_cast<std::int64_t>(Below(word, most + 1)));
}

Range WholeBlocks(std::span<const Segment> memory, Range range, Range all) {
  const auto moved = [&](std::uint64_t cut) {
    if (cut <= all.offset || cut >= all.offset + all.length) return cut;
    return std::max(cut - IntoBlock(memory, cut), all.offset);
  };
  const std::uint64_t begin = moved(range.offset);
  return {begin, moved(range.offset + range.length) - begin};
}

}  // namespace drydock::sim
