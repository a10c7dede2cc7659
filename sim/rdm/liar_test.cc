// Peers that lie: well-formed packets with false claims, and floods of true ones. Each is dropped
// or held to a limit, and an honest conversation goes on as if nothing was.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/sim/efa_address.h"
#include "drydock/sim/rdm/address_book.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/testing/attacker.h"
#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using namespace std::chrono_literals;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

// --- Well-formed lies ---

class LiarTest : public ::testing::Test {
 protected:
  LiarTest() { bed_.Connect(); }

  // The attacker's message of this length, begun; returns the victim's operation, once it is
  // cleared to send.
  PacketHeader BeginLongMessage(std::uint64_t length, std::uint32_t number) {
    liar_.Send(liar_.Signed(
        {.kind = PacketKind::kLongCts, .message = number, .reply = 77, .length = length}));
    const auto cts = liar_.Answer(PacketKind::kCts);
    EXPECT_TRUE(cts.has_value());
    return cts.value_or(PacketHeader{});
  }
  void SendData(OperationId operation, std::uint64_t length, std::uint64_t offset,
                std::size_t bytes) {
    const std::vector<std::byte> payload(bytes, std::byte{0x66});
    liar_.Send(liar_.Signed({.kind = PacketKind::kCtsData,
                             .operation = operation,
                             .length = length,
                             .offset = offset}),
               payload);
  }

  TestBed bed_;
  Attacker liar_{bed_, bed_.b().endpoint->address()};
};

TEST_F(LiarTest, DataThatCameBeforeCountsOnce) {
  ASSERT_EQ(bed_.Recv(0, 4000, 1), ErrorCode::kOk);
  const PacketHeader cts = BeginLongMessage(4000, 0);
  for (int i = 0; i < 5; ++i) SendData(cts.reply, 4000, 0, 1000);
  SendData(cts.reply, 4000, 500, 1000);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());  // 4000 bytes came, but not the right ones
  EXPECT_EQ(bed_.b().statistics().duplicates, 5u);
  SendData(cts.reply, 4000, 1000, 3000);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 4000u);
}

TEST_F(LiarTest, DataOutsideOfTheMessageIsDropped) {
  ASSERT_EQ(bed_.Recv(100, 2000, 1), ErrorCode::kOk);
  const PacketHeader cts = BeginLongMessage(4000, 0);
  SendData(cts.reply, 8000, 4000, 1000);  // of a longer message, it says
  SendData(cts.reply, UINT64_MAX, 1 << 20, 10);
  SendData(cts.reply ^ 1, 4000, 0, 1000);  // for another operation
  SendData(cts.reply + (std::uint64_t{1} << 32), 4000, 0, 1000);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(Untouched(bed_.b().memory));
  SendData(cts.reply, 4000, 0, 4000);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).error, ErrorCode::kTruncated);
  EXPECT_TRUE(Untouched(bed_.b().Bytes(0, 100)));
  EXPECT_TRUE(Untouched(bed_.b().Bytes(2100, 4000)));
  SendData(cts.reply, 4000, 0, 4000);  // it has ended
  bed_.PumpFor(1ms);
  EXPECT_GE(bed_.b().statistics().strays, 5u);
}

// Bytes that were not cleared to send must not be sent.
TEST_F(LiarTest, DataBeyondTheGrantIsDropped) {
  ASSERT_EQ(bed_.Recv(0, 1000000, 1), ErrorCode::kOk);
  const PacketHeader cts = BeginLongMessage(1000000, 0);
  EXPECT_LT(cts.length, 1000000u);
  SendData(cts.reply, 1000000, cts.length - 10, 100);
  SendData(cts.reply, 1000000, 999000, 1000);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(Untouched(bed_.b().memory));
  EXPECT_EQ(bed_.b().statistics().strays, 2u);
}

