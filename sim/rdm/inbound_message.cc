#include "drydock/sim/rdm/inbound_message.h"

#include <utility>

namespace drydock::sim::rdm {
namespace {

std::vector<ReadSegment> SegmentsOf(const Packet& request) {
  if (!IsLongRead(request.header.kind)) return {};
  return DecodeSegments(request.payload);
}

}  // namespace

InboundMessage::InboundMessage(const Services& services, Peer& peer, const Packet& request)
    : InboundStream(services, peer, request.header, SegmentsOf(request)), header_(request.header) {
  if (!IsLongRead(header_.kind)) Deliver(header_.offset, request.payload);
}

bool InboundMessage::Continues(const PacketHeader& header) const {
  return header.kind == header_.kind && header.length == header_.length &&
         header.tag == header_.tag && header.immediate == header_.immediate;
}

void InboundMessage::Match(PostedReceive receive) {
  receive_ = std::move(receive);
  Bind(receive_.buffer, fabric::Access::kReceive);
}

void InboundMessage::Report() {
  if (IsMedium(header_.kind)) peer().medium.erase(header_.message);
  if (pulled()) {
    services().packets.SendAnswer(peer(),
                                  {.kind = PacketKind::kEor, .operation = peer_operation()});
  }
  const bool tagged = IsTagged(header_.kind);
  fabric::Completion told{
      .context = receive_.context,
      .kind = tagged ? fabric::OperationKind::kTaggedReceive : fabric::OperationKind::kReceive,
      .error = outcome().error,
      .provider_error = outcome().provider_error,
      .immediate = header_.immediate,
      .source = peer().entry->handle,
      .tag = tagged ? header_.tag : 0,
      .data = receive_.data};
  if (outcome().ok()) {
    told.length_bytes = std::min(length(), target().length());
    if (told.length_bytes < length()) {
      told.error = fabric::ErrorCode::kTruncated;
      told.provider_error = kErrorTruncated;
    }
  }
  if (receive_.multi != nullptr) {
    told.buffer_released = --receive_.multi->arriving == 0 && receive_.multi->exhausted;
  }
  services().reporter.Received(told);
}

}  // namespace drydock::sim::rdm
