#include "drydock/sim/rdm/inbound_read.h"

#include <algorithm>

namespace drydock::sim::rdm {

InboundRead::InboundRead(const Services& services, Peer& peer, const fabric::ReadRequest& request)
    : InboundStream(services, peer, {.length = request.target.length_bytes}, {}),
      request_(request) {
  Bind(ScatterList(request.target), fabric::Access::kRead);
  if (!services.memory.Allows(request.target, fabric::Access::kRead)) {
    Break({fabric::ErrorCode::kLocalAccess, kErrorReceiveCopy});
  }
}

Blocked InboundRead::Advance() {
  if (asked_ || Done()) return InboundStream::Advance();
  PacketSender& packets = services().packets;
  if (!packets.MaySend(peer(), PacketUse::kOwn)) return Blocked::kByPeer;
  if (!packets.ready()) return Blocked::kByDevice;
  asked_ = true;
  const std::uint64_t window =
      std::uint64_t{services().settings.credit_packets} * services().payload_bytes;
  const bool is_short = length() <= services().payload_bytes;
  const std::uint64_t granted = std::min(window, length());
  GrantedByRequest(granted);
  const Draft draft =
      packets.Begin(peer(), {.kind = is_short ? PacketKind::kShortRead : PacketKind::kLongCtsRead,
                             .reply = id(),
                             .length = length(),
                             .offset = is_short ? 0 : granted,
                             .remote = request_.source});
  packets.Post(draft, 0, id());
  return Blocked::kNo;
}

bool InboundRead::OnPacket(const Packet& packet) {
  const PacketHeader& header = packet.header;
  if (header.kind == PacketKind::kReadResponse) {
    if (peer_operation() != kNoOperation && peer_operation() != header.reply) return false;
    if (!InboundStream::OnPacket(packet)) return false;
    set_peer_operation(header.reply);
    answered_ = true;
    return true;
  }
  return header.kind == PacketKind::kPeerError && InboundStream::OnPacket(packet);
}

void InboundRead::OnPeerGone(const Outcome& outcome) {
  if (!answered_ || !Arrived()) Break(outcome);
}

bool InboundRead::Done() const { return InboundStream::Done() && (answered_ || !outcome().ok()); }

void InboundRead::Report() {
  services().reporter.Ended(fabric::OperationKind::kRead, request_.context, outcome());
}

}  // namespace drydock::sim::rdm
