// Completion entries byte by byte, worked out by hand from linux-rdma/rdma-core
// providers/efa/efa_io_defs.h.

#include "drydock/fabric/efa_queue/cqe.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "drydock/fabric/efa_queue/testing/guarded_page.h"
#include "drydock/fabric/efa_queue/testing/hex.h"
#include "gtest/gtest.h"

namespace drydock::fabric::efa_queue {
namespace {

constexpr char kZeroRow[] = "\n00000000 00000000 00000000 00000000";

Completion OfSend(Operation operation) {
  Completion completion;
  completion.request_id = 0xBEEF;
  completion.queue_pair = 0x0304;
  completion.operation = operation;
  return completion;
}

Completion OfReceive() {
  Completion completion;
  completion.request_id = 0xBEEF;
  completion.queue_pair = 0x0304;
  completion.queue = QueueType::kReceive;
  completion.address_handle = 0x5678;
  completion.source_queue_pair = 0x1234;
  completion.length = 0x22E0;  // 8928, a whole packet
  return completion;
}

Completion OfPeersWrite() {
  Completion completion = OfReceive();
  completion.operation = Operation::kWrite;
  completion.has_immediate = true;
  completion.immediate = 0xA1B2C3D4;
  completion.unsolicited = true;
  completion.request_id = 0;
  return completion;
}

void ExpectSame(const Completion& a, const Completion& b) {
  EXPECT_EQ(a.request_id, b.request_id);
  EXPECT_EQ(a.queue_pair, b.queue_pair);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.queue, b.queue);
  EXPECT_EQ(a.operation, b.operation);
  EXPECT_EQ(a.has_immediate, b.has_immediate);
  EXPECT_EQ(a.unsolicited, b.unsolicited);
  EXPECT_EQ(a.address_handle, b.address_handle);
  EXPECT_EQ(a.source_queue_pair, b.source_queue_pair);
  EXPECT_EQ(a.immediate, b.immediate);
  EXPECT_EQ(a.length, b.length);
  EXPECT_EQ(a.source_gid[0], b.source_gid[0]);
  EXPECT_EQ(a.source_gid[1], b.source_gid[1]);
}

Image Encoded(const Completion& completion, CqeSize size, unsigned phase) {
  Image image;
  std::memset(image.bytes, 0xCC, sizeof(image.bytes));
  EncodeCompletion(completion, size, phase, image.data());
  return image;
}

void ExpectGolden(const Completion& completion, CqeSize size, unsigned phase,
                  const std::string& expected) {
  EXPECT_EQ(ToHex(Encoded(completion, size, phase).data(), static_cast<std::size_t>(size)),
            expected);
  const Image image = FromHex(expected);
  Completion decoded;
  ASSERT_EQ(DecodeCompletion(image.data(), size, phase, decoded), Malformed::kNone);
  ExpectSame(decoded, completion);
}

Malformed Verdict(const Image& image, CqeSize size = CqeSize::k32, unsigned phase = 1) {
  Completion completion;
  return DecodeCompletion(image.data(), size, phase, completion);
}

// Every kind of completion there is.
std::vector<Completion> Examples() {
  Completion solicited = OfPeersWrite();
  solicited.unsolicited = false;
  solicited.request_id = 0xBEEF;
  Completion with_immediate = OfReceive();
  with_immediate.has_immediate = true;
  with_immediate.immediate = 1;
  return {OfSend(Operation::kSend),
          OfSend(Operation::kRead),
          OfSend(Operation::kWrite),
          OfReceive(),
          with_immediate,
          OfPeersWrite(),
          solicited};
}

TEST(CqeGolden, SendInEntriesOf16And32) {
  const std::string row = "efbe0003 04030000 00000000 00000000";
  ExpectGolden(OfSend(Operation::kSend), CqeSize::k16, 1, row);
  ExpectGolden(OfSend(Operation::kSend), CqeSize::k32, 1, row + kZeroRow);
}

TEST(CqeGolden, FailedReadInTheOtherPhase) {
  Completion completion = OfSend(Operation::kRead);
  completion.status = CompletionStatus::kRemoteBadAddress;
  ExpectGolden(completion, CqeSize::k16, 0, "efbe0712 04030000 00000000 00000000");
}

TEST(CqeGolden, WriteWithLongRequestId) {
  Completion completion = OfSend(Operation::kWrite);
  completion.request_id = 0x0123456789ABCDEF;
  ExpectGolden(completion, CqeSize::k16, 1, "efcd0023 0403ab89 67452301 00000000");
}

TEST(CqeGolden, Receive) {
  const std::string row = "efbe0005 0403e022 78563412 00000000";
  ExpectGolden(OfReceive(), CqeSize::k16, 1, row);
  ExpectGolden(OfReceive(), CqeSize::k32, 1, row + kZeroRow);
}

TEST(CqeGolden, ReceiveWithImmediate) {
  Completion completion = OfReceive();
  completion.has_immediate = true;
  completion.immediate = 0xA1B2C3D4;
  ExpectGolden(completion, CqeSize::k16, 0, "efbe000c 0403e022 78563412 d4c3b2a1");
}

TEST(CqeGolden, ReceiveFromAStranger) {
  Completion completion = OfReceive();
  completion.address_handle = kUnknownAddressHandle;
  completion.source_gid[0] = 0x00000000000080FE;  // fe80::...
  completion.source_gid[1] = 0x8877665544332211;
  ExpectGolden(completion, CqeSize::k32, 1,
               "efbe0005 0403e022 ffff3412 00000000\n"
               "fe800000 00000000 11223344 55667788");
}

TEST(CqeGolden, UnsolicitedWriteOverSixteenBits) {
  Completion completion = OfPeersWrite();
  completion.length = 0x3FFF0001;
  ExpectGolden(completion, CqeSize::k32, 1,
               "000000ad 04030100 78563412 d4c3b2a1\n"
               "ff3f0000 00000000 00000000 00000000");
}

TEST(CqeGolden, SolicitedWrite) {
  Completion completion = OfPeersWrite();
  completion.unsolicited = false;
  completion.request_id = 0xBEEF;
  ExpectGolden(completion, CqeSize::k32, 0,
               std::string("efbe002c 0403e022 78563412 d4c3b2a1") + kZeroRow);
}

TEST(CqeGolden, ShortEntriesCutTheLengthOfAWrite) {
  Completion completion = OfPeersWrite();
  completion.length = 0x00030005;
  const Image image = Encoded(completion, CqeSize::k16, 1);
  Completion decoded;
  ASSERT_EQ(DecodeCompletion(image.data(), CqeSize::k16, 1, decoded), Malformed::kNone);
  EXPECT_EQ(decoded.length, 5u);
}

TEST(CqeGolden, StructsNameTheSameBytes) {
  Completion completion = OfPeersWrite();
  completion.length = 0x00030005;
  ExtendedReceiveCompletion receive;
  EncodeCompletion(completion, CqeSize::k32, 1, &receive);
  EXPECT_EQ(receive.base.common.flags, 0xAD);
  EXPECT_EQ(receive.base.common.qp_num, 0x0304);
  EXPECT_EQ(receive.base.length, 5);
  EXPECT_EQ(receive.base.ah, 0x5678);
  EXPECT_EQ(receive.base.src_qp_num, 0x1234);
  EXPECT_EQ(receive.base.imm, 0xA1B2C3D4u);
  EXPECT_EQ(receive.extra.length_high, 3);
  SendCompletion send;
  completion = OfSend(Operation::kWrite);
  completion.request_id = 0x0123456789ABCDEF;
  EncodeCompletion(completion, CqeSize::k16, 1, &send);
  EXPECT_EQ(send.common.req_id, 0xCDEF);
  EXPECT_EQ(send.req_id_ex[0], 0x89AB);
  EXPECT_EQ(send.req_id_ex[1], 0x4567);
  EXPECT_EQ(send.req_id_ex[2], 0x0123);
}

void ExpectRoundTrip(const Completion& completion, CqeSize size) {
  for (const unsigned phase : {0u, 1u}) {
    const Image image = Encoded(completion, size, phase);
    Completion decoded;
    ASSERT_EQ(DecodeCompletion(image.data(), size, phase, decoded), Malformed::kNone);
    ExpectSame(decoded, completion);
  }
}

TEST(CqeRoundTrip, EveryKindWithEveryStatus) {
  for (const CqeSize size : {CqeSize::k16, CqeSize::k32}) {
    for (Completion completion : Examples()) {
      for (int status = 0; status < 256; ++status) {
        completion.status = static_cast<CompletionStatus>(status);
        ExpectRoundTrip(completion, size);
      }
    }
  }
}

TEST(CqeRoundTrip, FieldsAtTheirBoundaries) {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x7FFF}, std::uint64_t{0x8000},
        std::uint64_t{0x7FFFFFFF}, std::uint64_t{0x80000000}, std::uint64_t{0x7FFFFFFFFFFFFFFF},
        UINT64_MAX - 1, UINT64_MAX}) {
    Completion completion = OfSend(Operation::kSend);
    completion.request_id = value;
    ExpectRoundTrip(completion, CqeSize::k16);
    for (Completion other : Examples()) {
      other.queue_pair = static_cast<std::uint16_t>(value);
      ExpectRoundTrip(other, CqeSize::k32);
    }
    completion = OfReceive();
    completion.request_id = value & 0xFFFF;
    completion.address_handle = static_cast<std::uint16_t>(value);
    completion.source_queue_pair = static_cast<std::uint16_t>(value);
    completion.length = value & 0xFFFF;
    ExpectRoundTrip(completion, CqeSize::k32);
    completion.address_handle = kUnknownAddressHandle;
    completion.source_gid[0] = value;
    completion.source_gid[1] = ~value;
    ExpectRoundTrip(completion, CqeSize::k32);
    completion = OfPeersWrite();
    completion.immediate = static_cast<std::uint32_t>(value);
    completion.length = static_cast<std::uint32_t>(value);
    ExpectRoundTrip(completion, CqeSize::k32);
  }
}

