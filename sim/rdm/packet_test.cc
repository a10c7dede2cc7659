#include "drydock/sim/rdm/packet.h"

#include <array>
#include <cstdint>
#include <vector>

#include "drydock/sim/rdm/testing/packet_kinds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::AtomicOperation;
using fabric::AtomicType;
using Bytes = std::vector<std::byte>;

fabric::Address SomeAddress() {
  std::array<std::uint8_t, fabric::Address::kEfaBytes> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i + 100);
  return *fabric::Address::FromBytes(bytes);
}

Bytes Encoded(const PacketHeader& header, std::size_t payload_bytes) {
  Bytes bytes(kMaxHeaderBytes + payload_bytes, std::byte{0x5a});
  bytes.resize(Encode(header, bytes) + payload_bytes);
  return bytes;
}

Bytes WithSegments(PacketHeader header, const std::vector<ReadSegment>& segments) {
  Bytes bytes = Encoded(header, segments.size() * kReadSegmentBytes);
  EncodeSegments(segments, std::span(bytes).subspan(EncodedBytes(header)));
  return bytes;
}

bool NamesMemory(PacketKind kind) {
  return IsAtomic(kind) || kind == PacketKind::kEagerWrite || kind == PacketKind::kLongCtsWrite ||
         kind == PacketKind::kShortRead || kind == PacketKind::kLongCtsRead ||
         kind == PacketKind::kLongReadWrite;
}

// A good packet of each kind, and how long its payload is.
PacketHeader Example(PacketKind kind) {
  PacketHeader header{.kind = kind,
                      .connid = 0x12345678,
                      .message = 0xfffffffe,
                      .operation = 0x1122334455667788,
                      .reply = 0x8877665544332211,
                      .tag = 0xaaaaaaaaaaaaaaaa,
                      .length = 64};
  if (NamesMemory(kind)) header.remote = fabric::RemoteBuffer{0xfedcba9876543210, 0xabcdef01};
  if (IsAtomic(kind)) {
    header.atomic =
        kind == PacketKind::kCompareAtomic ? AtomicOperation::kCompareSwap : AtomicOperation::kMax;
    header.atomic_type = AtomicType::kDouble;
  }
  if (IsMedium(kind) || kind == PacketKind::kCtsData || kind == PacketKind::kReadResponse) {
    header.offset = 32;
  }
  if (kind == PacketKind::kLongCtsRead) header.offset = 48;
  return header;
}
std::size_t PayloadOf(PacketKind kind) {
  switch (kind) {
    case PacketKind::kMedium:
    case PacketKind::kMediumTagged:
    case PacketKind::kCtsData:
    case PacketKind::kReadResponse:
      return 32;
    case PacketKind::kEager:
    case PacketKind::kEagerTagged:
    case PacketKind::kEagerWrite:
    case PacketKind::kAtomicResponse:
    case PacketKind::kWriteAtomic:
    case PacketKind::kFetchAtomic:
      return 64;
    case PacketKind::kCompareAtomic:
      return 128;
    case PacketKind::kLongCts:
    case PacketKind::kLongCtsTagged:
    case PacketKind::kLongCtsWrite:
      return 63;
    default:
      return 0;
  }
}
Bytes ExampleBytes(PacketKind kind) {
  const PacketHeader header = Example(kind);
  if (!IsLongRead(kind)) return Encoded(header, PayloadOf(kind));
  return WithSegments(header, {{{0x1000, 7}, 60}, {{0x2000, 8}, 4}});
}

TEST(PacketTest, MessagesThatComeWholeAwaitNoAnswer) {
  for (const PacketKind kind : {PacketKind::kEager, PacketKind::kEagerTagged, PacketKind::kMedium,
                                PacketKind::kMediumTagged}) {
    EXPECT_FALSE(AwaitsAnswer(kind));
  }
  for (const PacketKind kind :
       {PacketKind::kLongCts, PacketKind::kLongReadTagged, PacketKind::kEagerWrite,
        PacketKind::kShortRead, PacketKind::kCompareAtomic, PacketKind::kLongReadWrite}) {
    EXPECT_TRUE(AwaitsAnswer(kind));
  }
}

