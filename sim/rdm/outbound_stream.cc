#include "drydock/sim/rdm/outbound_stream.h"

#include <algorithm>
#include <array>
#include <utility>

namespace drydock::sim::rdm {
namespace {

using fabric::ErrorCode;

bool IsEager(PacketKind kind) {
  return kind == PacketKind::kEager || kind == PacketKind::kEagerTagged ||
         kind == PacketKind::kEagerWrite;
}

bool IsWrite(PacketKind kind) {
  return kind == PacketKind::kEagerWrite || kind == PacketKind::kLongCtsWrite ||
         kind == PacketKind::kLongReadWrite;
}

// The same bytes, cleared to send instead of read.
PacketKind WithoutRead(PacketKind kind) {
  if (kind == PacketKind::kLongRead) return PacketKind::kLongCts;
  if (kind == PacketKind::kLongReadTagged) return PacketKind::kLongCtsTagged;
  return PacketKind::kLongCtsWrite;
}

}  // namespace

OutboundStream::OutboundStream(const Services& services, Peer& peer, const Outbound& outbound,
                               Regions exposed)
    : ServedOperation(services, peer), outbound_(outbound), exposed_(std::move(exposed)) {
  outbound_.header.length = length();
  reading_ = IsLongRead(kind());
  awaits_answer_ = reading_ || IsWrite(kind());
  if (IsEager(kind()) || IsMedium(kind())) granted_ = length();
  if (kind() == PacketKind::kReadResponse) {
    granted_ = outbound_.header.offset;
    peer_operation_ = outbound_.header.operation;
  }
}

Regions OutboundStream::Expose(const Services& services, const Outbound& outbound) {
  Regions regions;
  if (!outbound.source.Allowed(services.memory, *outbound.access)) return regions;
  for (const fabric::LocalBuffer& segment : outbound.source.segments()) {
    if (segment.length_bytes == 0) continue;
    auto region = services.memory.Borrow(segment, fabric::Access::kRemoteRead);
    if (region == nullptr) return {};
    regions.push_back(std::move(region));
  }
  return regions;
}

bool OutboundStream::Done() const {
  if (packets_in_flight_ > 0) return false;
  return !outcome_.ok() || (begun_ && !awaits_answer_ && AllSent());
}

void OutboundStream::Report() {
  exposed_.clear();
  if (kind() == PacketKind::kReadResponse) --peer().served;
  if (outbound_.told.has_value()) {
    services().reporter.Ended(*outbound_.told, outbound_.context, outcome_);
  }
}

Blocked OutboundStream::Advance() {
  while (outcome_.ok() && (!begun_ || (!reading_ && sent_ < granted_))) {
    if (!services().packets.MaySend(peer(), use())) return Blocked::kByPeer;
    if (!services().packets.ready()) return Blocked::kByDevice;
    if (!SendNext()) Abort();
  }
  return Blocked::kNo;
}

PacketHeader OutboundStream::NextHeader() const {
  PacketHeader header = outbound_.header;
  header.offset = sent_;
  header.reply = id();
  if (begun_ && IsLongCts(kind())) {
    header = {.kind = PacketKind::kCtsData,
              .operation = peer_operation_,
              .length = length(),
              .offset = sent_};
  }
  return header;
}

bool OutboundStream::SendNext() {
  PacketSender& packets = services().packets;
  const Draft draft = packets.Begin(peer(), NextHeader(), use());
  std::size_t bytes = 0;
  if (reading_) {
    std::array<ReadSegment, kMaxReadSegments> segments;
    for (std::size_t i = 0; i < exposed_.size(); ++i) {
      segments[i] = {exposed_[i]->remote(), exposed_[i]->length_bytes()};
    }
    bytes = exposed_.size() * kReadSegmentBytes;
    EncodeSegments({segments.data(), exposed_.size()}, draft.payload);
  } else {
    const std::optional<std::size_t> filled = FillPayload(draft);
    if (!filled.has_value()) {
      packets.Discard(draft);
      return false;
    }
    bytes = *filled;
    sent_ += bytes;
    granted_ = std::max(granted_, sent_);
  }
  begun_ = true;
  ++packets_in_flight_;
  packets.Post(draft, bytes, id());
  return true;
}

std::optional<std::size_t> OutboundStream::FillPayload(const Draft& draft) {
  const std::uint64_t most = begun_ || IsMedium(kind()) || kind() == PacketKind::kReadResponse
                                 ? granted_ - sent_
                                 : length() - sent_;
  const auto bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(most, services().payload_bytes));
  const std::span<std::byte> room = draft.payload.first(bytes);
  if (!outbound_.access.has_value()) {
    outbound_.source.CopyOut(sent_, room);
    return bytes;
  }
  const bool copied = outbound_.source.CopyOut(services().memory, *outbound_.access, sent_, room);
  return copied ? std::optional<std::size_t>(bytes) : std::nullopt;
}

