// Packets of nonsense. An attacker with a bare device sends random bytes, mutated packets, and
// whole ones with random fields. Nothing crashes, nothing is written outside of a receive, and an
// honest conversation goes on as if nothing was.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drydock/sim/rdm/address_book.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/testing/attacker.h"
#include "drydock/sim/rdm/testing/packet_kinds.h"
#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using namespace std::chrono_literals;
using fabric::Context;
using fabric::ErrorCode;

// Small numbers are the dangerous ones: they name objects that exist.
std::uint64_t Interesting(Dice& dice) {
  switch (dice.Below(6)) {
    case 0:
      return dice.Below(4);
    case 1:
      return (dice.Below(4) << 32) | dice.Below(8);  // an operation
    case 2:
      return UINT64_MAX - dice.Below(4);
    case 3:
      return std::uint64_t{1} << dice.Below(64);
    case 4:
      return dice.Below(10000);
    default:
      return dice.Next();
  }
}

PacketHeader RandomHeader(Dice& dice, const Attacker& attacker, Machine& victim) {
  PacketHeader header{.kind = kAllKinds[dice.Below(std::size(kAllKinds))],
                      .message = static_cast<std::uint32_t>(Interesting(dice)),
                      .operation = Interesting(dice),
                      .reply = Interesting(dice),
                      .tag = Interesting(dice),
                      .length = Interesting(dice),
                      .offset = dice.OneIn(2) ? 0 : Interesting(dice)};
  const bool memory =
      IsAtomic(header.kind) || header.kind == PacketKind::kLongReadWrite ||
      (header.kind >= PacketKind::kEagerWrite && header.kind <= PacketKind::kLongCtsRead);
  if (memory) {
    fabric::RemoteBuffer place{Interesting(dice), Interesting(dice)};
    // A key that the victim never gave to a peer for writing, at a place that exists.
    if (dice.OneIn(2)) place.address = victim.region->remote().address + Interesting(dice);
    header.remote = place;
  }
  if (IsAtomic(header.kind)) {
    header.atomic = static_cast<fabric::AtomicOperation>(dice.Below(10));
    header.atomic_type = static_cast<fabric::AtomicType>(dice.Below(7));
  }
  if (dice.OneIn(4)) header.immediate = 7;
  header = attacker.Signed(header);
  if (dice.OneIn(8)) header.connid ^= 1;
  if (dice.OneIn(8)) header.source.reset();
  return header;
}

// A packet whose lengths were made to agree, most of the time, so that it gets past the decoder.
std::vector<std::byte> RandomPacket(Dice& dice, Attacker& attacker, Machine& victim) {
  PacketHeader header = RandomHeader(dice, attacker, victim);
  std::size_t payload = dice.Below(200);
  std::vector<ReadSegment> segments;
  if (IsLongRead(header.kind)) {
    for (std::uint64_t n = 1 + dice.Below(4); n > 0; --n) {
      fabric::RemoteBuffer place = attacker.memory();
      if (dice.OneIn(2)) place.key = Interesting(dice);
      segments.push_back({place, 1 + dice.Below(20000)});
    }
    header.length = header.offset = 0;
    for (const ReadSegment& segment : segments) header.length += segment.length_bytes;
    payload = segments.size() * kReadSegmentBytes;
  } else if (IsAtomic(header.kind) && dice.OneIn(2)) {
    header.length = 8 * (1 + dice.Below(10));
    header.offset = 0;
    payload = header.length * (header.kind == PacketKind::kCompareAtomic ? 2 : 1);
  } else if (!dice.OneIn(4)) {
    header.length = dice.OneIn(2) ? payload : payload + dice.Below(100000);
  }
  std::vector<std::byte> bytes(kMaxHeaderBytes + payload);
  bytes.resize(Encode(header, bytes) + payload);
  const std::span<std::byte> body = std::span(bytes).subspan(EncodedBytes(header));
  for (std::byte& byte : body) byte = static_cast<std::byte>(dice.Next());
  if (!segments.empty()) EncodeSegments(segments, body);
  if (dice.OneIn(5)) bytes[dice.Below(bytes.size())] ^= static_cast<std::byte>(dice.Next());
  if (dice.OneIn(10)) bytes.resize(dice.Below(bytes.size() + 1));
  return bytes;
}

class HostileTest : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, HostileTest, ::testing::Range<std::uint64_t>(1, 21));

TEST_P(HostileTest, RandomPacketsDoNoHarm) {
  TestBedOptions options{.seed = GetParam()};
  if (GetParam() % 2 == 0) options.alteration.without = {fabric::Capability::kRemoteWrite};
  TestBed bed(options);
  bed.Connect();
  ExpectGoodConversation(bed, 1);
  // No peer was given these keys: no packet may change this memory.
  std::vector<std::byte> before = bed.b().memory;
  Attacker attacker(bed, bed.b().endpoint->address());
  Dice dice(GetParam());
  for (int i = 0; i < 400; ++i) attacker.Send(RandomPacket(dice, attacker, bed.b()));
  bed.PumpFor(1ms);
  EXPECT_TRUE(bed.b().memory == before);
  EXPECT_TRUE(bed.a().completions.empty());
  EXPECT_GT(bed.b().statistics().malformed, 0u);
  EXPECT_GT(bed.b().statistics().wrong_connid + bed.b().statistics().unknown_sender, 0u);
  ExpectGoodConversation(bed, 2);
}

// The same while honest messages are under way, into receives that take any message.
TEST_P(HostileTest, RandomPacketsDuringAConversation) {
  TestBed bed({.seed = GetParam()});
  bed.Connect();
  Attacker attacker(bed, bed.b().endpoint->address());
  Dice dice(1000 + GetParam());
  constexpr std::size_t kRoom = 3000, kOpen = 20;
  for (std::uint64_t i = 0; i < kOpen; ++i) {  // for any peer, attackers too
    ASSERT_EQ(bed.Recv((4 << 20) + 2 * i * kRoom, kRoom, i), ErrorCode::kOk);
  }
  constexpr std::uint64_t kTag = 0xfeedfacefeedface;
  constexpr std::size_t kLength = 2000000;
  Fill(bed.a().Bytes(0, kLength), 9);
  const fabric::TaggedRecvRequest receive{.buffer = bed.b().Local(0, kLength),
                                          .tag = kTag,
                                          .source = bed.b().peers[0],
                                          .context = Context{777}};
  ASSERT_EQ(bed.b().tagged().RecvTagged(receive), ErrorCode::kOk);
  const fabric::TaggedSendRequest send{.buffer = bed.a().Local(0, kLength),
                                       .peer = bed.a().peers[1],
                                       .tag = kTag,
                                       .context = Context{777}};
  ASSERT_EQ(bed.a().tagged().SendTagged(send), ErrorCode::kOk);
  for (int i = 0; i < 200; ++i) attacker.Send(RandomPacket(dice, attacker, bed.b()));
  EXPECT_EQ(bed.Take(bed.b(), 777).error, ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.a(), 777).error, ErrorCode::kOk);
  EXPECT_TRUE(Holds(bed.b().Bytes(0, kLength), 9));
  for (std::uint64_t i = 0; i < kOpen; ++i) {  // what lies between the receives
    EXPECT_TRUE(Untouched(bed.b().Bytes((4 << 20) + (2 * i + 1) * kRoom, kRoom))) << i;
  }
}

}  // namespace
}  // namespace drydock::sim::rdm