TEST(PacketTest, EveryKindRoundTrips) {
  for (const PacketKind kind : kAllKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    const Bytes bytes = ExampleBytes(kind);
    const auto packet = Decode(bytes);
    ASSERT_TRUE(packet.has_value());
    const PacketHeader expected = Example(kind);
    const PacketHeader& header = packet->header;
    EXPECT_EQ(header.kind, kind);
    EXPECT_EQ(header.connid, expected.connid);
    EXPECT_EQ(header.message, expected.message);
    EXPECT_EQ(header.operation, expected.operation);
    EXPECT_EQ(header.reply, expected.reply);
    EXPECT_EQ(header.tag, expected.tag);
    EXPECT_EQ(header.length, expected.length);
    EXPECT_EQ(header.offset, expected.offset);
    EXPECT_EQ(header.immediate, std::nullopt);
    EXPECT_EQ(header.source, std::nullopt);
    EXPECT_EQ(header.atomic, expected.atomic);
    EXPECT_EQ(header.remote.has_value(), NamesMemory(kind));
    EXPECT_EQ(packet->payload.size(), bytes.size() - EncodedBytes(expected));
    EXPECT_EQ(packet->payload.data(), bytes.data() + EncodedBytes(expected));
  }
}

TEST(PacketTest, OptionalPartsRoundTrip) {
  PacketHeader header = Example(PacketKind::kFetchAtomic);
  header.source = SomeAddress();
  const auto packet = Decode(Encoded(header, 64));
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->header.source, SomeAddress());
  EXPECT_EQ(packet->header.remote->address, 0xfedcba9876543210);
  EXPECT_EQ(packet->header.remote->key, 0xabcdef01);
  EXPECT_EQ(packet->header.atomic, AtomicOperation::kMax);
  EXPECT_EQ(packet->header.atomic_type, AtomicType::kDouble);
  header = Example(PacketKind::kEager);
  header.immediate = 0;
  EXPECT_EQ(Decode(Encoded(header, 64))->header.immediate, 0u);
}

TEST(PacketTest, LongestHeaderFitsItsLimit) {
  PacketHeader header = Example(PacketKind::kCompareAtomic);
  header.source = SomeAddress();
  header.immediate = 1;
  EXPECT_LE(EncodedBytes(header), kMaxHeaderBytes);
}

TEST(PacketTest, SegmentsRoundTrip) {
  const Bytes bytes = ExampleBytes(PacketKind::kLongRead);
  const auto segments = DecodeSegments(Decode(bytes)->payload);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].place.address, 0x1000u);
  EXPECT_EQ(segments[1].place.key, 8u);
  EXPECT_EQ(segments[1].length_bytes, 4u);
}

TEST(PacketTest, CutPacketsAreRefused) {
  for (const PacketKind kind : kAllKinds) {
    const Bytes bytes = ExampleBytes(kind);
    const std::size_t header = EncodedBytes(Example(kind));
    for (std::size_t length = 0; length < header; ++length) {
      EXPECT_FALSE(Decode(std::span(bytes).first(length)).has_value())
          << static_cast<int>(kind) << " " << length;
    }
  }
}

TEST(PacketTest, UnknownKindsVersionsAndPartsAreRefused) {
  for (int kind = 0; kind < 256; ++kind) {
    Bytes bytes = ExampleBytes(PacketKind::kHandshake);
    bytes[0] = static_cast<std::byte>(kind);
    const auto packet = Decode(bytes);
    if (packet.has_value()) {
      EXPECT_THAT(kAllKinds, ::testing::Contains(static_cast<PacketKind>(kind)));
    }
  }
  for (const int version : {0, 3, 5, 255}) {
    Bytes bytes = ExampleBytes(PacketKind::kEager);
    bytes[1] = static_cast<std::byte>(version);
    EXPECT_FALSE(Decode(bytes).has_value()) << version;
  }
  for (int part = 4; part < 16; ++part) {
    Bytes bytes = ExampleBytes(PacketKind::kEager);
    bytes[2 + part / 8] |= static_cast<std::byte>(1 << part % 8);
    EXPECT_FALSE(Decode(bytes).has_value()) << part;
  }
}