TEST(CqeMalformed, WrongPhaseIsAnEmptySlot) {
  Completion untouched = OfReceive();
  EXPECT_EQ(DecodeCompletion(Image{}.data(), CqeSize::k32, 1, untouched), Malformed::kWrongPhase);
  ExpectSame(untouched, OfReceive());
  for (const unsigned phase : {0u, 1u}) {
    const Image image = Encoded(OfReceive(), CqeSize::k32, phase);
    EXPECT_TRUE(CompletionIsThere(image.data(), phase));
    EXPECT_FALSE(CompletionIsThere(image.data(), 1 - phase));
    EXPECT_EQ(QueuePairOf(image.data()), 0x0304);
    EXPECT_EQ(Verdict(image, CqeSize::k32, 1 - phase), Malformed::kWrongPhase);
  }
}

// All 128 combinations of flags, against the table of what each queue may report.
TEST(CqeMalformed, Flags) {
  for (unsigned flags = 0; flags < 128; ++flags) {
    const unsigned queue = flags & 3;
    const bool immediate = (flags & 4) != 0;
    const unsigned operation = (flags >> 3) & 7;
    const bool unsolicited = (flags & 64) != 0;
    Malformed expected = Malformed::kNone;
    if (queue == 0 || queue == 3) {
      expected = Malformed::kUnknownQueueType;
    } else if (operation > 2 || (queue == 2 && operation == 1)) {
      expected = Malformed::kUnknownOperation;
    } else if (queue == 1 && (immediate || unsolicited)) {
      expected = Malformed::kReceiveFlagOnSend;
    } else if (unsolicited && (operation != 2 || !immediate)) {
      expected = Malformed::kUnsolicitedMessage;
    } else if (queue == 2 && operation == 2 && !immediate) {
      expected = Malformed::kImmediateMissing;
    }
    Image image;
    image[3] = static_cast<std::uint8_t>(flags << 1 | 1);
    EXPECT_EQ(Verdict(image, CqeSize::k16), expected) << flags;
    EXPECT_EQ(Verdict(image, CqeSize::k32), expected) << flags;
  }
}