// Numbers of operations are guessable, and of no use to a third party.
TEST_F(LiarTest, OthersOperationsAreOutOfReach) {
  ASSERT_EQ(bed_.Send(0, 500000, 1), ErrorCode::kOk);  // a's, waiting at b
  bed_.PumpFor(1ms);
  Attacker at_a(bed_, bed_.a().endpoint->address());
  for (std::uint64_t slot = 0; slot < 8; ++slot) {
    for (std::uint64_t generation = 1; generation < 8; ++generation) {
      const OperationId guess = generation << 32 | slot;
      at_a.Send(at_a.Signed({.kind = PacketKind::kCts,
                             .operation = guess,
                             .reply = 1,
                             .length = 100000,
                             .offset = 8760}));
      at_a.Send(at_a.Signed({.kind = PacketKind::kPeerError, .operation = guess}));
      at_a.Send(at_a.Signed({.kind = PacketKind::kEor, .operation = guess}));
      at_a.Send(at_a.Signed({.kind = PacketKind::kReceipt, .operation = guess}));
      liar_.Send(liar_.Signed({.kind = PacketKind::kPeerError, .operation = guess}));
    }
  }
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.a().completions.empty());
  EXPECT_GE(bed_.a().statistics().strays, 4u * 56);
  for (const PacketHeader& answer : at_a.answers) {
    EXPECT_NE(answer.kind, PacketKind::kCtsData);  // not one byte was sent to it
  }
  ASSERT_EQ(bed_.Recv(0, 500000, 2), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 2).error, ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
}

// A sender that claims to be a peer whose connid it does not know is not taken for that peer.
TEST_F(LiarTest, ConnidMustBeTheSenders) {
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  const std::vector<std::byte> payload(50, std::byte{0x66});
  PacketHeader lie{.kind = PacketKind::kEager,
                   .connid = ConnidOf(liar_.address()),
                   .message = 0,
                   .length = 50,
                   .source = bed_.a().endpoint->address()};
  liar_.Send(lie, payload);
  lie.connid ^= 0x1000;
  lie.source = liar_.address();
  liar_.Send(lie, payload);
  lie.source.reset();
  liar_.Send(lie, payload);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  EXPECT_EQ(bed_.b().statistics().wrong_connid + bed_.b().statistics().unknown_sender, 3u);
  ASSERT_EQ(bed_.Send(0, 20, 2), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 20u);
}

TEST_F(LiarTest, RepeatedMessagesAreDropped) {
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(bed_.Recv(100, 100, 2), ErrorCode::kOk);
  const std::vector<std::byte> payload(50, std::byte{0x66});
  const PacketHeader message =
      liar_.Signed({.kind = PacketKind::kEager, .message = 0, .length = 50});
  for (int i = 0; i < 3; ++i) liar_.Send(message, payload);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 50u);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  EXPECT_EQ(bed_.b().statistics().duplicates, 2u);
}

// The packets of one medium message must tell the same story.
TEST_F(LiarTest, MediumMessageThatContradictsItself) {
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  const std::vector<std::byte> payload(50, std::byte{0x66});
  PacketHeader part = liar_.Signed({.kind = PacketKind::kMedium, .message = 0, .length = 100});
  liar_.Send(part, payload);
  part.length = 60000;
  part.offset = 59950;
  liar_.Send(part, payload);
  part.kind = PacketKind::kMediumTagged;
  part.length = 100;
  part.offset = 50;
  liar_.Send(part, payload);
  bed_.PumpFor(1ms);
  EXPECT_EQ(bed_.b().statistics().malformed, 2u);
  EXPECT_TRUE(bed_.b().completions.empty());
  part.kind = PacketKind::kMedium;
  liar_.Send(part, payload);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 100u);
  EXPECT_TRUE(Untouched(bed_.b().Bytes(100, 70000)));
}

// A message that wants to be read from memory that is not there, then is not sent either.
TEST_F(LiarTest, MemoryThatCannotBeRead) {
  ASSERT_EQ(bed_.Recv(0, 5000, 1), ErrorCode::kOk);
  const ReadSegment nowhere{{0x1234, 0x5678}, 5000};
  std::vector<std::byte> payload(kReadSegmentBytes);
  EncodeSegments({&nowhere, 1}, payload);
  liar_.Send(liar_.Signed({.kind = PacketKind::kLongRead, .reply = 9, .length = 5000}), payload);
  const auto nack = liar_.Answer(PacketKind::kReadNack);
  ASSERT_TRUE(nack.has_value());
  EXPECT_EQ(nack->operation, 9u);
  liar_.Send(liar_.Signed({.kind = PacketKind::kPeerError, .operation = nack->reply}));
  EXPECT_EQ(bed_.Take(bed_.b(), 1).error, ErrorCode::kPeerAborted);
  EXPECT_TRUE(Untouched(bed_.b().memory));
}

