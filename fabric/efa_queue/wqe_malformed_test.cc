// Send entries that no device takes: the decoder refuses each, and tells why, bit by bit; and
// neither side touches memory outside of an entry.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "drydock/fabric/efa_queue/testing/guarded_page.h"
#include "drydock/fabric/efa_queue/testing/hex.h"
#include "drydock/fabric/efa_queue/testing/send_examples.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "gtest/gtest.h"

namespace drydock::fabric::efa_queue {
namespace {

// The decoder's verdict on an entry.
Malformed Verdict(const Image& image, SendFormat format, unsigned phase = 0) {
  SendWork work;
  return DecodeSend(image.data(), format, phase, work);
}

// Its verdict on the entry that the encoder makes of `work`.
Malformed Verdict(const SendWork& work, SendFormat format) {
  return Verdict(Encoded(work, format, 0), format);
}

TEST(WqeMalformed, WrongPhase) {
  for (const unsigned phase : {0u, 1u}) {
    EXPECT_EQ(Verdict(Encoded(OneSegment(), kNarrow, phase), kNarrow, 1 - phase),
              Malformed::kWrongPhase);
  }
}

TEST(WqeMalformed, SlotNeverWritten) {
  EXPECT_EQ(Verdict(Image{}, kNarrow, 0), Malformed::kNotMetaDescriptor);
  EXPECT_EQ(Verdict(Image{}, kNarrow, 1), Malformed::kWrongPhase);
}

TEST(WqeMalformed, FirstOrLastMissing) {
  Image image = Encoded(OneSegment(), kNarrow, 0);
  image[3] &= static_cast<std::uint8_t>(~0x04);
  EXPECT_EQ(Verdict(image, kNarrow), Malformed::kFirstMissing);
  image = Encoded(OneSegment(), kNarrow, 0);
  image[3] &= static_cast<std::uint8_t>(~0x08);
  EXPECT_EQ(Verdict(image, kNarrow), Malformed::kLastMissing);
}

struct Bits {
  std::size_t offset;
  std::uint8_t mask;
};

// Every reserved bit of the meta descriptor, one after the other.
TEST(WqeMalformed, ReservedBitsOfTheMetaDescriptor) {
  std::vector<Bits> reserved = {{2, 0x40}, {3, 0xE2}, {14, 0xFC}, {15, 0xFF}};
  for (std::size_t offset = 20; offset < 26; ++offset) reserved.push_back({offset, 0xFF});
  for (const Bits& bits : reserved) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const auto mask = static_cast<std::uint8_t>(1u << bit);
      if ((bits.mask & mask) == 0) continue;
      Image image = Encoded(OneSegment(), kNarrow, 0);
      image[bits.offset] |= mask;
      EXPECT_EQ(Verdict(image, kNarrow), Malformed::kReservedBits) << bits.offset << " " << bit;
      EXPECT_EQ(Verdict(image, kNarrowLong), Malformed::kReservedBits) << bits.offset << " " << bit;
    }
  }
}

TEST(WqeMalformed, LongRequestIdIsReservedInShortQueues) {
  for (std::size_t offset = 26; offset < 32; ++offset) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Image image = Encoded(OneSegment(), kNarrow, 0);
      image[offset] |= static_cast<std::uint8_t>(1u << bit);
      EXPECT_EQ(Verdict(image, kNarrow), Malformed::kReservedBits) << offset << " " << bit;
      EXPECT_EQ(Verdict(image, kNarrowLong), Malformed::kNone) << offset << " " << bit;
    }
  }
}

TEST(WqeMalformed, LocalKeysHave24Bits) {
  for (unsigned bit = 0; bit < 8; ++bit) {
    const auto mask = static_cast<std::uint8_t>(1u << bit);
    Image first = Encoded(OneSegment(), kNarrow, 0);
    first[39] |= mask;
    EXPECT_EQ(Verdict(first, kNarrow), Malformed::kReservedBits);
    SendWork work = OneSegment();
    Image unused = Encoded(work, kNarrow, 0);
    unused[55] |= mask;
    EXPECT_EQ(Verdict(unused, kNarrow), Malformed::kNone) << "the second segment is not in use";
    work.segment_count = 2;
    Image second = Encoded(work, kNarrow, 0);
    second[55] |= mask;
    EXPECT_EQ(Verdict(second, kNarrow), Malformed::kReservedBits);
    Image local = Encoded(Rma(Operation::kWrite), kNarrow, 0);
    local[55] |= mask;
    EXPECT_EQ(Verdict(local, kNarrow), Malformed::kReservedBits);
  }
}

TEST(WqeMalformed, UnknownOperations) {
  for (unsigned operation = 3; operation < 16; ++operation) {
    Image image = Encoded(Rma(Operation::kWrite), kNarrow, 0);
    image[2] = static_cast<std::uint8_t>(0x80 | operation);
    EXPECT_EQ(Verdict(image, kNarrow), Malformed::kUnknownOperation) << operation;
    image[2] |= 0x20;
    EXPECT_EQ(Verdict(image, kWide), Malformed::kUnknownOperation) << operation;
  }
}

TEST(WqeMalformed, ReadsHaveNeitherInlineBytesNorImmediate) {
  SendWork work = Rma(Operation::kRead);
  work.has_immediate = true;
  EXPECT_EQ(Verdict(work, kNarrow), Malformed::kReadImmediate);
  work = Inline(Operation::kRead, 8);
  EXPECT_EQ(Verdict(work, kNarrow), Malformed::kReadInline);
  EXPECT_EQ(Verdict(work, kWide), Malformed::kReadInline);
}

