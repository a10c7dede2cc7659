// Send entries byte by byte. The expected bytes were worked out by hand from the offsets in
// linux-rdma/rdma-core providers/efa/efa_io_defs.h, not with the encoder.

#include "drydock/fabric/efa_queue/wqe.h"

#include <cstdint>
#include <string>
#include <vector>

#include "drydock/fabric/efa_queue/testing/hex.h"
#include "drydock/fabric/efa_queue/testing/send_examples.h"
#include "gtest/gtest.h"

namespace drydock::fabric::efa_queue {
namespace {

constexpr char kZeroRows4[] =
    "\n00000000 00000000 00000000 00000000"
    "\n00000000 00000000 00000000 00000000"
    "\n00000000 00000000 00000000 00000000"
    "\n00000000 00000000 00000000 00000000";

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

}  // namespace
}  // namespace drydock::fabric::efa_queue
