// Packets of a long read or write that travel as one piece (Profile::flow_packets).
//
//   link ──► the way of each packet ──► receiver's link ──► placed
//            └──────── the piece is in when the last of them is ────────┘

#ifndef DRYDOCK_SIM_DEVICE_PIECE_H_
#define DRYDOCK_SIM_DEVICE_PIECE_H_

#include <cstdint>

#include "drydock/coro/time.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/network/wire.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// Packets of a message of so many bytes that travel as one: Profile::flow_packets, and of messages
// of more than forty such pieces a fortieth of the message, up to half as many again. Larger pieces
// would change the time that many senders to one receiver take (docs/fidelity.md).
std::uint32_t PacketsTogether(const Profile& profile, std::uint64_t bytes);

// The fate of a piece.
struct Journey {
  Flight slowest;        // of the packet that is in last; losses are those of all packets
  coro::Duration way{};  // from now until it is
  coro::Time sent{};     // when the last bit of all had left
};

// Sends the packets of `range`, from number `packet` on, which are ready to leave at `ready`. Each
// meets the same as it would alone: the link, a path, losses, the receiver's queue. Only packets of
// others come before or after all of them. `response`: they carry data that is read.
// REQUIRES: the direction is not blocked.
Journey SendTogether(Surroundings& around, NicState& from, NicState& to, const Operation& operation,
                     bool response, std::uint32_t packet, Range range, coro::Time ready);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_PIECE_H_
