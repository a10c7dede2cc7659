#include "drydock/sim/hosts/shadows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/hosts/arrivals.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {
namespace {

using fabric::OperationKind;

// Operations of one process that are under way here.
constexpr std::size_t kMostShadows = 1 << 20;

// A message about a shadow, to its initiator.
Message About(const Operation& shadow, MessageType type) {
  Message message;
  message.type = type;
  message.operation = static_cast<const Payload*>(shadow.payload)->foreign();
  return message;
}

}  // namespace

Operation* Shadows::Find(const Shadow& shadow) const {
  return shadow.over ? nullptr : context_.world.operations().Find(shadow.id);
}

bool Shadows::HasAnswers() const {
  return std::any_of(shadows_.begin(), shadows_.end(), [this](const auto& entry) {
    const Operation* operation = Find(entry.second);
    return operation != nullptr && operation->answered;
  });
}

bool Shadows::IsSound(const Message& message) const {
  const DeviceAttributes& device = context_.node.profile().device;
  const std::size_t nics = context_.node.nic_count();
  const auto kind = static_cast<OperationKind>(message.kind);
  const bool send = kind == OperationKind::kSend;
  if (!send && kind != OperationKind::kWrite && kind != OperationKind::kRead) return false;
  if (message.initiator_nic >= nics || message.target_nic >= nics) return false;
  if (message.datagram != 0 && !send) return false;
  if (message.source_count > message.sources.size()) return false;
  return message.length <= (send ? device.mtu : device.max_rdma_size) &&
         HasPlausiblePackets(message, message.length, device.mtu);
}

// Bytes of the packets in which we send the data that it reads.
std::uint64_t Shadows::MostOfRead(const Message& message) const {
  const Profile& profile = context_.node.profile();
  const std::uint64_t mtu = profile.device.mtu;
  if (message.packet_bytes <= mtu || !profile.instant) return mtu;
  const bool stays =
      access_.MayReadUs(message.length) && context_.world.bus().IsHost(message.remote_address);
  return std::min<std::uint64_t>(message.packet_bytes, stays ? kMostStaying : kMostInMessage);
}

Shadows::Shadow& Shadows::Make(const Message& message) {
  Operation& operation = context_.world.surroundings().StartOperation();
  operation.initiator = &proxies_.Of(message.initiator_nic);
  operation.peer = &context_.node.nic(message.target_nic).state();
  operation.kind = static_cast<OperationKind>(message.kind);
  operation.datagram = message.datagram != 0;
  operation.has_immediate = message.has_immediate != 0;
  operation.unsolicited_immediates = message.unsolicited_immediates != 0;
  operation.immediate = message.immediate;
  operation.length = message.length;
  operation.remote_address = message.remote_address;
  operation.remote_key = message.remote_key;
  operation.queue_pair = message.queue_pair;
  operation.qkey = message.qkey;
  operation.destination_queue_pair = message.destination_queue_pair;
  operation.destination_qkey = message.destination_qkey;
  operation.rnr_retries = message.rnr_retries;
  const bool read = operation.kind == OperationKind::kRead;
  operation.Divide(read ? MostOfRead(message) : message.packet_bytes);
  operation.next_packet = read ? 0 : operation.packets;
  Shadow& shadow =
      shadows_.try_emplace(message.operation, message.operation, *this, operation.id).first->second;
  operation.payload = &shadow.payload;
  return shadow;
}

bool Shadows::TakePacket(const Incoming& incoming) {
  const Message& message = incoming.message;
  if (!IsSound(message)) return false;
  const auto found = shadows_.find(message.operation);
  if (found == shadows_.end() && shadows_.size() >= kMostShadows) return false;
  Shadow& shadow = found == shadows_.end() ? Make(message) : found->second;
  Operation* operation = Find(shadow);
  if (operation == nullptr || operation->ended) return true;
  const std::uint32_t packet = PacketFlags::NumberOf(message.packet);
  if (packet >= operation->packets) return false;
  const bool is_read = operation->kind == OperationKind::kRead;  // whose request comes once
  if (++shadow.arrivals > (is_read ? 1 : kMostPacketArrivals * operation->packets)) return false;
  Range range = operation->PacketRange(packet);
  if (is_read) range = {};
  std::array<Segment, kMostSendSegments> sources;
  for (std::size_t i = 0; i < message.source_count; ++i) {
    sources[i] = {.address = message.sources[i].address,
                  .length = static_cast<std::uint32_t>(message.sources[i].length),
                  .lkey = 0};
  }
  if (!shadow.payload.Take(incoming, range, std::span(sources).first(message.source_count))) {
    return false;
  }
  context_.counters.bytes_in_messages += incoming.payload.size();
  ArrivePacket(context_.world.surroundings(), *operation, message.packet, range.length);
  return true;
}

void Shadows::TakeEnded(const Message& message) {
  const auto found = shadows_.find(message.operation);
  if (found == shadows_.end()) return;
  Operation* operation = Find(found->second);
  if (operation != nullptr) context_.world.surroundings().EndOperation(*operation);
  shadows_.erase(message.operation);  // again: Forget may have erased it
}

void Shadows::EndAll() {
  for (auto& [foreign, shadow] : std::exchange(shadows_, {})) {
    Operation* operation = Find(shadow);
    if (operation != nullptr) context_.world.surroundings().EndOperation(*operation);
  }
}

bool Shadows::SendReadData(const Operation& shadow, std::uint32_t flags, Range range) {
  if (outbox_.crowded()) return false;
  const std::uint64_t address = shadow.remote_address + range.offset;
  Message message = About(shadow, MessageType::kReadData);
  message.packet = flags;
  message.packet_bytes = static_cast<std::uint32_t>(shadow.packet_bytes);
  MemoryBus& bus = context_.world.bus();
  const bool stays =
      PayloadStaysWithSender(shadow) || (access_.MayReadUs(range.length) && bus.IsHost(address));
  SetPlace(range.length, stays, message);
  const std::span<std::byte> payload = outbox_.Put(message);
  if (!payload.empty()) {
    bus.Copy(payload.data(), PointerTo(address), range.length, {.from = shadow.peer->index()});
  }
  return true;
}

void Shadows::SendAnswer(const Operation& shadow) {
  Message message = About(shadow, MessageType::kAnswer);
  message.status = shadow.status;
  outbox_.Put(message);
}

void Shadows::SendLost(const Operation& shadow) { outbox_.Put(About(shadow, MessageType::kLost)); }

void Shadows::Forget(const Operation& shadow) {
  const auto found = shadows_.find(static_cast<const Payload*>(shadow.payload)->foreign());
  if (found == shadows_.end()) return;
  const std::uint8_t status = shadow.silent ? 1 : shadow.status;
  if (!IsKnownUntilEnded(shadow.kind, status)) {
    shadows_.erase(found);
    return;
  }
  found->second.over = true;
  found->second.payload.Drop();
}

}  // namespace drydock::sim
