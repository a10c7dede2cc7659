#include "drydock/sim/hosts/arrivals.h"

#include "drydock/sim/profile/profile.h"

namespace drydock::sim {
namespace {

// Of a packet's flags, those that the device draws by and counts by.
constexpr std::uint32_t kTaken = PacketFlags::kNumber | PacketFlags::kSecondCopy;

void Arrive(Surroundings& around, NicState& nic, Operation& operation, EventKind kind,
            std::uint32_t flags, std::uint64_t bytes) {
  if ((flags & PacketFlags::kCopyFollows) != 0) ++operation.copies;
  nic.counters.Received(PacketsInPiece(nic.profile, bytes), bytes, nic.profile.header_bytes);
  around.timeline.At(around.timeline.now(), nic.actor, kind, flags & kTaken, operation.id.Pack());
}

}  // namespace

void ArrivePacket(Surroundings& around, Operation& shadow, std::uint32_t flags,
                  std::uint64_t bytes) {
  Arrive(around, *shadow.peer, shadow, EventKind::kArrive, flags, bytes);
}

void ArriveReadData(Surroundings& around, Operation& operation, std::uint32_t flags,
                    std::uint64_t bytes) {
  Arrive(around, *operation.initiator, operation, EventKind::kReadData, flags, bytes);
}

}  // namespace drydock::sim
