// Receive descriptors byte by byte, worked out by hand from linux-rdma/rdma-core
// providers/efa/efa_io_defs.h.

#include "drydock/fabric/efa_queue/receive_wqe.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "drydock/fabric/efa_queue/testing/guarded_page.h"
#include "drydock/fabric/efa_queue/testing/hex.h"
#include "gtest/gtest.h"

namespace drydock::fabric::efa_queue {
namespace {

constexpr std::uint32_t kEntries = 8;  // fill an Image

constexpr BufferDescriptor kFirstSegment{
    .length = 0x2300, .lkey = 0xABCDEF, .address = 0x1122334455667788};
constexpr BufferDescriptor kSecondSegment{
    .length = 0x0001, .lkey = 0x000001, .address = 0x00007F0000000010};
constexpr BufferDescriptor kThirdSegment{
    .length = 0xFFFF, .lkey = 0xFFFFFF, .address = 0xFFFFFFFFFFFFFFFF};

constexpr char kFirstOfThree[] = "88776655 44332211 efbe0023 efcdab40";
constexpr char kSecondOfThree[] = "10000000 007f0000 efbe0100 01000040";
constexpr char kThirdOfThree[] = "ffffffff ffffffff efbeffff ffffffc0";

ReceiveWork Receive(std::uint8_t segments) {
  ReceiveWork work;
  work.request_id = 0xBEEF;
  work.segment_count = segments;
  work.segments[0] = kFirstSegment;
  if (segments > 1) work.segments[1] = kSecondSegment;
  if (segments > 2) work.segments[2] = kThirdSegment;
  return work;
}

void ExpectSame(const ReceiveWork& a, const ReceiveWork& b) {
  EXPECT_EQ(a.request_id, b.request_id);
  EXPECT_EQ(a.segment_count, b.segment_count);
  for (std::uint32_t i = 0; i < kMaxReceiveSegments; ++i) {
    EXPECT_EQ(a.segments[i].address, b.segments[i].address) << i;
    EXPECT_EQ(a.segments[i].length, b.segments[i].length) << i;
    EXPECT_EQ(a.segments[i].lkey, b.segments[i].lkey) << i;
  }
}

Malformed Verdict(const std::string& descriptors, std::uint32_t announced,
                  std::uint32_t max_segments = kMaxReceiveSegments) {
  const Image image = FromHex(descriptors);
  ReceiveWork work;
  return DecodeReceive(image.data(), kEntries, 0, announced, max_segments, work);
}

TEST(ReceiveGolden, OneSegment) {
  Image image;
  EncodeReceive(Receive(1), image.data(), kEntries, 0);
  EXPECT_EQ(ToHex(image.data(), 16), "88776655 44332211 efbe0023 efcdabc0");
  EXPECT_EQ(ToHex(image.bytes + 16, 16), "00000000 00000000 00000000 00000000");
  ReceiveWork decoded;
  ASSERT_EQ(DecodeReceive(image.data(), kEntries, 0, 1, 1, decoded), Malformed::kNone);
  ExpectSame(decoded, Receive(1));
}

TEST(ReceiveGolden, ThreeSegments) {
  Image image;
  EncodeReceive(Receive(3), image.data(), kEntries, 0);
  EXPECT_EQ(ToHex(image.bytes, 16), kFirstOfThree);
  EXPECT_EQ(ToHex(image.bytes + 16, 16), kSecondOfThree);
  EXPECT_EQ(ToHex(image.bytes + 32, 16), kThirdOfThree);
  ReceiveWork decoded;
  ASSERT_EQ(DecodeReceive(image.data(), kEntries, 0, 3, 3, decoded), Malformed::kNone);
  ExpectSame(decoded, Receive(3));
}

// rdma-core's way: the request id and `first` only in the first descriptor.
TEST(ReceiveGolden, LaterDescriptorsNeedNoRequestId) {
  const Image image = FromHex(std::string(kFirstOfThree) +
                              "10000000 007f0000 00000100 01000000"
                              "ffffffff ffffffff 3412ffff ffffff80");
  ReceiveWork decoded;
  ASSERT_EQ(DecodeReceive(image.data(), kEntries, 0, 8, 3, decoded), Malformed::kNone);
  ExpectSame(decoded, Receive(3));
}

TEST(ReceiveGolden, StructNamesTheSameBytes) {
  ReceiveDescriptor descriptor;
  EncodeReceiveDescriptor(Receive(1), 0, &descriptor);
  EXPECT_EQ(descriptor.address, kFirstSegment.address);
  EXPECT_EQ(descriptor.req_id, 0xBEEF);
  EXPECT_EQ(descriptor.length, 0x2300);
  EXPECT_EQ(descriptor.lkey_ctrl, 0xC0ABCDEFu);
}

TEST(ReceiveRoundTrip, FieldsAtTheirBoundaries) {
  for (std::uint8_t segments = 1; segments <= kMaxReceiveSegments; ++segments) {
    for (std::uint8_t which = 0; which < segments; ++which) {
      for (const std::uint64_t value :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x7FFFFF}, std::uint64_t{0x800000},
            std::uint64_t{0x7FFFFFFFFFFFFFFF}, UINT64_MAX - 1, UINT64_MAX}) {
        ReceiveWork work = Receive(segments);
        work.request_id = static_cast<std::uint16_t>(value);
        work.segments[which].address = value;
        work.segments[which].length = static_cast<std::uint32_t>(value & 0xFFFF);
        work.segments[which].lkey = static_cast<std::uint32_t>(value & kLocalKeyMask);
        Image image;
        EncodeReceive(work, image.data(), kEntries, 0);
        ReceiveWork decoded;
        ASSERT_EQ(DecodeReceive(image.data(), kEntries, 0, segments, 3, decoded), Malformed::kNone);
        ExpectSame(decoded, work);
      }
    }
  }
}

