#include "drydock/sim/rdm/packet.h"

#include <algorithm>
#include <array>

#include "drydock/sim/rdm/atomic_execution.h"

namespace drydock::sim::rdm {
namespace {

constexpr std::size_t kBaseBytes = 56;
constexpr std::size_t kSourceBytes = fabric::Address::kEfaBytes;
constexpr std::size_t kRemoteBytes = 16;
constexpr std::size_t kAtomicBytes = 8;

static_assert(kBaseBytes + kSourceBytes + kRemoteBytes + kAtomicBytes <= kMaxHeaderBytes);

// The optional parts of a header, in their order.
enum Part : std::uint16_t { kSource = 1, kRemote = 2, kAtomic = 4, kImmediate = 8, kAllParts = 15 };

template <typename T>
void Put(std::span<std::byte> bytes, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

template <typename T>
T Get(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<std::uint64_t>(bytes[at + i]) << (8 * i);
  }
  return static_cast<T>(value);
}

std::uint16_t PartsOf(const PacketHeader& header) {
  return static_cast<std::uint16_t>(
      (header.source.has_value() ? kSource : 0) | (header.remote.has_value() ? kRemote : 0) |
      (header.atomic.has_value() ? kAtomic : 0) | (header.immediate.has_value() ? kImmediate : 0));
}

std::size_t HeaderBytes(std::uint16_t parts) {
  return kBaseBytes + ((parts & kSource) != 0 ? kSourceBytes : 0) +
         ((parts & kRemote) != 0 ? kRemoteBytes : 0) + ((parts & kAtomic) != 0 ? kAtomicBytes : 0);
}

bool IsKnown(std::uint8_t kind) {
  const bool answer = kind >= 3 && kind <= 12 && kind != 6;
  return answer || (kind >= 64 && kind <= 76) || (kind >= 128 && kind <= 130);
}

bool NamesMemory(PacketKind kind) {
  return IsAtomic(kind) || kind == PacketKind::kLongReadWrite ||
         (kind >= PacketKind::kEagerWrite && kind <= PacketKind::kLongCtsRead);
}

bool MayHaveImmediate(PacketKind kind) {
  return IsMessage(kind) || kind == PacketKind::kEagerWrite || kind == PacketKind::kLongCtsWrite ||
         kind == PacketKind::kLongReadWrite;
}

bool PartsFit(PacketKind kind, std::uint16_t parts) {
  return ((parts & kRemote) != 0) == NamesMemory(kind) &&
         ((parts & kAtomic) != 0) == IsAtomic(kind) &&
         ((parts & kImmediate) == 0 || MayHaveImmediate(kind));
}

// The header at the front of `bytes`, as far as it can be judged alone.
std::optional<PacketHeader> DecodeHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < kBaseBytes) return std::nullopt;
  const auto kind = Get<std::uint8_t>(bytes, 0);
  const auto parts = Get<std::uint16_t>(bytes, 2);
  if (!IsKnown(kind) || Get<std::uint8_t>(bytes, 1) != kProtocolVersion) return std::nullopt;
  if ((parts & ~kAllParts) != 0 || !PartsFit(static_cast<PacketKind>(kind), parts) ||
      bytes.size() < HeaderBytes(parts)) {
    return std::nullopt;
  }
  PacketHeader header;
  header.kind = static_cast<PacketKind>(kind);
  header.connid = Get<std::uint32_t>(bytes, 4);
  header.message = Get<std::uint32_t>(bytes, 8);
  if ((parts & kImmediate) != 0) header.immediate = Get<std::uint32_t>(bytes, 12);
  header.operation = Get<std::uint64_t>(bytes, 16);
  header.reply = Get<std::uint64_t>(bytes, 24);
  header.tag = Get<std::uint64_t>(bytes, 32);
  header.length = Get<std::uint64_t>(bytes, 40);
  header.offset = Get<std::uint64_t>(bytes, 48);
  std::size_t at = kBaseBytes;
  if ((parts & kSource) != 0) {
    std::array<std::uint8_t, kSourceBytes> source;
    for (std::uint8_t& byte : source) byte = Get<std::uint8_t>(bytes, at++);
    header.source = *fabric::Address::FromBytes(source);
  }
  if ((parts & kRemote) != 0) {
    header.remote = {Get<std::uint64_t>(bytes, at), Get<std::uint64_t>(bytes, at + 8)};
    at += kRemoteBytes;
  }
  if ((parts & kAtomic) != 0) {
    header.atomic = static_cast<fabric::AtomicOperation>(Get<std::uint8_t>(bytes, at));
    header.atomic_type = static_cast<fabric::AtomicType>(Get<std::uint8_t>(bytes, at + 1));
  }
  return header;
}

// True when [offset, offset + size) lies within `length`; no sum that could wrap around.
bool Within(std::uint64_t offset, std::uint64_t size, std::uint64_t length) {
  return offset <= length && size <= length - offset;
}