TEST(CqeMalformed, FailedWriteNeedsNoImmediate) {
  Completion completion = OfPeersWrite();
  completion.has_immediate = false;
  completion.immediate = 0;
  completion.unsolicited = false;
  EXPECT_EQ(Verdict(Encoded(completion, CqeSize::k32, 1)), Malformed::kImmediateMissing);
  completion.status = CompletionStatus::kFlushed;
  EXPECT_EQ(Verdict(Encoded(completion, CqeSize::k32, 1)), Malformed::kNone);
}

TEST(CqeMalformed, ReservedBitsOfSendEntries) {
  for (std::size_t offset = 12; offset < 16; ++offset) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Image image = Encoded(OfSend(Operation::kWrite), CqeSize::k32, 1);
      image[offset] |= static_cast<std::uint8_t>(1u << bit);
      EXPECT_EQ(Verdict(image), Malformed::kReservedBits) << offset << " " << bit;
    }
  }
}

// For every status and every set of flags, in either lap.
TEST(CqeMalformed, AQuickLookAgreesWithTheDecoder) {
  for (unsigned bits = 0; bits < 1 << 16; ++bits) {
    Image image = Encoded(OfSend(Operation::kRead), CqeSize::k32, 1);
    image[2] = static_cast<std::uint8_t>(bits);
    image[3] = static_cast<std::uint8_t>(bits >> 8);
    const auto low = static_cast<std::uint32_t>(LoadWord(image.data(), 0));
    for (const unsigned phase : {0u, 1u}) {
      Completion whole;
      const Malformed why = DecodeCompletion(image.data(), CqeSize::k32, phase, whole);
      const bool success = why == Malformed::kNone && whole.queue == QueueType::kSend &&
                           whole.status == CompletionStatus::kOk;
      const SendSuccess told = ReadSendSuccess(low, phase);
      ASSERT_EQ(told.is_one, success) << bits << " " << phase;
      const bool read = success && whole.operation == Operation::kRead;
      ASSERT_EQ(success && told.brought_bytes, read) << bits << " " << phase;
      ASSERT_EQ(HasPhase(low, phase), why != Malformed::kWrongPhase) << bits << " " << phase;
    }
  }
}

TEST(CqeMemory, NeitherSideTouchesAnythingOutsideTheEntry) {
  const GuardedPage ring;
  for (const CqeSize size : {CqeSize::k16, CqeSize::k32}) {
    for (std::uint8_t* slot : {ring.begin(), ring.last(static_cast<std::size_t>(size))}) {
      for (Completion completion : Examples()) {
        completion.address_handle =
            completion.queue == QueueType::kReceive ? kUnknownAddressHandle : 0;
        EncodeCompletion(completion, size, 1, slot);
        Completion decoded;
        ASSERT_EQ(DecodeCompletion(slot, size, 1, decoded), Malformed::kNone);
        ExpectSame(decoded, completion);
      }
    }
  }
}

}  // namespace
}  // namespace drydock::fabric::efa_queue
