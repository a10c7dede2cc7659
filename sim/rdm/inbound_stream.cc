#include "drydock/sim/rdm/inbound_stream.h"

#include <algorithm>
#include <optional>

#include "drydock/sim/rdm/device_context.h"

namespace drydock::sim::rdm {
namespace {

using fabric::ErrorCode;

constexpr Outcome kCopyFailed{ErrorCode::kLocalAccess, kErrorReceiveCopy};

}  // namespace

InboundStream::InboundStream(const Services& services, Peer& peer, const PacketHeader& request,
                             std::vector<ReadSegment> segments)
    : ServedOperation(services, peer),
      length_(request.length),
      peer_operation_(request.reply),
      clears_(IsLongCts(request.kind)),
      reading_(!segments.empty()),
      segments_(std::move(segments)) {}

void InboundStream::Bind(const ScatterList& target, fabric::Access access) {
  bound_ = true;
  target_ = target;
  access_ = access;
  wanted_ = std::min(length_, target_.length());
  for (const auto& [offset, bytes] : held_) Place(offset, bytes);
  held_.clear();
  held_.shrink_to_fit();
  if (reading_ && !broken_ && !PrepareReads()) read_failed_ = true;
}

bool InboundStream::Deliver(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!arrived_.Add(offset, bytes.size())) return false;
  granted_ = std::max(granted_, offset + bytes.size());
  if (bound_) {
    Place(offset, bytes);
  } else if (!bytes.empty()) {
    held_.emplace_back(offset, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  return true;
}

void InboundStream::Place(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!outcome_.ok() || offset >= target_.length()) return;
  const std::uint64_t room = target_.length() - offset;
  if (bytes.size() > room) bytes = bytes.first(static_cast<std::size_t>(room));
  if (!target_.CopyIn(services().memory, access_, offset, bytes)) outcome_ = kCopyFailed;
}

bool InboundStream::Done() const {
  return bound_ && reads_in_flight_ == 0 && (broken_ || Arrived());
}

void InboundStream::Break(const Outcome& outcome) {
  if (outcome_.ok()) outcome_ = outcome;
  broken_ = true;
}

Blocked InboundStream::Advance() {
  if (!bound_ || broken_) return Blocked::kNo;
  if (reading_) return PostReads();
  const bool all_used = arrived_.total() == granted_;
  if (clears_ && all_used && granted_ < length_) SendGrant(PacketKind::kCts);
  return Blocked::kNo;
}

void InboundStream::SendGrant(PacketKind kind) {
  const std::uint64_t window =
      std::uint64_t{services().settings.credit_packets} * services().payload_bytes;
  const std::uint64_t bytes = std::min(window, length_ - granted_);
  const PacketHeader grant{.kind = kind,
                           .operation = peer_operation_,
                           .reply = id(),
                           .length = bytes,
                           .offset = granted_};
  granted_ += bytes;
  services().packets.SendAnswer(peer(), grant, {}, id());
}

bool InboundStream::OnPacket(const Packet& packet) {
  switch (packet.header.kind) {
    case PacketKind::kCtsData:
    case PacketKind::kReadResponse:
      return bound_ && !broken_ && clears_ && OnData(packet);
    case PacketKind::kPeerError:
      Break(FromPeerError(packet.header.tag));
      return true;
    default:
      return false;
  }
}

bool InboundStream::OnData(const Packet& packet) {
  const PacketHeader& header = packet.header;
  if (header.length != length_ || header.offset + packet.payload.size() > granted_) return false;
  if (Deliver(header.offset, packet.payload)) return true;
  ++services().statistics.duplicates;
  return true;
}

void InboundStream::OnPacketSent(const Outcome& outcome) {
  if (!outcome.ok()) Break(outcome);
}

void InboundStream::OnPeerGone(const Outcome& outcome) {
  if (!Arrived()) Break(outcome);
}

// ---- Reading the peer's memory ----

bool InboundStream::PrepareReads() {
  const ScatterList part = target_.Sub(0, wanted_);
  if (!part.Allowed(services().memory, access_)) {
    outcome_ = kCopyFailed;
    return true;
  }
  for (const fabric::LocalBuffer& segment : part.segments()) {
    auto region = services().memory.Borrow(segment, fabric::Access::kRead);
    if (region == nullptr) return false;
    readable_.push_back(std::move(region));
  }
  return true;
}

Blocked InboundStream::PostReads() {
  while (outcome_.ok() && !read_failed_ && next_read_ < wanted_) {
    const std::uint64_t before = next_read_;
    const ErrorCode error = PostRead(before, services().max_rma_bytes);
    if (error == ErrorCode::kAgain) return Blocked::kByDevice;
    if (error != ErrorCode::kOk) read_failed_ = true;
  }
  if (reads_in_flight_ > 0) return Blocked::kNo;
  readable_.clear();
  reading_ = false;
  if (read_failed_ && outcome_.ok()) {
    FallBack();
  } else {
    pulled_ = true;
  }
  return Blocked::kNo;
}

ErrorCode InboundStream::PostRead(std::uint64_t offset, std::uint64_t most) {
  std::uint64_t in_source = offset;
  std::size_t from = 0;
  while (in_source >= segments_[from].length_bytes) in_source -= segments_[from++].length_bytes;
  std::uint64_t in_target = offset;
  std::size_t to = 0;
  while (in_target >= readable_[to]->length_bytes()) in_target -= readable_[to++]->length_bytes();
  const std::uint64_t bytes =
      std::min({most, wanted_ - offset, segments_[from].length_bytes - in_source,
                readable_[to]->length_bytes() - in_target});
  const fabric::RemoteBuffer place = segments_[from].place;
  const ErrorCode error = services().device.Read(
      fabric::ReadRequest{.target = readable_[to]->Local(static_cast<std::size_t>(in_target),
                                                         static_cast<std::size_t>(bytes)),
                          .source = {place.address + in_source, place.key},
                          .peer = peer().entry->device_peer,
                          .context = MakeContext(DeviceRequest::kTransfer, id())});
  if (error == ErrorCode::kOk) {
    next_read_ += bytes;
    ++reads_in_flight_;
  }
  return error;
}

void InboundStream::OnTransferred(const Outcome& outcome) {
  --reads_in_flight_;
  if (outcome.ok() || broken_) return;
  if (MeansPeerIsGone(outcome.error)) {
    Break(outcome);
  } else if (outcome.error == ErrorCode::kLocalAccess) {
    if (outcome_.ok()) outcome_ = kCopyFailed;
  } else {
    read_failed_ = true;
  }
}

void InboundStream::FallBack() {
  ++services().statistics.read_nacks;
  arrived_ = {};
  granted_ = 0;
  clears_ = true;
  SendGrant(PacketKind::kReadNack);
}

}  // namespace drydock::sim::rdm
