#include "drydock/sim/rdm/inbound_write.h"

namespace drydock::sim::rdm {
namespace {

std::vector<ReadSegment> SegmentsOf(const Packet& request) {
  if (!IsLongRead(request.header.kind)) return {};
  return DecodeSegments(request.payload);
}

}  // namespace

InboundWrite::InboundWrite(const Services& services, Peer& peer, const Packet& request,
                           const fabric::LocalBuffer& target)
    : InboundStream(services, peer, request.header, SegmentsOf(request)), header_(request.header) {
  Bind(ScatterList(target), fabric::Access::kRemoteWrite);
  if (!IsLongRead(header_.kind)) Deliver(0, request.payload);
}

void InboundWrite::Report() {
  PacketHeader answer{.kind = pulled() ? PacketKind::kEor : PacketKind::kReceipt,
                      .operation = peer_operation()};
  if (!outcome().ok()) {
    answer.kind = PacketKind::kPeerError;
    answer.tag = kErrorRemoteAddress;
  }
  services().packets.SendAnswer(peer(), answer);
  --peer().served;
  if (!outcome().ok() || !header_.immediate.has_value()) return;
  services().reporter.RemotelyWritten({.kind = fabric::OperationKind::kRemoteWrite,
                                       .immediate = header_.immediate,
                                       .length_bytes = length(),
                                       .source = peer().entry->handle});
}

}  // namespace drydock::sim::rdm
