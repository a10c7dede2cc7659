#include "drydock/sim/device/split.h"

#include "drydock/fabric/operation.h"
#include "drydock/sim/random.h"

namespace drydock::sim {
namespace {

// Devices that promise it place aligned blocks of this size in one piece, and in order.
constexpr std::uint64_t kInOrderBlock = 128;

// `address`: of the byte at range.offset.
Range LastPiece(Range range, std::uint64_t address, bool in_order_blocks) {
  if (!in_order_blocks) return {range.offset, range.length / 2};
  const std::uint64_t middle = (address + range.length / 2) / kInOrderBlock * kInOrderBlock;
  return {range.offset, middle > address ? middle - address : 0};
}

}  // namespace

Range LastOfMessage(const Profile& profile, std::uint64_t length) {
  return LastPiece({0, length}, 0, profile.device.send_in_order_128);
}

Range LastOfPacket(const Profile& profile, const Operation& operation, Range range) {
  const bool read = operation.kind == fabric::OperationKind::kRead;
  const std::uint64_t base = read ? operation.segments[0].address : operation.remote_address;
  return LastPiece(range, base + range.offset, profile.device.write_in_order_128);
}

std::optional<coro::Duration> DrawSplit(const Profile& profile, const Operation& operation,
                                        std::uint32_t flags) {
  const std::uint32_t one_in = profile.split_placement_one_in;
  if (one_in == 0 || operation.undisturbed) return std::nullopt;
  const OperationDraws& draws = operation.draws;
  if (Below(draws.Word(DrawPurpose::kPlacement, flags, PlacementWord::kSplit), one_in) != 0) {
    return std::nullopt;
  }
  const auto most = static_cast<std::uint64_t>(profile.split_placement_delay.count());
  const std::uint64_t word = draws.Word(DrawPurpose::kPlacement, flags, PlacementWord::kSplitDelay);
  return coro::Duration(static_cast<std::int64_t>(Below(word, most + 1)));
}

}  // namespace drydock::sim