// A peer that asks and never receives: its answers take a share of our packets, and no more.
TEST_F(LiarTest, PeerThatNeverReceivesCannotStopUs) {
  Attacker silent(bed_, bed_.b().endpoint->address(), /*receives=*/false);
  for (std::uint32_t i = 0; i < 200; ++i) {
    silent.Send(silent.Signed({.kind = PacketKind::kShortRead,
                               .reply = i + 1,
                               .length = 100,
                               .remote = fabric::RemoteBuffer{1, 1}}));
  }
  ExpectGoodConversation(bed_, 3);
  for (std::uint64_t i = 0; i < 10; ++i) {  // and b itself can still send
    const fabric::SendRequest send{
        .buffer = bed_.b().Local(0, 100), .peer = bed_.b().peers[0], .context = Context{i}};
    ASSERT_EQ(bed_.Post([&] { return bed_.b().endpoint->Send(send); }), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), i).error, ErrorCode::kOk);
  }
}

// Messages that are never due: kept, counted, and in the way of no other message.
TEST_F(LiarTest, NumbersFarAhead) {
  const std::vector<std::byte> payload(50, std::byte{0x66});
  for (const std::uint32_t number : {1u, 16384u, 16385u, 0x7fffffffu, 0x80000000u, UINT32_MAX}) {
    liar_.Send(liar_.Signed({.kind = PacketKind::kEager, .message = number, .length = 50}),
               payload);
  }
  bed_.PumpFor(1ms);
  EXPECT_EQ(bed_.b().statistics().early, 4u);
  EXPECT_EQ(bed_.b().statistics().overflowed, 3u);
  EXPECT_EQ(bed_.b().statistics().duplicates, 2u);
  ExpectGoodConversation(bed_, 4);
}

// A sender that knows an address, even its qkey, is not its owner: the device tells them apart.
TEST_F(LiarTest, NobodySpeaksForAPeerThatTheDeviceKnows) {
  bed_.PumpFor(5ms);
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  const std::vector<std::byte> payload(50, std::byte{0x66});
  const fabric::Address victim = bed_.a().endpoint->address();
  liar_.Send(PacketHeader{.kind = PacketKind::kEager,
                          .connid = ConnidOf(victim),
                          .message = 0,
                          .length = 50,
                          .source = victim},
             payload);
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  EXPECT_EQ(bed_.b().statistics().unknown_sender, 1u);
}

// --- Bounds ---

// Messages that no receive fits fill their room, then the receives of the device, and no more.
TEST(BoundTest, FloodOfMessagesEndsWithTheRoomForThem) {
  TestBedOptions options;
  options.settings.unexpected_messages = 10;
  options.settings.receive_packets = 16;
  TestBed bed(options);
  Attacker flood(bed, bed.b().endpoint->address());
  const std::vector<std::byte> payload(5000, std::byte{0x66});
  std::uint32_t taken = 0;
  while (flood.TrySend(flood.Signed({.kind = PacketKind::kEager, .message = taken, .length = 5000}),
                       payload)) {
    ASSERT_LE(++taken, 100u);
  }
  EXPECT_EQ(taken, 26u);
  EXPECT_EQ(bed.b().statistics().unexpected, 10u);
  EXPECT_EQ(bed.b().statistics().unexpected_bytes, 50000u);
  for (std::uint64_t i = 0; i < 26; ++i) {  // the program takes them: there is room again
    ASSERT_EQ(bed.Recv(0, 5000, i), ErrorCode::kOk);
    EXPECT_EQ(bed.Take(bed.b(), i).length_bytes, 5000u);
  }
  ExpectGoodConversation(bed, 5);
}

TEST(BoundTest, PacketsThatAreNeverDueAreHeldToALimit) {
  TestBedOptions options;
  options.settings.early_bytes = 20000;
  TestBed bed(options);
  Attacker flood(bed, bed.b().endpoint->address());
  const std::vector<std::byte> payload(50, std::byte{0x66});
  for (std::uint32_t i = 1; i <= 300; ++i) {
    // Many messages, and many packets of one.
    const std::uint32_t number = i % 2 == 0 ? i : 1;
    flood.Send(flood.Signed({.kind = PacketKind::kEager, .message = number, .length = 50}),
               payload);
  }
  bed.PumpFor(1ms);
  const Statistics& statistics = bed.b().statistics();
  EXPECT_EQ(statistics.early + statistics.too_early, 300u);
  EXPECT_LE(statistics.early, 20000u / 50);
  EXPECT_GT(statistics.early, 50u);
  EXPECT_GT(statistics.too_early, 150u);
  ExpectGoodConversation(bed, 6);
}

