// Every kind of packet, for tests that go through all of them.

#ifndef DRYDOCK_SIM_RDM_TESTING_PACKET_KINDS_H_
#define DRYDOCK_SIM_RDM_TESTING_PACKET_KINDS_H_

#include "drydock/sim/rdm/packet.h"

namespace drydock::sim::rdm {

inline constexpr PacketKind kAllKinds[] = {
    PacketKind::kCts,           PacketKind::kCtsData,        PacketKind::kReadResponse,
    PacketKind::kEor,           PacketKind::kAtomicResponse, PacketKind::kHandshake,
    PacketKind::kReceipt,       PacketKind::kReadNack,       PacketKind::kPeerError,
    PacketKind::kEager,         PacketKind::kEagerTagged,    PacketKind::kMedium,
    PacketKind::kMediumTagged,  PacketKind::kLongCts,        PacketKind::kLongCtsTagged,
    PacketKind::kEagerWrite,    PacketKind::kLongCtsWrite,   PacketKind::kShortRead,
    PacketKind::kLongCtsRead,   PacketKind::kWriteAtomic,    PacketKind::kFetchAtomic,
    PacketKind::kCompareAtomic, PacketKind::kLongRead,       PacketKind::kLongReadTagged,
    PacketKind::kLongReadWrite};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_TESTING_PACKET_KINDS_H_
