// Send entries byte by byte. The expected bytes were worked out by hand from the offsets in
// linux-rdma/rdma-core providers/efa/efa_io_defs.h, not with the encoder.

#include "fabric/efa_queue/wqe.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fabric/efa_queue/guarded_page.h"
#include "fabric/efa_queue/hex.h"
#include "gtest/gtest.h"

namespace fabric::efa_queue {
namespace {

constexpr SendFormat kNarrow{};
constexpr SendFormat kWide{.wide = true};
constexpr SendFormat kNarrowLong{.long_request_ids = true};

constexpr char kZeroRows4[] =
    "\n00000000 00000000 00000000 00000000"
    "\n00000000 00000000 00000000 00000000"
    "\n00000000 00000000 00000000 00000000"
    "\n00000000 00000000 00000000 00000000";

std::uint8_t Payload(std::size_t i) { return static_cast<std::uint8_t>(0x40 + i); }

// Bytes to send inline: 40 41 42 ...
const std::uint8_t* Payloads() {
  static const std::vector<std::uint8_t> bytes = [] {
    std::vector<std::uint8_t> made(80);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = Payload(i);
    return made;
  }();
  return bytes.data();
}

// The same destination in every example.
SendWork ToPeer(Operation operation) {
  SendWork work;
  work.operation = operation;
  work.request_id = 0xBEEF;
  work.destination_queue_pair = 0x1234;
  work.address_handle = 0x5678;
  work.qkey = 0x7ABCDEF0;
  return work;
}

constexpr BufferDescriptor kLocal{
    .length = 0x00012200, .lkey = 0xABCDEF, .address = 0x1122334455667788};
constexpr BufferDescriptor kLocal2{.length = 0x10, .lkey = 0x000102, .address = 0x00007F0011223344};
constexpr RemoteAddress kRemote{
    .length = 0x00012200, .rkey = 0xFEDCBA98, .address = 0x8877665544332211};

SendWork OneSegment() {
  SendWork work = ToPeer(Operation::kSend);
  work.segment_count = 1;
  work.segments[0] = kLocal;
  return work;
}

SendWork Rma(Operation operation) {
  SendWork work = ToPeer(operation);
  work.segment_count = 1;
  work.segments[0] = kLocal;
  work.remote = kRemote;
  return work;
}

SendWork Inline(Operation operation, std::uint16_t bytes) {
  SendWork work = ToPeer(operation);
  work.is_inline = true;
  work.inline_bytes = bytes;
  work.inline_data = Payloads();
  if (operation == Operation::kWrite) {
    work.remote = kRemote;
    work.remote.length = bytes;
  }
  return work;
}

Image Encoded(const SendWork& work, SendFormat format, unsigned phase) {
  Image image;
  std::memset(image.bytes, 0xCC, sizeof(image.bytes));
  EncodeSend(work, format, phase, image.data());
  return image;
}

void ExpectSame(const SendWork& a, const SendWork& b) {
  EXPECT_EQ(a.request_id, b.request_id);
  EXPECT_EQ(a.operation, b.operation);
  EXPECT_EQ(a.has_immediate, b.has_immediate);
  EXPECT_EQ(a.is_inline, b.is_inline);
  EXPECT_EQ(a.completion_requested, b.completion_requested);
  EXPECT_EQ(a.hints, b.hints);
  EXPECT_EQ(a.address_handle, b.address_handle);
  EXPECT_EQ(a.destination_queue_pair, b.destination_queue_pair);
  EXPECT_EQ(a.qkey, b.qkey);
  EXPECT_EQ(a.immediate, b.immediate);
  EXPECT_EQ(a.remote.length, b.remote.length);
  EXPECT_EQ(a.remote.rkey, b.remote.rkey);
  EXPECT_EQ(a.remote.address, b.remote.address);
  EXPECT_EQ(a.segment_count, b.segment_count);
  for (std::uint32_t i = 0; i < kMaxSendSegments; ++i) {
    EXPECT_EQ(a.segments[i].length, b.segments[i].length) << i;
    EXPECT_EQ(a.segments[i].lkey, b.segments[i].lkey) << i;
    EXPECT_EQ(a.segments[i].address, b.segments[i].address) << i;
  }
  ASSERT_EQ(a.inline_bytes, b.inline_bytes);
  if (a.inline_bytes != 0) {
    EXPECT_EQ(ToHex(a.inline_data, a.inline_bytes), ToHex(b.inline_data, b.inline_bytes));
  }
}

// The encoder makes these bytes of `work`, and the decoder makes `work` of them.
void ExpectGolden(const SendWork& work, SendFormat format, unsigned phase,
                  const std::string& expected) {
  EXPECT_EQ(ToHex(Encoded(work, format, phase).data(), format.entry_bytes()), expected);
  const Image image = FromHex(expected);
  SendWork decoded;
  ASSERT_EQ(DecodeSend(image.data(), format, phase, decoded), Malformed::kNone);
  ExpectSame(decoded, work);
}

// What the decoder says of an entry.
Malformed Verdict(const Image& image, SendFormat format, unsigned phase = 0) {
  SendWork work;
  return DecodeSend(image.data(), format, phase, work);
}

// What it says of the entry that the encoder makes of `work`.
Malformed Verdict(const SendWork& work, SendFormat format) {
  return Verdict(Encoded(work, format, 0), format);
}

// ---- the bytes of each kind of entry ----

TEST(WqeGolden, SendOfOneSegment) {
  ExpectGolden(OneSegment(), kNarrow, 0,
               "efbe801c 34120100 00000000 78560000\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "00220100 efcdab00 88776655 44332211\n"
               "00000000 00000000 00000000 00000000");
}

TEST(WqeGolden, SendOfTwoSegmentsWithImmediateInTheOtherPhase) {
  SendWork work = OneSegment();
  work.segment_count = 2;
  work.segments[1] = kLocal2;
  work.has_immediate = true;
  work.immediate = 0xA1B2C3D4;
  work.hints = kHintBurstPps;
  ExpectGolden(work, kNarrow, 1,
               "efbe901d 34120200 d4c3b2a1 78560100\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "00220100 efcdab00 88776655 44332211\n"
               "10000000 02010000 44332211 007f0000");
}

TEST(WqeGolden, SendInWideEntryLeavesTheRestZero) {
  ExpectGolden(OneSegment(), kWide, 0,
               std::string("efbe801c 34120100 00000000 78560000\n"
                           "f0debc7a 00000000 00000000 00000000\n"
                           "00220100 efcdab00 88776655 44332211\n"
                           "00000000 00000000 00000000 00000000") +
                   kZeroRows4);
}

TEST(WqeGolden, InlineSend) {
  ExpectGolden(Inline(Operation::kSend, 5), kNarrow, 0,
               "efbea01c 34120500 00000000 78560000\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "40414243 44000000 00000000 00000000\n"
               "00000000 00000000 00000000 00000000");
}

TEST(WqeGolden, InlineSendOfNothing) {
  ExpectGolden(Inline(Operation::kSend, 0), kNarrow, 1,
               "efbea01d 34120000 00000000 78560000\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "00000000 00000000 00000000 00000000\n"
               "00000000 00000000 00000000 00000000");
}

TEST(WqeGolden, InlineSendFillsTheNarrowEntry) {
  ExpectGolden(Inline(Operation::kSend, 32), kNarrow, 0,
               "efbea01c 34122000 00000000 78560000\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "40414243 44454647 48494a4b 4c4d4e4f\n"
               "50515253 54555657 58595a5b 5c5d5e5f");
}

TEST(WqeGolden, InlineSendOf80InWideEntry) {
  ExpectGolden(Inline(Operation::kSend, 80), kWide, 0,
               "efbea01c 34125000 00000000 78560000\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "40414243 44454647 48494a4b 4c4d4e4f\n"
               "50515253 54555657 58595a5b 5c5d5e5f\n"
               "60616263 64656667 68696a6b 6c6d6e6f\n"
               "70717273 74757677 78797a7b 7c7d7e7f\n"
               "80818283 84858687 88898a8b 8c8d8e8f\n"
               "00000000 00000000 00000000 00000000");
}

TEST(WqeGolden, Read) {
  ExpectGolden(Rma(Operation::kRead), kNarrow, 0,
               "efbe811c 34120100 00000000 78560000\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "00220100 98badcfe 11223344 55667788\n"
               "00220100 efcdab00 88776655 44332211");
}

TEST(WqeGolden, WriteWithImmediate) {
  SendWork work = Rma(Operation::kWrite);
  work.has_immediate = true;
  work.immediate = 7;
  ExpectGolden(work, kNarrow, 0,
               "efbe921c 34120100 07000000 78560000\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "00220100 98badcfe 11223344 55667788\n"
               "00220100 efcdab00 88776655 44332211");
}

TEST(WqeGolden, WriteThatAsksForNoCompletion) {
  SendWork work = Rma(Operation::kWrite);
  work.completion_requested = false;
  ExpectGolden(work, kNarrow, 0,
               "efbe820c 34120100 00000000 78560000\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "00220100 98badcfe 11223344 55667788\n"
               "00220100 efcdab00 88776655 44332211");
}

TEST(WqeGolden, InlineWrite) {
  ExpectGolden(Inline(Operation::kWrite, 80), kWide, 0,
               "efbea21c 34125000 00000000 78560000\n"
               "f0debc7a 00000000 00000000 00000000\n"
               "50000000 98badcfe 11223344 55667788\n"
               "40414243 44454647 48494a4b 4c4d4e4f\n"
               "50515253 54555657 58595a5b 5c5d5e5f\n"
               "60616263 64656667 68696a6b 6c6d6e6f\n"
               "70717273 74757677 78797a7b 7c7d7e7f\n"
               "80818283 84858687 88898a8b 8c8d8e8f");
}

TEST(WqeGolden, LongRequestId) {
  SendWork work = OneSegment();
  work.request_id = 0x0123456789ABCDEF;
  ExpectGolden(work, kNarrowLong, 0,
               "efcd801c 34120100 00000000 78560000\n"
               "f0debc7a 00000000 0000ab89 67452301\n"
               "00220100 efcdab00 88776655 44332211\n"
               "00000000 00000000 00000000 00000000");
}

TEST(WqeGolden, ShortRequestIdIsCutTo16Bits) {
  SendWork work = OneSegment();
  work.request_id = 0x0123456789ABBEEF;
  const SendWork cut = OneSegment();
  EXPECT_EQ(ToHex(Encoded(work, kNarrow, 0).data(), 64),
            ToHex(Encoded(cut, kNarrow, 0).data(), 64));
}

TEST(WqeGolden, ImmediateMeansNothingWithoutItsBit) {
  const Image image = FromHex(
      "efbe801c 34120100 d4c3b2a1 78560000\n"
      "f0debc7a 00000000 00000000 00000000\n"
      "00220100 efcdab00 88776655 44332211\n"
      "00000000 00000000 00000000 00000000");
  SendWork decoded;
  ASSERT_EQ(DecodeSend(image.data(), kNarrow, 0, decoded), Malformed::kNone);
  ExpectSame(decoded, OneSegment());
}

// The encoder, read through the structs of layout.h.
TEST(WqeGolden, StructsNameTheSameBytes) {
  SendWork work = Rma(Operation::kWrite);
  work.has_immediate = true;
  work.immediate = 0x01020304;
  NarrowWqe narrow;
  EncodeSend(work, kNarrow, 1, &narrow);
  EXPECT_EQ(narrow.meta.req_id, 0xBEEF);
  EXPECT_EQ(narrow.meta.ctrl1, 0x92);
  EXPECT_EQ(narrow.meta.ctrl2, 0x1D);
  EXPECT_EQ(narrow.meta.dest_qp_num, 0x1234);
  EXPECT_EQ(narrow.meta.length, 1);
  EXPECT_EQ(narrow.meta.immediate_data, 0x01020304u);
  EXPECT_EQ(narrow.meta.ah, 0x5678);
  EXPECT_EQ(narrow.meta.qkey, 0x7ABCDEF0u);
  EXPECT_EQ(narrow.data.rma.remote.rkey, kRemote.rkey);
  EXPECT_EQ(narrow.data.rma.remote.address, kRemote.address);
  EXPECT_EQ(narrow.data.rma.local.lkey, kLocal.lkey);
  EXPECT_EQ(narrow.data.rma.local.address, kLocal.address);
}

// ---- every field, at its boundaries ----

template <typename T>
std::vector<T> Boundaries(T max) {
  return {T{0}, T{1}, static_cast<T>(max / 2), static_cast<T>(max / 2 + 1), static_cast<T>(max - 1),
          max};
}

void ExpectRoundTrip(const SendWork& work, SendFormat format) {
  for (const unsigned phase : {0u, 1u}) {
    const Image image = Encoded(work, format, phase);
    SendWork decoded;
    ASSERT_EQ(DecodeSend(image.data(), format, phase, decoded), Malformed::kNone);
    ExpectSame(decoded, work);
  }
}

TEST(WqeRoundTrip, MetaFields) {
  for (const auto id : Boundaries<std::uint64_t>(UINT64_MAX)) {
    SendWork work = OneSegment();
    work.request_id = id;
    ExpectRoundTrip(work, kNarrowLong);
    work.request_id = id & 0xFFFF;
    ExpectRoundTrip(work, kNarrow);
  }
  for (const auto value : Boundaries<std::uint16_t>(UINT16_MAX)) {
    SendWork work = OneSegment();
    work.destination_queue_pair = value;
    ExpectRoundTrip(work, kNarrow);
    work = OneSegment();
    work.address_handle = value;
    ExpectRoundTrip(work, kNarrow);
  }
  for (const auto value : Boundaries<std::uint32_t>(UINT32_MAX)) {
    SendWork work = OneSegment();
    work.qkey = value;
    ExpectRoundTrip(work, kNarrow);
    work = OneSegment();
    work.has_immediate = true;
    work.immediate = value;
    ExpectRoundTrip(work, kNarrow);
  }
  for (std::uint8_t hints = 0; hints < 4; ++hints) {
    SendWork work = OneSegment();
    work.hints = hints;
    ExpectRoundTrip(work, kNarrow);
  }
  for (const bool requested : {false, true}) {
    SendWork work = OneSegment();
    work.completion_requested = requested;
    ExpectRoundTrip(work, kNarrow);
  }
}

TEST(WqeRoundTrip, Segments) {
  for (const SendFormat format : {kNarrow, kWide}) {
    for (std::uint32_t which = 0; which < kMaxSendSegments; ++which) {
      for (const auto value : Boundaries<std::uint64_t>(UINT64_MAX)) {
        SendWork work = OneSegment();
        work.segment_count = 2;
        work.segments[1] = kLocal2;
        work.segments[which].address = value;
        work.segments[which].length = static_cast<std::uint32_t>(value);
        work.segments[which].lkey = static_cast<std::uint32_t>(value & kLocalKeyMask);
        ExpectRoundTrip(work, format);
      }
    }
  }
}

TEST(WqeRoundTrip, ReadAndWrite) {
  for (const SendFormat format : {kNarrow, kWide}) {
    for (const Operation operation : {Operation::kRead, Operation::kWrite}) {
      for (const auto value : Boundaries<std::uint64_t>(UINT64_MAX)) {
        SendWork work = Rma(operation);
        work.remote.address = value;
        work.remote.rkey = static_cast<std::uint32_t>(value);
        work.remote.length = static_cast<std::uint32_t>(value);
        work.segments[0].length = work.remote.length;
        ExpectRoundTrip(work, format);
      }
    }
  }
}

TEST(WqeRoundTrip, InlineBytesOfEveryCount) {
  for (std::uint16_t bytes = 0; bytes <= 80; ++bytes) {
    SendWork work = Inline(Operation::kSend, bytes);
    if (bytes <= 32) ExpectRoundTrip(work, kNarrow);
    ExpectRoundTrip(work, kWide);
    ExpectRoundTrip(Inline(Operation::kWrite, bytes), kWide);
  }
}

TEST(WqeRoundTrip, InlineDataIsTakenFromAnyAddress) {
  std::uint8_t bytes[48];
  for (std::size_t i = 0; i < sizeof(bytes); ++i) bytes[i] = Payload(i);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    SendWork work = Inline(Operation::kSend, 32);
    work.inline_data = bytes + shift;
    ExpectRoundTrip(work, kNarrow);
  }
}

// ---- what is refused ----

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

// Values that do not fit their field reach the decoder as what they are, and are refused.
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
}  // namespace fabric::efa_queue