TEST(BoundTest, WritesThatNeverGoOnAreHeldToALimit) {
  TestBedOptions options;
  options.settings.served_operations = 4;
  TestBed bed(options);
  Attacker lazy(bed, bed.b().endpoint->address());
  for (std::uint64_t i = 1; i <= 10; ++i) {
    lazy.Send(
        lazy.Signed({.kind = i % 2 == 0 ? PacketKind::kLongCtsWrite : PacketKind::kLongCtsRead,
                     .reply = i,
                     .length = 100000,
                     .offset = i % 2 == 0 ? 0u : 1u,
                     .remote = bed.b().Remote(0)}));
  }
  bed.PumpFor(1ms);
  EXPECT_EQ(bed.b().statistics().refused_requests, 6u);
  int refused = 0;
  while (lazy.Answer(PacketKind::kPeerError).has_value()) ++refused;
  EXPECT_EQ(refused, 6);
  ExpectGoodConversation(bed, 7);
}

// One that has ended makes room for the next.
TEST(BoundTest, ServedOperationsAreCountedDown) {
  TestBedOptions options;
  options.settings.served_operations = 2;
  options.alteration.without = {fabric::Capability::kRemoteWrite, fabric::Capability::kRemoteRead};
  TestBed bed(options);
  bed.Connect();
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::size_t length = i % 3 == 0 ? 100 : 50000;
    const fabric::WriteRequest write{.source = bed.a().Local(0, length),
                                     .target = bed.b().Remote(0),
                                     .peer = bed.a().peers[1],
                                     .context = Context{i}};
    const fabric::ReadRequest read{.target = bed.a().Local(0, length),
                                   .source = bed.b().Remote(0),
                                   .peer = bed.a().peers[1],
                                   .context = Context{i}};
    ASSERT_EQ(bed.Post([&] {
      return i % 2 == 0 ? bed.a().endpoint->Write(write) : bed.a().endpoint->Read(read);
    }),
              ErrorCode::kOk);
    EXPECT_EQ(bed.Take(bed.a(), i).error, ErrorCode::kOk);
  }
  EXPECT_EQ(bed.b().statistics().refused_requests, 0u);
}

// Values for a peer that takes no packets.
TEST(BoundTest, AnswersThatWaitAreHeldToALimit) {
  TestBedOptions options;
  options.settings.answer_bytes = 20000;
  TestBed bed(options);
  Attacker silent(bed, bed.b().endpoint->address(), /*receives=*/false);
  for (std::uint32_t i = 0; i < 40; ++i) {
    silent.Send(silent.Signed({.kind = PacketKind::kFetchAtomic,
                               .message = i,
                               .reply = i + 1,
                               .length = 8000,
                               .remote = bed.b().Remote(0),
                               .atomic = fabric::AtomicOperation::kRead,
                               .atomic_type = fabric::AtomicType::kUint64}));
  }
  bed.PumpFor(1ms);
  EXPECT_EQ(bed.b().statistics().atomics, 40u);
  // A quarter of the packets, and two values, less a handshake.
  const std::size_t packets = bed.b().endpoint->limits().send_queue_depth / 4;
  EXPECT_EQ(bed.b().statistics().unsent_answers, 40 - (packets + 2 - 1));
  ExpectGoodConversation(bed, 9);
}

TEST(BoundTest, InventedSendersAreHeldToALimit) {
  TestBedOptions options;
  options.settings.strangers = 3;
  TestBed bed(options);
  bed.Connect();
  Attacker crowd(bed, bed.b().endpoint->address());
  // The device refuses a GID that no NIC has: they pretend to be on a NIC that is there.
  const EfaAddress real = EfaAddress::Decode(bed.a().endpoint->address()).value();
  for (std::uint16_t i = 0; i < 10; ++i) {
    const auto number = static_cast<std::uint16_t>(1000 + i);
    const fabric::Address invented =
        EfaAddress{.gid = real.gid, .queue_pair = number, .qkey = 100u + i}.Encode();
    crowd.Send(
        PacketHeader{.kind = PacketKind::kEager, .connid = ConnidOf(invented), .source = invented});
  }
  bed.PumpFor(1ms);
  EXPECT_EQ(bed.b().statistics().unexpected, 3u);
  EXPECT_EQ(bed.b().statistics().unknown_sender, 7u);
  ExpectGoodConversation(bed, 8);
}

}  // namespace
}  // namespace drydock::sim::rdm