bool SegmentsFit(const PacketHeader& header, std::span<const std::byte> payload) {
  if (payload.empty() || payload.size() % kReadSegmentBytes != 0 ||
      payload.size() > kMaxReadSegments * kReadSegmentBytes) {
    return false;
  }
  std::uint64_t left = header.length;
  for (const ReadSegment& segment : DecodeSegments(payload)) {
    if (segment.length_bytes == 0 || segment.length_bytes > left) return false;
    left -= segment.length_bytes;
  }
  return left == 0;
}

bool OperandsFit(const PacketHeader& header, std::size_t payload) {
  const fabric::AtomicOperation operation = *header.atomic;
  if (!SupportsAtomic(operation, header.atomic_type) || header.length == 0 ||
      header.length % fabric::SizeOf(header.atomic_type) != 0 || header.length > UINT32_MAX) {
    return false;
  }
  const bool compares = operation == fabric::AtomicOperation::kCompareSwap;
  if (compares != (header.kind == PacketKind::kCompareAtomic)) return false;
  if (operation == fabric::AtomicOperation::kRead) {
    return header.kind == PacketKind::kFetchAtomic && payload == 0;
  }
  return payload == header.length * (compares ? 2 : 1);
}

bool LengthsFit(const PacketHeader& header, std::span<const std::byte> payload) {
  const std::size_t size = payload.size();
  switch (header.kind) {
    case PacketKind::kEager:
    case PacketKind::kEagerTagged:
    case PacketKind::kEagerWrite:
    case PacketKind::kAtomicResponse:
      return header.offset == 0 && header.length == size;
    case PacketKind::kMedium:
    case PacketKind::kMediumTagged:
    case PacketKind::kCtsData:
      return size > 0 && Within(header.offset, size, header.length);
    case PacketKind::kReadResponse:
      return (size > 0 || header.length == 0) && Within(header.offset, size, header.length);
    case PacketKind::kLongCts:
    case PacketKind::kLongCtsTagged:
    case PacketKind::kLongCtsWrite:
      return header.offset == 0 && size < header.length;
    case PacketKind::kLongRead:
    case PacketKind::kLongReadTagged:
    case PacketKind::kLongReadWrite:
      return header.offset == 0 && SegmentsFit(header, payload);
    case PacketKind::kWriteAtomic:
    case PacketKind::kFetchAtomic:
    case PacketKind::kCompareAtomic:
      return header.offset == 0 && OperandsFit(header, size);
    case PacketKind::kLongCtsRead:
      return size == 0 && header.offset > 0 && header.offset <= header.length;
    case PacketKind::kCts:
    case PacketKind::kReadNack:
      return size == 0 && header.length > 0;
    default:
      return size == 0;
  }
}

}  // namespace

std::size_t EncodedBytes(const PacketHeader& header) { return HeaderBytes(PartsOf(header)); }

std::size_t Encode(const PacketHeader& header, std::span<std::byte> packet) {
  const std::uint16_t parts = PartsOf(header);
  Put(packet, 0, static_cast<std::uint8_t>(header.kind));
  Put(packet, 1, kProtocolVersion);
  Put(packet, 2, parts);
  Put(packet, 4, header.connid);
  Put(packet, 8, header.message);
  Put(packet, 12, header.immediate.value_or(0));
  Put(packet, 16, header.operation);
  Put(packet, 24, header.reply);
  Put(packet, 32, header.tag);
  Put(packet, 40, header.length);
  Put(packet, 48, header.offset);
  std::size_t at = kBaseBytes;
  if (header.source.has_value()) {
    for (const std::uint8_t byte : header.source->bytes()) Put(packet, at++, byte);
  }
  if (header.remote.has_value()) {
    Put(packet, at, header.remote->address);
    Put(packet, at + 8, header.remote->key);
    at += kRemoteBytes;
  }
  if (header.atomic.has_value()) {
    Put(packet, at, std::uint64_t{0});
    Put(packet, at, static_cast<std::uint8_t>(*header.atomic));
    Put(packet, at + 1, static_cast<std::uint8_t>(header.atomic_type));
    at += kAtomicBytes;
  }
  return at;
}

std::optional<Packet> Decode(std::span<const std::byte> bytes) {
  std::optional<PacketHeader> header = DecodeHeader(bytes);
  if (!header.has_value()) return std::nullopt;
  const std::span<const std::byte> payload = bytes.subspan(EncodedBytes(*header));
  if (!LengthsFit(*header, payload)) return std::nullopt;
  return Packet{*header, payload};
}

void EncodeSegments(std::span<const ReadSegment> segments, std::span<std::byte> payload) {
  std::size_t at = 0;
  for (const ReadSegment& segment : segments) {
    Put(payload, at, segment.place.address);
    Put(payload, at + 8, segment.place.key);
    Put(payload, at + 16, segment.length_bytes);
    at += kReadSegmentBytes;
  }
}

std::vector<ReadSegment> DecodeSegments(std::span<const std::byte> payload) {
  std::vector<ReadSegment> segments;
  for (std::size_t at = 0; at < payload.size(); at += kReadSegmentBytes) {
    segments.push_back(
        {.place = {Get<std::uint64_t>(payload, at), Get<std::uint64_t>(payload, at + 8)},
         .length_bytes = Get<std::uint64_t>(payload, at + 16)});
  }
  return segments;
}

}  // namespace drydock::sim::rdm
