#include "sim/rdm/target.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/rdm/atomic_execution.h"
#include "sim/rdm/inbound_write.h"
#include "sim/rdm/outbound_stream.h"

namespace sim::rdm {

using fabric::Access;
using fabric::ErrorCode;

void Target::OnRequest(Peer& peer, const Packet& packet, std::span<const std::byte> bytes) {
  const PacketKind kind = packet.header.kind;
  if (IsOrdered(kind)) {
    OnOrdered(peer, packet, bytes);
  } else if (kind == PacketKind::kShortRead || kind == PacketKind::kLongCtsRead) {
    OnRead(peer, packet);
  } else {
    OnWrite(peer, packet);
  }
}

void Target::OnOrdered(Peer& peer, const Packet& packet, std::span<const std::byte> bytes) {
  ReorderWindow& window = peer.window;
  switch (window.TurnOf(packet.header.message)) {
    case ReorderWindow::Turn::kPast:
      return Continue(peer, packet);
    case ReorderWindow::Turn::kEarly: {
      const std::uint64_t before = window.overflowed();
      window.Hold(packet.header.message, HeldPacket(bytes.begin(), bytes.end()));
      services_.statistics.overflowed += window.overflowed() - before;
      ++services_.statistics.early;
      return;
    }
    case ReorderWindow::Turn::kDue:
      break;
  }
  Handle(peer, packet);
  for (auto held = window.Next(); !held.empty(); held = window.Next()) {
    Handle(peer, *Decode(held.front()));
    for (std::size_t i = 1; i < held.size(); ++i) Continue(peer, *Decode(held[i]));
  }
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
  if (!matched) receives_.AddUnexpected({id, peer.entry, tagged, header.tag, header.length});
}

void Target::PostReceive(const PostedReceive& receive) {
  while (std::optional<UnexpectedMessage> waiting = receives_.TakeUnexpected(receive)) {
    auto& message = static_cast<InboundMessage&>(*operations_.Find(waiting->operation));
    message.Match(receives_.TakePart(receive, waiting->length_bytes));
    operations_.Run(message);
    if (receive.multi == nullptr || receive.multi->exhausted) return;
  }
  receives_.Post(receive);
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
                               .provider_error = kErrorCanceled,
                               .buffer_released = receive->multi != nullptr});
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

void Target::OnWrite(Peer& peer, const Packet& packet) {
  const PacketHeader& header = packet.header;
  if (header.reply == kNoOperation) return;  // it wants nothing but our handshake
  ++services_.statistics.emulated_writes;
  const auto target =
      services_.memory.FindRemote(*header.remote, header.length, Access::kRemoteWrite);
  if (!target.has_value()) return Refuse(peer, packet);
  operations_.Start(std::make_unique<InboundWrite>(services_, peer, packet, *target));
}

void Target::OnRead(Peer& peer, const Packet& packet) {
  const PacketHeader& header = packet.header;
  ++services_.statistics.emulated_reads;
  const auto source =
      services_.memory.FindRemote(*header.remote, header.length, Access::kRemoteRead);
  if (!source.has_value()) return Refuse(peer, packet);
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

}  // namespace sim::rdm
