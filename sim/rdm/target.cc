#include "drydock/sim/rdm/target.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "drydock/sim/rdm/atomic_execution.h"
#include "drydock/sim/rdm/inbound_write.h"
#include "drydock/sim/rdm/outbound_stream.h"

namespace drydock::sim::rdm {

using fabric::Access;
using fabric::ErrorCode;

namespace {

// The bytes that a message takes while it waits for its receive: for a medium one its whole length,
// because its other packets may come when there is no room.
std::uint64_t HeldBytes(const Packet& packet) {
  if (IsMedium(packet.header.kind)) return packet.header.length;
  return IsLongRead(packet.header.kind) ? 0 : packet.payload.size();
}

}  // namespace

bool Target::OnRequest(Peer& peer, const Packet& packet, std::span<const std::byte> bytes) {
  const PacketKind kind = packet.header.kind;
  if (IsOrdered(kind)) return OnOrdered(peer, packet, bytes);
  if (kind == PacketKind::kShortRead || kind == PacketKind::kLongCtsRead) {
    OnRead(peer, packet);
  } else {
    OnWrite(peer, packet);
  }
  return true;
}

bool Target::OnOrdered(Peer& peer, const Packet& packet, std::span<const std::byte> bytes) {
  ReorderWindow& window = peer.window;
  const ReorderWindow::Turn turn = window.TurnOf(packet.header.message);
  if (turn == ReorderWindow::Turn::kPast) {
    Continue(peer, packet);
    return true;
  }
  if (peer.due_stalled) return false;  // its turn comes after one that has no room
  if (turn == ReorderWindow::Turn::kEarly) {
    HoldEarly(peer, packet, bytes);
    return true;
  }
  if (!HasRoom(peer, packet)) {
    peer.due_stalled = true;
    return false;
  }
  Handle(peer, packet);
  HandleHeld(peer, window.Next());
  return true;
}

void Target::HandleHeld(Peer& peer, std::vector<HeldPacket> held) {
  for (; !held.empty(); held = peer.window.Next()) {
    if (!HasRoom(peer, *Decode(held.front()))) {
      peer.window.KeepDue(std::move(held));
      peer.due_stalled = true;
      stuck_.push_back(&peer);
      return;
    }
    Handle(peer, *Decode(held.front()));
    for (std::size_t i = 1; i < held.size(); ++i) Continue(peer, *Decode(held[i]));
  }
}

void Target::Resume() {
  for (Peer* peer : std::exchange(stuck_, {})) {
    peer->due_stalled = false;
    HandleHeld(*peer, peer->window.TakeDue());
  }
}

void Target::HoldEarly(Peer& peer, const Packet& packet, std::span<const std::byte> bytes) {
  ReorderWindow& window = peer.window;
  const std::uint64_t before = window.overflowed();
  if (window.Hold(packet.header.message, HeldPacket(bytes.begin(), bytes.end()))) {
    ++services_.statistics.early;
  } else {
    ++services_.statistics.too_early;
  }
  services_.statistics.overflowed += window.overflowed() - before;
}

bool Target::HasRoom(const Peer& peer, const Packet& packet) const {
  if (IsAtomic(packet.header.kind) || receives_.HasRoom(HeldBytes(packet))) return true;
  return receives_.Fits(*peer.entry, IsTagged(packet.header.kind), packet.header.tag);
}

void Target::Handle(Peer& peer, const Packet& packet) {
  CountProtocol(packet.header.kind);
  if (IsAtomic(packet.header.kind)) {
    OnAtomic(peer, packet);
  } else {
    OnMessage(peer, packet);
  }
}

void Target::CountProtocol(PacketKind kind) {
  Statistics& statistics = services_.statistics;
  if (IsAtomic(kind)) {
    ++statistics.atomics;
  } else if (IsMedium(kind)) {
    ++statistics.medium;
  } else if (IsLongRead(kind)) {
    ++statistics.long_read;
  } else if (kind == PacketKind::kEager || kind == PacketKind::kEagerTagged) {
    ++statistics.eager;
  } else {
    ++statistics.long_cts;
  }
}

void Target::Continue(Peer& peer, const Packet& packet) {
  const auto found = peer.medium.find(packet.header.message);
  Operation* operation =
      found == peer.medium.end() ? nullptr : operations_.Find(found->second, peer);
  if (!IsMedium(packet.header.kind) || operation == nullptr) {
    ++services_.statistics.duplicates;
    return;
  }
  auto& message = static_cast<InboundMessage&>(*operation);  // the map holds nothing else
  if (!message.Continues(packet.header)) {
    ++services_.statistics.malformed;
  } else if (!message.Deliver(packet.header.offset, packet.payload)) {
    ++services_.statistics.duplicates;
  } else {
    operations_.Run(message);
  }
}

void Target::OnMessage(Peer& peer, const Packet& packet) {
  const PacketHeader& header = packet.header;
  auto message = std::make_unique<InboundMessage>(services_, peer, packet);
  const bool tagged = IsTagged(header.kind);
  std::optional<PostedReceive> receive =
      receives_.Match(*peer.entry, tagged, header.tag, header.length);
  const bool matched = receive.has_value();
  if (matched) message->Match(*std::move(receive));
  const OperationId id = operations_.Start(std::move(message));
  if (IsMedium(header.kind) && operations_.Find(id) != nullptr) peer.medium[header.message] = id;
  if (matched) return;
  receives_.AddUnexpected({id, peer.entry, tagged, header.tag, header.length, HeldBytes(packet)});
  CountUnexpected();
}

void Target::CountUnexpected() {
  services_.statistics.unexpected = receives_.unexpected();
  services_.statistics.unexpected_bytes = receives_.unexpected_bytes();
}

void Target::PostReceive(const PostedReceive& receive) {
  while (std::optional<UnexpectedMessage> waiting = receives_.TakeUnexpected(receive)) {
    CountUnexpected();
    auto& message = static_cast<InboundMessage&>(*operations_.Find(waiting->operation));
    message.Match(receives_.TakePart(receive, waiting->length_bytes));
    operations_.Run(message);
    if (receive.multi == nullptr || receive.multi->exhausted) return;
  }
  receives_.Post(receive);
}

void Target::EndReceives(const Outcome& outcome) {
  while (const std::optional<PostedReceive> receive = receives_.TakePosted()) {
    if (receive->multi != nullptr) {
      receive->multi->exhausted = true;
      if (receive->multi->arriving > 0) continue;  // the last of these gives it back
    }
    services_.reporter.Received({.context = receive->context,
                                 .kind = receive->tagged ? fabric::OperationKind::kTaggedReceive
                                                         : fabric::OperationKind::kReceive,
                                 .error = outcome.error,
                                 .buffer_released = receive->multi != nullptr,
                                 .provider_error = outcome.provider_error});
  }
}

ErrorCode Target::CancelReceive(fabric::Context context) {
  std::optional<PostedReceive> receive = receives_.Cancel(context);
  if (!receive.has_value()) {
    const bool arriving = operations_.Any([&](const Operation& operation) {
      const auto* message = dynamic_cast<const InboundMessage*>(&operation);
      return message != nullptr && message->HasContext(context);
    });
    return arriving ? ErrorCode::kOk : ErrorCode::kInvalidArgument;
  }
  if (receive->multi != nullptr) {
    receive->multi->exhausted = true;
    if (receive->multi->arriving > 0) return ErrorCode::kOk;  // the last of these gives it back
  }
  services_.reporter.Received({.context = receive->context,
                               .kind = receive->tagged ? fabric::OperationKind::kTaggedReceive
                                                       : fabric::OperationKind::kReceive,
                               .error = ErrorCode::kCanceled,
                               .buffer_released = receive->multi != nullptr,
                               .provider_error = kErrorCanceled});
  return ErrorCode::kOk;
}

void Target::OnAtomic(Peer& peer, const Packet& packet) {
  const PacketHeader& header = packet.header;
  const std::size_t length = static_cast<std::size_t>(header.length);
  const bool fetches = header.kind != PacketKind::kWriteAtomic;
  Access access = fetches ? Access::kRemoteRead : Access::kNone;
  if (*header.atomic != fabric::AtomicOperation::kRead) access = access | Access::kRemoteWrite;
  const auto target = services_.memory.FindRemote(*header.remote, length, access);
  const bool aligned = header.remote->address % fabric::SizeOf(header.atomic_type) == 0;
  if (!target.has_value() || !aligned || length > services_.payload_bytes) {
    return Refuse(peer, packet);
  }
  const auto operand = packet.payload.first(std::min(length, packet.payload.size()));
  std::vector<std::byte> before(length);
  ExecuteAtomic(*header.atomic, header.atomic_type, {target->data, length}, operand,
                packet.payload.subspan(operand.size()), before);
  PacketHeader answer{.kind = PacketKind::kReceipt, .operation = header.reply};
  if (fetches) {
    answer.kind = PacketKind::kAtomicResponse;
    answer.length = length;
  } else {
    before.clear();
  }
  services_.packets.SendAnswer(peer, answer, before);
}

bool Target::AdmitServed(Peer& peer, const Packet& packet) {
  if (peer.served < services_.settings.served_operations) {
    ++peer.served;
    return true;
  }
  ++services_.statistics.refused_requests;
  Refuse(peer, packet);
  return false;
}

void Target::OnWrite(Peer& peer, const Packet& packet) {
  const PacketHeader& header = packet.header;
  if (header.reply == kNoOperation) return;  // it wants nothing but our handshake
  ++services_.statistics.emulated_writes;
  const auto target =
      services_.memory.FindRemote(*header.remote, header.length, Access::kRemoteWrite);
  if (!target.has_value()) return Refuse(peer, packet);
  if (!AdmitServed(peer, packet)) return;
  operations_.Start(std::make_unique<InboundWrite>(services_, peer, packet, *target));
}

void Target::OnRead(Peer& peer, const Packet& packet) {
  const PacketHeader& header = packet.header;
  ++services_.statistics.emulated_reads;
  const auto source =
      services_.memory.FindRemote(*header.remote, header.length, Access::kRemoteRead);
  if (!source.has_value()) return Refuse(peer, packet);
  if (!AdmitServed(peer, packet)) return;
  const bool is_short = header.kind == PacketKind::kShortRead;
  const Outbound response{.header = {.kind = PacketKind::kReadResponse,
                                     .operation = header.reply,
                                     .offset = is_short ? header.length : header.offset},
                          .source = ScatterList(*source),
                          .access = Access::kRemoteRead};
  operations_.Start(std::make_unique<OutboundStream>(services_, peer, response));
}

void Target::Refuse(Peer& peer, const Packet& packet) {
  services_.packets.SendAnswer(peer, {.kind = PacketKind::kPeerError,
                                      .operation = packet.header.reply,
                                      .tag = kErrorRemoteAddress});
}

}  // namespace drydock::sim::rdm