// A part that the kind has not, or lacks.
TEST(PacketTest, PartsMustBeThoseOfTheKind) {
  for (const PacketKind kind : kAllKinds) {
    for (const int part : {1, 2}) {  // where memory is, what an atomic does
      Bytes bytes = ExampleBytes(kind);
      bytes.resize(bytes.size() + 200);
      bytes[2] ^= static_cast<std::byte>(1 << part);
      EXPECT_FALSE(Decode(bytes).has_value()) << static_cast<int>(kind) << " " << part;
    }
  }
  PacketHeader cts = Example(PacketKind::kCts);
  cts.immediate = 1;
  EXPECT_FALSE(Decode(Encoded(cts, 0)).has_value());
}

struct Malformed {
  PacketKind kind;
  std::uint64_t length;
  std::uint64_t offset;
  std::size_t payload;
};

// Lengths and offsets that contradict each other, or the payload.
TEST(PacketTest, ContradictoryLengthsAreRefused) {
  constexpr std::uint64_t kMost = UINT64_MAX;
  for (const Malformed& malformed : std::vector<Malformed>{
           Malformed{PacketKind::kEager, 65, 0, 64},
           {PacketKind::kEager, 63, 0, 64},
           {PacketKind::kEager, 64, 1, 64},
           {PacketKind::kEagerWrite, kMost, 0, 64},
           {PacketKind::kAtomicResponse, 8, 0, 16},
           {PacketKind::kMedium, 64, 33, 32},
           {PacketKind::kMedium, 64, kMost, 32},
           {PacketKind::kMedium, 64, kMost - 31, 32},
           {PacketKind::kMedium, 64, 0, 0},
           {PacketKind::kCtsData, 64, 64, 1},
           {PacketKind::kCtsData, 64, 0, 0},
           {PacketKind::kReadResponse, 64, 0, 0},
           {PacketKind::kReadResponse, 0, 0, 1},
           {PacketKind::kLongCts, 64, 0, 64},
           {PacketKind::kLongCts, 64, 1, 10},
           {PacketKind::kLongCtsRead, 64, 0, 0},
           {PacketKind::kLongCtsRead, 64, 65, 0},
           {PacketKind::kLongCtsRead, 64, 64, 1},
           {PacketKind::kShortRead, 64, 0, 1},
           {PacketKind::kCts, 0, 0, 0},
           {PacketKind::kCts, 64, 0, 1},
           {PacketKind::kReadNack, 0, 0, 0},
           {PacketKind::kEor, 0, 0, 1},
           {PacketKind::kHandshake, 0, 0, 1},
           {PacketKind::kReceipt, 0, 0, 1},
           {PacketKind::kPeerError, 0, 0, 1},
           {PacketKind::kWriteAtomic, 64, 0, 56},
           {PacketKind::kWriteAtomic, 0, 0, 0},
           {PacketKind::kWriteAtomic, 12, 0, 12},
           {PacketKind::kWriteAtomic, 64, 8, 64},
           {PacketKind::kCompareAtomic, 64, 0, 64},
           {PacketKind::kCompareAtomic, std::uint64_t{1} << 63, 0, 0},
       }) {
    PacketHeader header = Example(malformed.kind);
    header.length = malformed.length;
    header.offset = malformed.offset;
    EXPECT_FALSE(Decode(Encoded(header, malformed.payload)).has_value())
        << static_cast<int>(malformed.kind) << " " << malformed.length << " " << malformed.offset;
  }
}

