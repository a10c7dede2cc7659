// Messages of every length between two machines: each size class, its boundaries, and arrivals
// before the receive.

#include <cstdint>
#include <vector>

#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;

constexpr std::size_t kMtu = 8928;
constexpr std::size_t kPayload = kMtu - 168;  // of one packet
constexpr std::size_t kMedium = 65536;
constexpr std::size_t kLongRead = 1 << 20;

constexpr std::size_t kLengths[] = {0,
                                    1,
                                    32,
                                    33,
                                    kPayload - 1,
                                    kPayload,
                                    kPayload + 1,
                                    kMtu - 1,
                                    kMtu,
                                    kMtu + 1,
                                    20000,
                                    kMedium - 1,
                                    kMedium,
                                    kMedium + 1,
                                    300000,
                                    kLongRead - 1,
                                    kLongRead,
                                    kLongRead + 1,
                                    3000000};

class MessageTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  MessageTest() : bed_({.seed = GetParam()}) {}
  TestBed bed_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, MessageTest, ::testing::Range<std::uint64_t>(1, 6));

TEST_P(MessageTest, EveryLengthArrives) {
  std::uint64_t context = 0;
  for (const bool shaken : {false, true}) {  // long messages are pushed before, read after
    if (shaken) bed_.Connect();
    for (const std::size_t length : kLengths) {
      SCOPED_TRACE(length);
      context += 2;
      const auto pattern = static_cast<std::uint32_t>(context);
      Fill(bed_.a().Bytes(3, length), pattern);
      std::fill(bed_.b().memory.begin(), bed_.b().memory.end(), std::byte{0});
      ASSERT_EQ(bed_.Recv(100, length + 50, context), ErrorCode::kOk);
      ASSERT_EQ(bed_.Send(3, length, context + 1), ErrorCode::kOk);
      const Completion received = bed_.Take(bed_.b(), context);
      EXPECT_EQ(received.error, ErrorCode::kOk);
      EXPECT_EQ(received.kind, OperationKind::kReceive);
      EXPECT_EQ(received.length_bytes, length);
      EXPECT_EQ(received.source, bed_.b().peers[0]);
      EXPECT_TRUE(Holds(bed_.b().Bytes(100, length), pattern));
      EXPECT_TRUE(Untouched(bed_.b().Bytes(0, 100)));
      EXPECT_TRUE(Untouched(bed_.b().Bytes(100 + length, 1000)));
      EXPECT_EQ(bed_.Take(bed_.a(), context + 1).error, ErrorCode::kOk);
    }
  }
  EXPECT_TRUE(bed_.a().completions.empty());
  EXPECT_TRUE(bed_.b().completions.empty());
}

TEST_P(MessageTest, LengthDecidesTheProtocol) {
  bed_.Connect();
  for (const std::size_t length : kLengths) {
    ASSERT_EQ(bed_.Recv(0, 4 << 20, 1), ErrorCode::kOk);
    ASSERT_EQ(bed_.Send(0, length, 2), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, length);
    EXPECT_EQ(bed_.Take(bed_.a(), 2).error, ErrorCode::kOk);
  }
  const Statistics& seen = bed_.b().statistics();
  EXPECT_EQ(seen.eager, 6u);     // up to kPayload
  EXPECT_EQ(seen.medium, 7u);    // up to kMedium
  EXPECT_EQ(seen.long_cts, 3u);  // below kLongRead
  EXPECT_EQ(seen.long_read, 3u);
  EXPECT_EQ(seen.read_nacks, 0u);
  EXPECT_EQ(seen.malformed, 0u);
  EXPECT_EQ(seen.strays, 0u);
  EXPECT_EQ(seen.duplicates, 0u);
}

TEST_P(MessageTest, EveryLengthWaitsForItsReceive) {
  std::size_t place = 0;
  std::uint64_t context = 0;
  for (const std::size_t length : kLengths) {
    Fill(bed_.a().Bytes(place, length), static_cast<std::uint32_t>(context));
    ASSERT_EQ(bed_.Send(place, length, context++), ErrorCode::kOk);
    place += length;
  }
  bed_.PumpFor(std::chrono::milliseconds(20));
  EXPECT_TRUE(bed_.b().completions.empty());
  EXPECT_TRUE(Untouched(bed_.b().memory));
  place = 0;
  for (std::uint64_t i = 0; i < std::size(kLengths); ++i) {
    ASSERT_EQ(bed_.Recv(place, kLengths[i], i), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), i).length_bytes, kLengths[i]);
    EXPECT_TRUE(Holds(bed_.b().Bytes(place, kLengths[i]), static_cast<std::uint32_t>(i))) << i;
    EXPECT_EQ(bed_.Take(bed_.a(), i).error, ErrorCode::kOk);
    place += kLengths[i];
  }
}

