// Whether the bytes of a packet reach memory in two steps, the end of them first, and which bytes
// land together.
//
// Cuts are made without regard to memory: at which moments something lands in a host's memory
// depends on no address.
// Where the device promises that aligned blocks of 128 bytes land whole, a cut within one moves to
// where the block begins.

#ifndef DRYDOCK_SIM_DEVICE_SPLIT_H_
#define DRYDOCK_SIM_DEVICE_SPLIT_H_

#include <cstdint>
#include <optional>
#include <span>

#include "drydock/coro/time.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/random.h"

namespace drydock::sim {

// Words of DrawPurpose::kPlacement.
namespace PlacementWord {
enum : unsigned { kSplit, kSplitDelay, kFirstRun };
}

// The part that lands last of the bytes of a packet, or of a message, where they land in two steps.
constexpr Range LastPart(Range range) { return {range.offset, range.length / 2}; }

// How much later it lands, where the packet with these PacketFlags, and so many bytes, lands in two
// steps. `profile`: of the NIC that places.
inline std::optional<coro::Duration> DrawSplit(const Profile& profile, const Operation& operation,
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

// Bytes [range) of `memory`, which is laid end to end, when both cuts have moved to where aligned
// blocks begin: a block lands with its last byte. The ends of `all`, in which the range is, stay.
Range WholeBlocks(std::span<const Segment> memory, Range range, Range all);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_SPLIT_H_
