#include "drydock/sim/hosts/remote_operations.h"

#include <cstring>
#include <span>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/ending.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/hosts/arrivals.h"
#include "drydock/sim/memory/memory_bus.h"

namespace drydock::sim {

using fabric::OperationKind;

bool RemoteOperations::IsUnderWay(const Operation& operation) const {
  return operation.remote && !operation.ended && operation.peer->machine() == slot_;
}

// Whether the other process reads `length` bytes of our write where they are.
bool RemoteOperations::StaysHere(const Operation& operation, std::uint64_t length) const {
  // Messages are short, and wait for receives: they bring their bytes along.
  bool stays = operation.kind == OperationKind::kWrite && !operation.is_inline &&
               !operation.faulted && access_.MayReadUs(length);
  operation.Walk({0, operation.length}, [&](const Segment& piece) {
    stays = stays && context_.world.bus().IsHost(piece.address);
  });
  return stays;
}

void RemoteOperations::Divide(Operation& operation) const {
  operation.Divide(StaysHere(operation, operation.length) ? kMostStaying : kMostInMessage);
  operation.next_packet = operation.packets;
}

// Copies payload bytes [range) to `target`.
void RemoteOperations::Gather(const Operation& operation, Range range, std::byte* target) const {
  if (operation.is_inline) {
    std::memcpy(target, operation.inline_data.data() + range.offset, range.length);
    return;
  }
  operation.Walk(range, [&](const Segment& piece) {
    context_.world.bus().Copy(target, PointerTo(piece.address), piece.length,
                              {.from = operation.initiator->index()});
    target += piece.length;
  });
}

bool RemoteOperations::SendPacket(const Operation& operation, std::uint32_t flags, Range range) {
  if (outbox_.crowded()) return false;
  Message message = Describe(operation);
  message.type = MessageType::kPacket;
  message.packet = flags;
  message.initiator_nic = static_cast<std::uint8_t>(operation.initiator->gid.back());
  message.target_nic = static_cast<std::uint8_t>(operation.peer->gid.back());
  const bool stays = PayloadStaysWithSender(operation) || StaysHere(operation, range.length);
  operation.Walk({0, operation.length}, [&](const Segment& piece) {
    message.sources[message.source_count++] = {piece.address, piece.length};
  });
  ForwardVerdict verdict;
  if (operation.faulted) {
    verdict = context_.world.surroundings().faults->OnForward(operation, range);
    range.length = verdict.kept_bytes;
    message.cut = 1;
    if (!verdict.announces) message.has_immediate = 0;
  }
  SetPlace(range.length, stays, message);
  const std::span<std::byte> payload = outbox_.Put(message);
  if (!payload.empty()) Gather(operation, range, payload.data());
  for (const FlippedBits& bits : verdict.flipped) {
    const std::uint64_t at = bits.byte - range.offset;  // huge if it is before
    if (at < payload.size()) payload[at] ^= bits.mask;
  }
  if (!operation.remote && !operation.datagram) ++count_;
  return true;
}

void RemoteOperations::SendEnded(const Operation& operation) {
  --count_;
  reads_.erase(operation.id.Pack());
  const bool read_to_the_end = operation.kind == OperationKind::kRead && operation.status == 0;
  const bool gone_there = answering_ ? !IsKnownUntilEnded(operation.kind, operation.status)
                                     : operation.answered && read_to_the_end;
  if (gone_there) return;
  Message message;
  message.type = MessageType::kEnded;
  message.operation = operation.id.Pack();
  outbox_.Put(message);
}

bool RemoteOperations::Take(const Incoming& incoming) {
  const Message& message = incoming.message;
  Operation* operation = context_.world.operations().Find(OperationId::Unpack(message.operation));
  // The other process may speak of no other one.
  if (operation == nullptr || !IsUnderWay(*operation)) return true;
  switch (message.type) {
    case MessageType::kReadData:
      return TakeReadData(incoming, *operation);
    case MessageType::kAnswer:
      answering_ = true;
      TakeAnswer(context_.world.surroundings(), *operation, message.status);
      answering_ = false;
      return true;
    default:
      FallSilent(context_.world.surroundings(), *operation);
      return true;
  }
}

bool RemoteOperations::TakeReadData(const Incoming& incoming, Operation& operation) {
  const Message& message = incoming.message;
  if (operation.kind != OperationKind::kRead) return false;
  if (!HasPlausiblePackets(message, operation.length, context_.node.profile().device.mtu))
    return false;
  const std::uint64_t id = operation.id.Pack();
  const auto [entry, first] = reads_.try_emplace(id, id, *this);
  if (first) {
    operation.Divide(message.packet_bytes);
    operation.next_packet = operation.packets;
  }
  const std::uint32_t packet = PacketFlags::NumberOf(message.packet);
  if (packet >= operation.packets) return false;
  if (++entry->second.arrivals > kMostPacketArrivals * operation.packets) return false;
  const Range range = operation.PacketRange(packet);
  Payload& payload = entry->second.payload;
  operation.payload = &payload;
  const Segment source{.address = operation.remote_address,
                       .length = static_cast<std::uint32_t>(operation.length),
                       .lkey = 0};
  if (!payload.Take(incoming, range, {&source, 1})) return false;
  context_.counters.bytes_in_messages += incoming.payload.size();
  ArriveReadData(context_.world.surroundings(), operation, message.packet, range.length);
  return true;
}

void RemoteOperations::Lose() {
  context_.world.operations().ForEach([this](Operation& operation) {
    if (IsUnderWay(operation)) FallSilent(context_.world.surroundings(), operation);
  });
}

}  // namespace drydock::sim