// The device delivers in any order; receives are filled in the order of sending.
TEST_P(MessageTest, MessagesOfAllLengthsKeepTheirOrder) {
  constexpr std::uint64_t kMessages = 120;
  Dice dice(GetParam());
  std::vector<std::size_t> lengths;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    const std::size_t most = dice.OneIn(10) ? 200000 : dice.OneIn(3) ? 60000 : 9000;
    lengths.push_back(dice.Below(most));
  }
  std::uint64_t received = 0;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    if (i % 3 == 0) {
      while (received < i + 2 && received < kMessages) {
        ASSERT_EQ(bed_.Recv(0, 1 << 20, received++), ErrorCode::kOk);
      }
    }
    ASSERT_EQ(bed_.Send(0, lengths[i], i), ErrorCode::kOk);
  }
  while (received < kMessages) ASSERT_EQ(bed_.Recv(0, 1 << 20, received++), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(bed_.Take(bed_.b(), i).length_bytes, lengths[i]) << i;
    EXPECT_EQ(bed_.Take(bed_.a(), i).error, ErrorCode::kOk);
  }
  EXPECT_GT(bed_.b().statistics().early, 0u);
}

TEST_P(MessageTest, LongerThanItsReceiveIsCut) {
  bed_.Connect();
  std::uint64_t context = 0;
  for (const std::size_t length : kLengths) {
    if (length == 0) continue;
    for (const std::size_t room : {std::size_t{0}, length / 2, length - 1}) {
      SCOPED_TRACE(length);
      context += 2;
      Fill(bed_.a().Bytes(0, length), 7);
      std::fill(bed_.b().memory.begin(), bed_.b().memory.end(), std::byte{0});
      ASSERT_EQ(bed_.Recv(100, room, context), ErrorCode::kOk);
      ASSERT_EQ(bed_.Send(0, length, context + 1), ErrorCode::kOk);
      const Completion received = bed_.Take(bed_.b(), context);
      EXPECT_EQ(received.error, ErrorCode::kTruncated);
      EXPECT_EQ(received.length_bytes, room);
      EXPECT_TRUE(Holds(bed_.b().Bytes(100, room), 7));
      EXPECT_TRUE(Untouched(bed_.b().Bytes(100 + room, length)));
      EXPECT_EQ(bed_.Take(bed_.a(), context + 1).error, ErrorCode::kOk);  // the sender is content
    }
  }
}

TEST_P(MessageTest, SegmentsAreOneMessage) {
  bed_.Connect();
  for (const std::size_t length : {4000u, 20000u, 400000u, 1500000u}) {
    SCOPED_TRACE(length);
    Fill(bed_.a().Bytes(0, length), 9);
    const std::size_t cut = length / 7;
    // Four pieces of different lengths, one of them empty, out of memory that is not in one piece.
    const std::vector<fabric::LocalBuffer> from = {bed_.a().Local(cut, 0),
                                                   bed_.a().Local(cut, 3 * cut),
                                                   bed_.a().Local(4 * cut, length - 4 * cut)};
    const fabric::SendRequest send{.buffer = bed_.a().Local(0, cut),
                                   .peer = bed_.a().peers[1],
                                   .context = Context{1},
                                   .more = from};
    const std::vector<fabric::LocalBuffer> to = {bed_.b().Local(5000000, 10),
                                                 bed_.b().Local(100, length)};
    const fabric::RecvRequest receive{
        .buffer = bed_.b().Local(6000000, 5 * cut), .context = Context{2}, .more = to};
    ASSERT_EQ(bed_.Post([&] { return bed_.b().endpoint->Recv(receive); }), ErrorCode::kOk);
    ASSERT_EQ(bed_.Post([&] { return bed_.a().endpoint->Send(send); }), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), 2).length_bytes, length);
    EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
    std::vector<std::byte> whole(length);
    auto end = std::copy_n(bed_.b().memory.begin() + 6000000, 5 * cut, whole.begin());
    end = std::copy_n(bed_.b().memory.begin() + 5000000, 10, end);
    std::copy(bed_.b().memory.begin() + 100, bed_.b().memory.begin() + 100 + (whole.end() - end),
              end);
    EXPECT_TRUE(Holds(whole, 9));
  }
}

TEST_P(MessageTest, TooManySegmentsAreRefused) {
  const std::vector<fabric::LocalBuffer> more(4, bed_.a().Local(0, 1));
  const fabric::SendRequest send{
      .buffer = bed_.a().Local(0, 1), .peer = bed_.a().peers[1], .more = more};
  EXPECT_EQ(bed_.a().endpoint->Send(send), ErrorCode::kInvalidArgument);
  const fabric::RecvRequest receive{.buffer = bed_.a().Local(0, 1), .more = more};
  EXPECT_EQ(bed_.a().endpoint->Recv(receive), ErrorCode::kInvalidArgument);
}

