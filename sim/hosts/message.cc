#include "drydock/sim/hosts/message.h"

#include <algorithm>
#include <cstring>

namespace drydock::sim {

Message Describe(const Operation& operation) {
  Message message;
  message.kind = static_cast<std::uint8_t>(operation.kind);
  message.rnr_retries = operation.rnr_retries;
  message.datagram = operation.datagram;
  message.operation = operation.id.Pack();
  message.length = operation.length;
  message.remote_address = operation.remote_address;
  message.remote_key = operation.remote_key;
  message.has_immediate = operation.has_immediate;
  message.unsolicited_immediates = operation.unsolicited_immediates;
  message.immediate = operation.immediate;
  message.packet_bytes = static_cast<std::uint32_t>(operation.packet_bytes);
  message.queue_pair = operation.queue_pair;
  message.qkey = operation.qkey;
  message.destination_queue_pair = operation.destination_queue_pair;
  message.destination_qkey = operation.destination_qkey;
  return message;
}

void SetPlace(std::uint64_t bytes, bool stays, Message& message) {
  if (bytes == 0) return;
  message.place = stays ? PayloadPlace::kSender : PayloadPlace::kMessage;
  if (!stays) message.payload_bytes = static_cast<std::uint32_t>(bytes);
}

bool PayloadStaysWithSender(const Operation& operation) {
  return operation.packet_bytes > kMostInMessage;
}

bool HasPlausiblePackets(const Message& message, std::uint64_t length, std::uint32_t mtu) {
  return message.packet_bytes >= std::min<std::uint64_t>(length, mtu);
}

bool IsKnownUntilEnded(fabric::OperationKind kind, std::uint8_t status) {
  return kind == fabric::OperationKind::kWrite && status != 0;
}

std::optional<Incoming> Parse(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Message)) return std::nullopt;
  Incoming incoming;
  std::memcpy(&incoming.message, bytes.data(), sizeof(Message));
  const Message& message = incoming.message;
  const auto type = static_cast<std::uint8_t>(message.type);
  if (type < 1 || type > static_cast<std::uint8_t>(MessageType::kEnded)) return std::nullopt;
  if (message.payload_bytes > bytes.size() - sizeof(Message)) return std::nullopt;
  const bool has_payload = message.place == PayloadPlace::kMessage;
  if (has_payload != (message.payload_bytes > 0)) return std::nullopt;
  if (message.place > PayloadPlace::kLast) return std::nullopt;
  incoming.payload = bytes.subspan(sizeof(Message), message.payload_bytes);
  return incoming;
}

}  // namespace drydock::sim
