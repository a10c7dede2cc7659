// Whether the bytes of a packet reach memory in two steps, the end of them first.

#ifndef DRYDOCK_SIM_DEVICE_SPLIT_H_
#define DRYDOCK_SIM_DEVICE_SPLIT_H_

#include <cstdint>
#include <optional>

#include "drydock/coro/time.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// Words of DrawPurpose::kPlacement.
namespace PlacementWord {
enum : unsigned { kSplit, kSplitDelay, kFirstRun };
}

// The piece of a message's bytes that lands last; empty when there is nothing to split. `profile`,
// here and below: of the NIC that places.
Range LastOfMessage(const Profile& profile, std::uint64_t length);

// The same of a write, or of the data of a read.
Range LastOfPacket(const Profile& profile, const Operation& operation, Range range);

// How much later that is, where the packet with these PacketFlags lands in two steps.
std::optional<coro::Duration> DrawSplit(const Profile& profile, const Operation& operation,
                                        std::uint32_t flags);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_SPLIT_H_