TEST_P(MessageTest, InjectedBytesAreTakenAtOnce) {
  std::vector<std::byte> private_memory(4096);
  const std::size_t most = bed_.a().endpoint->limits().inject_bytes;
  ASSERT_EQ(most, 4096u);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, most}) {
    Fill(private_memory, 3);
    ASSERT_EQ(bed_.Recv(0, most, 1), ErrorCode::kOk);
    const fabric::SendRequest send{.buffer = {private_memory.data(), length, 0},
                                   .peer = bed_.a().peers[1],
                                   .immediate = 5,
                                   .context = Context{2},
                                   .inject = true};
    ASSERT_EQ(bed_.Post([&] { return bed_.a().endpoint->Send(send); }), ErrorCode::kOk);
    Fill(private_memory, 100);
    const Completion received = bed_.Take(bed_.b(), 1);
    EXPECT_EQ(received.length_bytes, length);
    EXPECT_EQ(received.immediate, 5u);
    EXPECT_TRUE(Holds(bed_.b().Bytes(0, length), 3));
    EXPECT_EQ(bed_.Take(bed_.a(), 2).error, ErrorCode::kOk);
  }
  const fabric::SendRequest longer{
      .buffer = {private_memory.data(), most + 1, 0}, .peer = bed_.a().peers[1], .inject = true};
  EXPECT_EQ(bed_.a().endpoint->Send(longer), ErrorCode::kMessageTooLong);
}

TEST_P(MessageTest, EndpointTalksToItselfAtEveryLength) {
  Machine& machine = bed_.a();
  for (const std::size_t length : {0u, 100u, 9000u, 70000u, 2000000u}) {
    SCOPED_TRACE(length);
    Fill(machine.Bytes(0, length), 4);
    const fabric::RecvRequest receive{.buffer = machine.Local(4 << 20, length),
                                      .context = Context{1}};
    const fabric::SendRequest send{
        .buffer = machine.Local(0, length), .peer = machine.peers[0], .context = Context{2}};
    ASSERT_EQ(machine.endpoint->Recv(receive), ErrorCode::kOk);
    ASSERT_EQ(bed_.Post([&] { return machine.endpoint->Send(send); }), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(machine, 1).source, machine.peers[0]);
    EXPECT_EQ(bed_.Take(machine, 2).error, ErrorCode::kOk);
    EXPECT_TRUE(Holds(machine.Bytes(4 << 20, length), 4));
  }
}

// Where the device has no key left, a message is pushed instead of read; where it runs out at the
// receiver only, the sender is told to push.
TEST(LongReadTest, FallsBackWhereMemoryCannotBeRegistered) {
  for (const fabric::Access lacking : {fabric::Access::kRemoteRead, fabric::Access::kRead}) {
    TestBedOptions options;
    options.alteration.refuses_registration = [&](const fabric::MemoryRequest& request) {
      return request.access == lacking;
    };
    TestBed bed(options);
    bed.Connect();
    Fill(bed.a().Bytes(0, kLongRead + 5), 8);
    ASSERT_EQ(bed.Recv(7, kLongRead + 5, 1), ErrorCode::kOk);
    ASSERT_EQ(bed.Send(0, kLongRead + 5, 2), ErrorCode::kOk);
    EXPECT_EQ(bed.Take(bed.b(), 1).length_bytes, kLongRead + 5);
    EXPECT_EQ(bed.Take(bed.a(), 2).error, ErrorCode::kOk);
    EXPECT_TRUE(Holds(bed.b().Bytes(7, kLongRead + 5), 8));
    const bool at_receiver = lacking == fabric::Access::kRead;
    EXPECT_EQ(bed.b().statistics().long_read, at_receiver ? 1u : 0u);
    EXPECT_EQ(bed.b().statistics().read_nacks, at_receiver ? 1u : 0u);
  }
}

// No device reads at all: long messages are pushed.
TEST(LongReadTest, NeedsADeviceThatReads) {
  TestBedOptions options;
  options.alteration.without = {fabric::Capability::kRemoteRead};
  TestBed bed(options);
  bed.Connect();
  Fill(bed.a().Bytes(0, 3000000), 8);
  ASSERT_EQ(bed.Recv(7, 3000000, 1), ErrorCode::kOk);
  ASSERT_EQ(bed.Send(0, 3000000, 2), ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.b(), 1).error, ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.a(), 2).error, ErrorCode::kOk);
  EXPECT_TRUE(Holds(bed.b().Bytes(7, 3000000), 8));
  EXPECT_EQ(bed.b().statistics().long_cts, 1u);
}

// A read of many pieces, each end cut into segments elsewhere.
TEST(LongReadTest, IsCutIntoWhatTheDeviceReadsAtOnce) {
  TestBedOptions options;
  options.alteration.max_rma_bytes = 7000;
  TestBed bed(options);
  bed.Connect();
  Fill(bed.a().Bytes(0, 1500000), 8);
  const std::vector<fabric::LocalBuffer> more = {bed.b().Local(10001, 1500000)};
  const fabric::RecvRequest receive{
      .buffer = bed.b().Local(0, 10001), .context = Context{1}, .more = more};
  ASSERT_EQ(bed.b().endpoint->Recv(receive), ErrorCode::kOk);
  ASSERT_EQ(bed.Send(0, 1500000, 2), ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.b(), 1).error, ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.a(), 2).error, ErrorCode::kOk);
  EXPECT_TRUE(Holds(bed.b().Bytes(0, 1500000), 8));
  EXPECT_EQ(bed.b().statistics().long_read, 1u);
}

}  // namespace
}  // namespace drydock::sim::rdm