bool OutboundStream::Grant(const PacketHeader& grant) {
  if (grant.offset != granted_ || grant.length > length() - granted_) return false;
  if (peer_operation_ != kNoOperation && grant.reply != peer_operation_) return false;
  peer_operation_ = grant.reply;
  granted_ += grant.length;
  return true;
}

bool OutboundStream::OnPacket(const Packet& packet) {
  const PacketHeader& header = packet.header;
  if (!begun_) return false;
  if (!outcome_.ok()) return Decline(header);
  switch (header.kind) {
    case PacketKind::kCts:
      return (IsLongCts(kind()) || kind() == PacketKind::kReadResponse) && Grant(header);
    case PacketKind::kReadNack:
      if (!reading_ || !Grant(header)) return false;
      reading_ = false;
      awaits_answer_ = kind() == PacketKind::kLongReadWrite;
      outbound_.header.kind = WithoutRead(kind());
      return true;
    case PacketKind::kEor:
      if (!reading_) return false;
      sent_ = length();
      awaits_answer_ = false;
      return true;
    case PacketKind::kReceipt:
      if (!awaits_answer_ || reading_ || !AllSent()) return false;
      awaits_answer_ = false;
      return true;
    case PacketKind::kPeerError:
      outcome_ = FromPeerError(header.tag);
      return true;
    default:
      return false;
  }
}

void OutboundStream::OnPacketSent(const Outcome& outcome) {
  --packets_in_flight_;
  if (outcome_.ok()) outcome_ = outcome;
}

void OutboundStream::OnPeerGone(const Outcome& outcome) {
  const bool waits = awaits_answer_ || !AllSent();
  if (waits && outcome_.ok()) outcome_ = outcome;
}

void OutboundStream::OnMemoryRemoved() {
  const bool needs_source = outbound_.access.has_value() && (reading_ || !AllSent());
  if (needs_source && !outbound_.source.Allowed(services().memory, *outbound_.access)) Abort();
}

void OutboundStream::Abort() {
  if (!outcome_.ok()) return;
  outcome_ = {ErrorCode::kLocalAccess, kErrorPeerAborted};
  if (peer_operation_ == kNoOperation) return;  // it is told when it asks for more
  TellPeer(peer_operation_);
}

bool OutboundStream::Decline(const PacketHeader& header) {
  const bool asks = header.kind == PacketKind::kCts || header.kind == PacketKind::kReadNack;
  if (!asks || header.reply == kNoOperation) return false;
  TellPeer(header.reply);
  return true;
}

void OutboundStream::TellPeer(OperationId operation) {
  const bool response = kind() == PacketKind::kReadResponse;
  services().packets.SendAnswer(peer(), {.kind = PacketKind::kPeerError,
                                         .operation = operation,
                                         .tag = response ? std::uint64_t{kErrorRemoteAddress}
                                                         : std::uint64_t{kErrorPeerAborted}});
}

}  // namespace drydock::sim::rdm