TEST(ReceiveRoundTrip, LengthsOver16BitsAreClamped) {
  for (const std::uint32_t length : {0xFFFFu, 0x10000u, 0x10001u, 0xFFFFFFFFu}) {
    ReceiveWork work = Receive(1);
    work.segments[0].length = length;
    Image image;
    EncodeReceive(work, image.data(), kEntries, 0);
    EXPECT_EQ(ToHex(image.bytes + 10, 2), "ffff");
  }
}

TEST(ReceiveRoundTrip, WrapsAroundTheEndOfTheRing) {
  for (const std::uint32_t counter : {6u, 7u, 14u, 65535u, 0xFFFFFFFFu}) {
    Image image;
    EncodeReceive(Receive(3), image.data(), kEntries, counter);
    EXPECT_EQ(ToHex(image.bytes + 16 * (counter % 8), 16), kFirstOfThree);
    EXPECT_EQ(ToHex(image.bytes + 16 * ((counter + 1) % 8), 16), kSecondOfThree);
    EXPECT_EQ(ToHex(image.bytes + 16 * ((counter + 2) % 8), 16), kThirdOfThree);
    ReceiveWork decoded;
    ASSERT_EQ(DecodeReceive(image.data(), kEntries, counter, 3, 3, decoded), Malformed::kNone);
    ExpectSame(decoded, Receive(3));
  }
}

TEST(ReceiveMalformed, FirstMissing) {
  EXPECT_EQ(Verdict("", 1), Malformed::kFirstMissing) << "a slot never written";
  EXPECT_EQ(Verdict("88776655 44332211 efbe0023 efcdab80", 1), Malformed::kFirstMissing);
}

TEST(ReceiveMalformed, ReservedBits) {
  for (unsigned bit = 0; bit < 6; ++bit) {
    for (std::size_t descriptor = 0; descriptor < 3; ++descriptor) {
      Image image;
      EncodeReceive(Receive(3), image.data(), kEntries, 0);
      image[16 * descriptor + 15] |= static_cast<std::uint8_t>(1u << bit);
      ReceiveWork work;
      EXPECT_EQ(DecodeReceive(image.data(), kEntries, 0, 3, 3, work), Malformed::kReservedBits)
          << bit << " " << descriptor;
    }
  }
}

TEST(ReceiveMalformed, LastMissing) {
  EXPECT_EQ(Verdict(kFirstOfThree, 1), Malformed::kLastMissing);
  EXPECT_EQ(Verdict(std::string(kFirstOfThree) + kSecondOfThree + kThirdOfThree, 2),
            Malformed::kLastMissing)
      << "the third is there, but not announced";
}

TEST(ReceiveMalformed, TooManySegments) {
  const std::string three = std::string(kFirstOfThree) + kSecondOfThree + kThirdOfThree;
  EXPECT_EQ(Verdict(three, 8, 2), Malformed::kTooManySegments);
  EXPECT_EQ(Verdict(three, 8, 3), Malformed::kNone);
  const std::string four =
      std::string(kFirstOfThree) + kSecondOfThree + kSecondOfThree + kThirdOfThree;
  EXPECT_EQ(Verdict(four, 8, 3), Malformed::kTooManySegments);
  EXPECT_EQ(Verdict(four, 8, 100), Malformed::kTooManySegments);
}

TEST(ReceiveMalformed, RequestIdsDisagree) {
  EXPECT_EQ(Verdict(std::string(kFirstOfThree) + "10000000 007f0000 eebe0100 010000c0", 2),
            Malformed::kRequestIdsDisagree);
}

TEST(ReceiveMemory, NeitherSideTouchesAnythingOutsideTheRing) {
  const GuardedPage memory;
  for (std::uint32_t counter = 0; counter < 2 * kEntries; ++counter) {
    for (std::uint8_t* ring : {memory.begin(), memory.last(16 * kEntries)}) {
      EncodeReceive(Receive(3), ring, kEntries, counter);
      ReceiveWork decoded;
      ASSERT_EQ(DecodeReceive(ring, kEntries, counter, 3, 3, decoded), Malformed::kNone);
      ExpectSame(decoded, Receive(3));
    }
  }
}

}  // namespace
}  // namespace drydock::fabric::efa_queue