TEST(PacketTest, AtomicsThatMakeNoSenseAreRefused) {
  const auto decodes = [](PacketKind kind, AtomicOperation operation, AtomicType type,
                          std::size_t payload) {
    PacketHeader header = Example(kind);
    header.atomic = operation;
    header.atomic_type = type;
    return Decode(Encoded(header, payload)).has_value();
  };
  EXPECT_TRUE(decodes(PacketKind::kFetchAtomic, AtomicOperation::kRead, AtomicType::kInt32, 0));
  EXPECT_FALSE(decodes(PacketKind::kFetchAtomic, AtomicOperation::kRead, AtomicType::kInt32, 64));
  EXPECT_FALSE(decodes(PacketKind::kWriteAtomic, AtomicOperation::kRead, AtomicType::kInt32, 0));
  EXPECT_FALSE(
      decodes(PacketKind::kFetchAtomic, AtomicOperation::kCompareSwap, AtomicType::kInt32, 64));
  EXPECT_FALSE(decodes(PacketKind::kCompareAtomic, AtomicOperation::kSum, AtomicType::kInt32, 128));
  EXPECT_FALSE(decodes(PacketKind::kWriteAtomic, AtomicOperation::kBitOr, AtomicType::kFloat, 64));
  EXPECT_FALSE(
      decodes(PacketKind::kWriteAtomic, static_cast<AtomicOperation>(9), AtomicType::kInt32, 64));
  EXPECT_FALSE(
      decodes(PacketKind::kWriteAtomic, AtomicOperation::kSum, static_cast<AtomicType>(6), 64));
}

TEST(PacketTest, SegmentListsMustAddUp) {
  const auto decodes = [](std::uint64_t length, const std::vector<ReadSegment>& segments) {
    PacketHeader header = Example(PacketKind::kLongReadTagged);
    header.length = length;
    return Decode(WithSegments(header, segments)).has_value();
  };
  const ReadSegment one{{1, 1}, 10};
  EXPECT_TRUE(decodes(10, {one}));
  EXPECT_TRUE(decodes(40, {one, one, one, one}));
  EXPECT_FALSE(decodes(0, {}));
  EXPECT_FALSE(decodes(50, {one, one, one, one, one}));
  EXPECT_FALSE(decodes(11, {one}));
  EXPECT_FALSE(decodes(9, {one}));
  EXPECT_FALSE(decodes(10, {one, {{1, 1}, 0}}));
  EXPECT_FALSE(decodes(9, {one, {{1, 1}, UINT64_MAX}}));  // the sum wraps around to 9
  EXPECT_FALSE(Decode(Encoded(Example(PacketKind::kLongRead), 23)).has_value());
}

// A packet that is decoded from any bytes agrees with itself.
TEST(PacketTest, RandomBytesNeverMakeAContradiction) {
  std::uint64_t state = 1;
  const auto next = [&] { return state = state * 6364136223846793005ull + 1442695040888963407ull; };
  int decoded = 0;
  for (int round = 0; round < 200000; ++round) {
    Bytes bytes = ExampleBytes(kAllKinds[next() % std::size(kAllKinds)]);
    for (std::uint64_t flips = (next() >> 20) % 4; flips > 0; --flips) {
      bytes[(next() >> 20) % bytes.size()] ^= static_cast<std::byte>(1 << (next() >> 30) % 8);
    }
    if ((next() >> 40) % 4 == 0) bytes.resize((next() >> 20) % (bytes.size() + 1));
    const auto packet = Decode(bytes);
    if (!packet.has_value()) continue;
    ++decoded;
    const PacketHeader& header = packet->header;
    ASSERT_EQ(EncodedBytes(header) + packet->payload.size(), bytes.size());
    if (IsMedium(header.kind) || header.kind == PacketKind::kCtsData) {
      ASSERT_LE(header.offset, header.length);
      ASSERT_LE(packet->payload.size(), header.length - header.offset);
    }
    if (IsLongRead(header.kind)) {
      std::uint64_t sum = 0;
      for (const ReadSegment& segment : DecodeSegments(packet->payload))
        sum += segment.length_bytes;
      ASSERT_EQ(sum, header.length);
    }
  }
  EXPECT_GT(decoded, 1000);
}

}  // namespace
}  // namespace drydock::sim::rdm