TEST(WqeMalformed, InlineWriteNeedsAWideEntry) {
  EXPECT_EQ(Verdict(Inline(Operation::kWrite, 16), kNarrow), Malformed::kInlineWriteOnNarrow);
  EXPECT_EQ(Verdict(Inline(Operation::kWrite, 16), kWide), Malformed::kNone);
}

TEST(WqeMalformed, TooManyInlineBytes) {
  for (const std::uint16_t bytes : {33, 80, 81, 65535}) {
    EXPECT_EQ(Verdict(Inline(Operation::kSend, bytes), kNarrow), Malformed::kInlineTooLong);
  }
  for (const std::uint16_t bytes : {81, 96, 65535}) {
    EXPECT_EQ(Verdict(Inline(Operation::kSend, bytes), kWide), Malformed::kInlineTooLong);
    EXPECT_EQ(Verdict(Inline(Operation::kWrite, bytes), kWide), Malformed::kInlineTooLong);
  }
}

TEST(WqeMalformed, SegmentCounts) {
  SendWork work = OneSegment();
  work.segment_count = 0;
  EXPECT_EQ(Verdict(work, kNarrow), Malformed::kNoSegments);
  for (const std::uint8_t count : {3, 4, 255}) {
    work.segment_count = count;
    EXPECT_EQ(Verdict(work, kNarrow), Malformed::kTooManySegments);
  }
  Image image = Encoded(OneSegment(), kNarrow, 0);
  image[7] = 1;  // 257 segments
  EXPECT_EQ(Verdict(image, kNarrow), Malformed::kTooManySegments);
  for (const Operation operation : {Operation::kRead, Operation::kWrite}) {
    for (const std::uint8_t count : {0, 2, 255}) {
      work = Rma(operation);
      work.segment_count = count;
      EXPECT_EQ(Verdict(work, kNarrow), Malformed::kRmaSegmentCount);
    }
  }
}

TEST(WqeMalformed, LengthsDisagree) {
  for (const Operation operation : {Operation::kRead, Operation::kWrite}) {
    SendWork work = Rma(operation);
    work.remote.length += 1;
    EXPECT_EQ(Verdict(work, kNarrow), Malformed::kLengthsDisagree);
    work = Rma(operation);
    work.segments[0].length ^= 0x80000000;
    EXPECT_EQ(Verdict(work, kNarrow), Malformed::kLengthsDisagree);
  }
  SendWork work = Inline(Operation::kWrite, 16);
  work.remote.length = 17;
  EXPECT_EQ(Verdict(work, kWide), Malformed::kLengthsDisagree);
  work.remote.length = 16 | 0x10000;
  EXPECT_EQ(Verdict(work, kWide), Malformed::kLengthsDisagree);
}

// Values that do not fit their field reach the decoder unchanged, and are refused.
TEST(WqeMalformed, ValuesTooLargeForTheirField) {
  SendWork work = OneSegment();
  work.hints = 4;
  EXPECT_EQ(Verdict(work, kNarrow), Malformed::kReservedBits);
  work = OneSegment();
  work.segments[0].lkey = 0x01000000;
  EXPECT_EQ(Verdict(work, kNarrow), Malformed::kReservedBits);
  work = OneSegment();
  work.operation = static_cast<Operation>(9);
  EXPECT_EQ(Verdict(work, kNarrow), Malformed::kUnknownOperation);
}

// ---- memory ----

TEST(WqeMemory, NeitherSideTouchesAnythingOutsideTheEntry) {
  const GuardedPage ring;
  const GuardedPage source;
  for (const SendFormat format : {kNarrow, kWide}) {
    const std::uint32_t bytes = format.entry_bytes();
    for (std::uint8_t* slot : {ring.begin(), ring.last(bytes)}) {
      for (const std::uint32_t length : {0u, 1u, 7u, 8u, 31u, 32u, 79u, 80u, 65535u}) {
        for (const Operation operation : {Operation::kSend, Operation::kWrite}) {
          SendWork work = Inline(operation, static_cast<std::uint16_t>(length));
          const std::uint32_t taken = std::min(length, format.inline_bytes());
          work.inline_data = source.last(taken);
          EncodeSend(work, format, 0, slot);
          SendWork decoded;
          const bool fits =
              length <= format.inline_bytes() && (operation == Operation::kSend || format.wide);
          EXPECT_EQ(DecodeSend(slot, format, 0, decoded) == Malformed::kNone, fits);
        }
      }
      SendWork work = OneSegment();
      work.segment_count = 255;
      EncodeSend(work, format, 0, slot);
      EXPECT_EQ(ToHex(slot + 6, 2), "ff00");
    }
  }
}

TEST(WqeMemory, CopyToDeviceRingCopiesTheWholeEntry) {
  const GuardedPage ring;
  const Image image = Encoded(Inline(Operation::kSend, 80), kWide, 0);
  CopyToDeviceRing(ring.last(128), image.data(), 128);
  EXPECT_EQ(ToHex(ring.last(128), 128), ToHex(image.data(), 128));
}

// ---- names ----

TEST(MalformedNames, AreAllDifferent) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Malformed::kRequestIdsDisagree); ++i) {
    const std::string name = MalformedName(static_cast<Malformed>(i));
    EXPECT_NE(name, "unknown") << i;
    for (const std::string& other : names) EXPECT_NE(name, other) << i;
    names.push_back(name);
  }
  EXPECT_STREQ(MalformedName(static_cast<Malformed>(200)), "unknown");
}

}  // namespace
}  // namespace drydock::fabric::efa_queue
