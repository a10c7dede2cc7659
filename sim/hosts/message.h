// A message between two processes, of fixed size, and the payload behind it. Messages travel
// through shared memory or a socket.

#ifndef DRYDOCK_SIM_HOSTS_MESSAGE_H_
#define DRYDOCK_SIM_HOSTS_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/operation.h"

namespace drydock::sim {

enum class MessageType : std::uint8_t {
  kPacket = 1,    // initiator to target: a packet of an operation arrives
  kReadData = 2,  // target to initiator: data of a read
  kAnswer = 3,    // target to initiator: how the operation ended
  kLost = 4,      // target to initiator: there is no answer
  kEnded = 5,     // initiator to target: forget the operation
};

// Where a packet's payload is.
enum class PayloadPlace : std::uint8_t {
  kNone = 0,     // there is none
  kMessage = 1,  // behind the message
  kSender = 2,   // in the sender's memory, where `sources` or the read's remote address say
  kLast = kSender,
};

// Its bytes lie in memory that both processes have mapped, or go through a socket as they are: both
// ends have the same layout (handshake.cc compares its size).
struct Message {
  MessageType type = MessageType::kPacket;
  PayloadPlace place = PayloadPlace::kNone;
  std::uint8_t initiator_nic = 0;
  std::uint8_t target_nic = 0;
  std::uint8_t status = 0;  // kAnswer
  std::uint8_t kind = 0;    // fabric::OperationKind
  std::uint8_t rnr_retries = 0;
  std::uint8_t datagram = 0;
  std::uint64_t operation = 0;      // OperationId::Pack at the initiator
  std::uint32_t packet = 0;         // number and flags
  std::uint32_t payload_bytes = 0;  // behind the message
  std::uint64_t length = 0;         // of the whole operation
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t immediate = 0;
  // Of each packet of the operation but the last. In the request of a read: the most that its
  // initiator takes, because the target divides the data.
  std::uint32_t packet_bytes = 0;
  std::uint32_t qkey = 0;
  std::uint32_t destination_qkey = 0;
  std::uint16_t queue_pair = 0;
  std::uint16_t destination_queue_pair = 0;
  std::uint8_t has_immediate = 0;
  std::uint8_t source_count = 0;
  std::uint8_t cut = 0;  // of the packet, only the bytes behind the message reach memory
  std::uint8_t unsolicited_immediates = 0;
  std::array<std::uint8_t, 4> unused{};
  struct Source {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
  };
  std::array<Source, kMostSendSegments> sources{};  // the operation's local memory
};
static_assert(std::is_trivially_copyable_v<Message> && sizeof(Message) == 104);

// Everything about one of our operations but the packet.
Message Describe(const Operation& operation);

// Payload of one packet of an operation that takes no time, where its bytes come with the message:
// it fits twice in the smallest ring.
inline constexpr std::uint64_t kMostInMessage = 24 << 10;
// The same where they stay with the sender: a system call's cost is small beside so many bytes.
inline constexpr std::uint64_t kMostStaying = 1 << 20;

// Of a packet with so many bytes of payload: whether they stay in our memory, or are behind the
// message.
void SetPlace(std::uint64_t bytes, bool stays, Message& message);

// An operation for whose packets no message has room: their bytes stay with the sender, even if the
// right to read them is lost.
bool PayloadStaysWithSender(const Operation& operation);

// Whether the message's packets are ones that we could make, too: of an operation of `length`
// bytes, with the MTU of our devices.
bool HasPlausiblePackets(const Message& message, std::uint64_t length, std::uint32_t mtu);

// Whether the target knows an operation that has ended there until kEnded comes: after a failure
// more packets of a write may come, and its initiator says when none does.
bool IsKnownUntilEnded(fabric::OperationKind kind, std::uint8_t status);

// A copy of the message at the beginning of `bytes`, and its payload. Absent: the bytes are no
// message, or its payload is not there. The fields are still to be checked.
struct Incoming {
  Message message;
  std::span<const std::byte> payload;
};
std::optional<Incoming> Parse(std::span<const std::byte> bytes);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_MESSAGE_H_
