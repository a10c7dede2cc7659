// The packets of the protocol: their fields, their bytes on the wire, and which bytes are no packet
// at all.
//
// One packet is one Send of the device below. Kinds and their numbers are those of the provider
// (ofiwg/libfabric prov/efa/docs/efa_rdm_protocol_v4.md); the layout is our own: one header that
// all kinds share, then optional parts, then the payload. Numbers are little-endian.
//
//     0  kind 1, version 1, parts 2     32  tag 8
//     4  connid 4                       40  length 8
//     8  message 4                      48  offset 8
//    12  immediate 4                    56  [source address 32] [remote 16] [atomic 8]
//    16  operation 8                        payload
//    24  reply 8

#ifndef DRYDOCK_SIM_RDM_PACKET_H_
#define DRYDOCK_SIM_RDM_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drydock/fabric/address.h"
#include "drydock/fabric/atomics.h"
#include "drydock/fabric/memory.h"

namespace drydock::sim::rdm {

enum class PacketKind : std::uint8_t {
  // Answers: they name the operation that they are for.
  kCts = 3,             // clear to send: you may send `length` bytes from `offset`
  kCtsData = 4,         // bytes that a clear-to-send has granted
  kReadResponse = 5,    // bytes of an emulated read
  kEor = 7,             // end of read: I have read your memory
  kAtomicResponse = 8,  // the values from before
  kHandshake = 9,       // version and features; for no operation
  kReceipt = 10,        // your write or atomic is done
  kReadNack = 11,       // I cannot read your memory: send it, beginning with this grant
  kPeerError = 12,      // your operation fails, for this reason
  // Requests.
  kEager = 64,
  kEagerTagged = 65,
  kMedium = 66,
  kMediumTagged = 67,
  kLongCts = 68,
  kLongCtsTagged = 69,
  kEagerWrite = 70,
  kLongCtsWrite = 71,
  kShortRead = 72,
  kLongCtsRead = 73,
  kWriteAtomic = 74,
  kFetchAtomic = 75,
  kCompareAtomic = 76,
  kLongRead = 128,
  kLongReadTagged = 129,
  kLongReadWrite = 130,
};

// How kinds of packets differ.
constexpr bool IsTagged(PacketKind kind) {
  return kind == PacketKind::kEagerTagged || kind == PacketKind::kMediumTagged ||
         kind == PacketKind::kLongCtsTagged || kind == PacketKind::kLongReadTagged;
}
constexpr bool IsMedium(PacketKind kind) {
  return kind == PacketKind::kMedium || kind == PacketKind::kMediumTagged;
}
constexpr bool IsAtomic(PacketKind kind) {
  return kind == PacketKind::kWriteAtomic || kind == PacketKind::kFetchAtomic ||
         kind == PacketKind::kCompareAtomic;
}
constexpr bool IsMessage(PacketKind kind) {
  return (kind >= PacketKind::kEager && kind <= PacketKind::kLongCtsTagged) ||
         kind == PacketKind::kLongRead || kind == PacketKind::kLongReadTagged;
}
// The receiver clears the sender to send.
constexpr bool IsLongCts(PacketKind kind) {
  return kind == PacketKind::kLongCts || kind == PacketKind::kLongCtsTagged ||
         kind == PacketKind::kLongCtsWrite;
}
// Messages and atomics of one sender are handled in the order of their numbers; others at once.
constexpr bool IsOrdered(PacketKind kind) { return IsMessage(kind) || IsAtomic(kind); }
// The receiver reads the sender's memory.
constexpr bool IsLongRead(PacketKind kind) { return kind >= PacketKind::kLongRead; }
// The sender of this request waits for an answer: all but messages that come whole.
constexpr bool AwaitsAnswer(PacketKind kind) {
  return !IsMessage(kind) || IsLongCts(kind) || IsLongRead(kind);
}
constexpr bool IsAnswer(PacketKind kind) { return kind < PacketKind::kEager; }

inline constexpr std::uint8_t kProtocolVersion = 4;

// The features in a handshake, bit by bit; the numbers of the provider's extra features where it
// has them.
enum Feature : std::uint64_t {
  kFeatureDeviceRead = 1u << 0,
  kFeatureDeviceWrite = 1u << 5,
  kFeatureUnsolicitedWrite = 1u << 8,
  // Its NIC names the sender of a packet: no packet to it needs to say so once it knows us. (On the
  // device this is always so.)
  kFeatureNamesSource = std::uint64_t{1} << 32,
};

// Names an operation within its endpoint (operation_table.h).
using OperationId = std::uint64_t;
// No operation: a packet that wants no answer carries it.
inline constexpr OperationId kNoOperation = 0;

struct PacketHeader {
  PacketKind kind = PacketKind::kEager;
  std::uint32_t connid = 0;   // of the sender: the qkey of its address
  std::uint32_t message = 0;  // ordered kinds: counts the sender's messages and atomics to us
  OperationId operation = kNoOperation;  // answers: of the addressee
  OperationId reply = kNoOperation;      // the sender's own, for answers to name
  std::optional<std::uint32_t> immediate;
  std::uint64_t tag = 0;  // tagged messages; kHandshake: features; kPeerError: provider's number
  // Of the whole message, write, read or operand; kCts, kReadNack: granted.
  std::uint64_t length = 0;
  std::uint64_t offset = 0;  // of the payload or grant; kLongCtsRead: bytes granted from the start
  std::optional<fabric::Address> source;          // of the sender
  std::optional<fabric::RemoteBuffer> remote;     // writes, reads and atomics: where
  std::optional<fabric::AtomicOperation> atomic;  // atomics: what
  fabric::AtomicType atomic_type = fabric::AtomicType::kInt32;
};

// A packet that was received. `payload` lies within the bytes that were decoded.
struct Packet {
  PacketHeader header;
  std::span<const std::byte> payload;
};

// The longest header that any kind has at the provider. A payload never takes more than the MTU
// less this, so that one length limit serves all kinds (ofiwg/libfabric prov/efa: 168 bytes).
inline constexpr std::size_t kMaxHeaderBytes = 168;

// Bytes that Encode writes.
std::size_t EncodedBytes(const PacketHeader& header);

// Writes the header to the front of `packet` and returns its length. REQUIRES: the packet is long
// enough; a source address has 32 bytes.
std::size_t Encode(const PacketHeader& header, std::span<std::byte> packet);

// Reads a packet that came from an untrusted peer. Empty unless everything about it makes sense by
// itself: the version, the kind, the parts that the kind has and no others, and lengths and offsets
// that agree with each other and with the payload.
std::optional<Packet> Decode(std::span<const std::byte> bytes);

// The sender's memory in a long-read request, as its payload.
struct ReadSegment {
  fabric::RemoteBuffer place;
  std::uint64_t length_bytes = 0;
};
inline constexpr std::size_t kReadSegmentBytes = 24;
inline constexpr std::size_t kMaxReadSegments = 4;

// REQUIRES: at most kMaxReadSegments; `payload` has kReadSegmentBytes for each.
void EncodeSegments(std::span<const ReadSegment> segments, std::span<std::byte> payload);
// REQUIRES: the payload of a decoded long-read request.
std::vector<ReadSegment> DecodeSegments(std::span<const std::byte> payload);

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_PACKET_H_
