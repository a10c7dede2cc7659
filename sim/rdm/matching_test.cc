// Which message goes into which receive: tags, senders, multi receives, and receives taken back.

#include <cstdint>
#include <iterator>
#include <vector>

#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using namespace std::chrono_literals;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;

class MatchingTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  MatchingTest() : bed_({.seed = GetParam(), .machines = 3}) {}

  ErrorCode SendTagged(std::size_t from, std::uint64_t tag, std::size_t length,
                       std::uint64_t context) {
    Machine& machine = bed_[from];
    const fabric::TaggedSendRequest request{.buffer = machine.Local(0, length),
                                            .peer = machine.peers[1],
                                            .tag = tag,
                                            .context = Context{context}};
    return bed_.Post([&] { return machine.tagged().SendTagged(request); });
  }
  ErrorCode RecvTagged(std::uint64_t tag, std::uint64_t ignore, std::uint64_t context,
                       fabric::Peer source = fabric::kNoPeer) {
    const fabric::TaggedRecvRequest request{.buffer = bed_.b().Local(context * 100000, 100000),
                                            .tag = tag,
                                            .ignore = ignore,
                                            .source = source,
                                            .context = Context{context}};
    return bed_.Post([&] { return bed_.b().tagged().RecvTagged(request); });
  }
  ErrorCode RecvMulti(std::size_t offset, std::size_t length, std::uint64_t context) {
    const fabric::RecvRequest request{
        .buffer = bed_.b().Local(offset, length), .context = Context{context}, .multi = true};
    return bed_.b().endpoint->Recv(request);
  }

  TestBed bed_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, MatchingTest, ::testing::Range<std::uint64_t>(1, 6));

TEST_P(MatchingTest, TagsChooseTheirReceives) {
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_EQ(RecvTagged(i, 0, i), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(SendTagged(0, 9 - i, 1000 * i, i), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Completion received = bed_.Take(bed_.b(), i);
    EXPECT_EQ(received.kind, OperationKind::kTaggedReceive);
    EXPECT_EQ(received.tag, i);
    EXPECT_EQ(received.length_bytes, 1000 * (9 - i));
    EXPECT_EQ(received.source, bed_.b().peers[0]);
    EXPECT_EQ(bed_.Take(bed_.a(), i).kind, OperationKind::kTaggedSend);
  }
}

TEST_P(MatchingTest, UnexpectedMessagesAreChosenByTag) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(SendTagged(0, i, 9000 * i, i), ErrorCode::kOk);  // eager, medium and long ones
  }
  bed_.PumpFor(5ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  for (const std::uint64_t i : {7u, 3u, 9u, 0u, 1u, 2u, 8u, 4u, 6u, 5u}) {
    ASSERT_EQ(RecvTagged(i, 0, i), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), i).length_bytes, 9000 * i);
    EXPECT_EQ(bed_.Take(bed_.a(), i).error, ErrorCode::kOk);
  }
}

TEST_P(MatchingTest, IgnoredBitsMayDiffer) {
  ASSERT_EQ(RecvTagged(0x1200, 0x00ff, 1), ErrorCode::kOk);
  ASSERT_EQ(SendTagged(0, 0x1334, 0, 1), ErrorCode::kOk);
  ASSERT_EQ(SendTagged(0, 0x1234, 7, 2), ErrorCode::kOk);
  const Completion received = bed_.Take(bed_.b(), 1);
  EXPECT_EQ(received.tag, 0x1234u);
  EXPECT_EQ(received.length_bytes, 7u);
}

// Messages with the same tag arrive in order, though others overtake them.
TEST_P(MatchingTest, OneTagKeepsItsOrder) {
  constexpr std::uint64_t kMessages = 40;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(SendTagged(0, i % 2, i * 400, i), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < kMessages / 2; ++i) {
    ASSERT_EQ(RecvTagged(1, 0, i), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), i).length_bytes, (2 * i + 1) * 400);
  }
}

TEST_P(MatchingTest, DirectedReceiveTakesItsSenderOnly) {
  ASSERT_EQ(RecvTagged(5, 0, 1, bed_.b().peers[2]), ErrorCode::kOk);
  ASSERT_EQ(SendTagged(0, 5, 10, 1), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
  bed_.PumpFor(2ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  ASSERT_EQ(SendTagged(2, 5, 20, 2), ErrorCode::kOk);
  const Completion received = bed_.Take(bed_.b(), 1);
  EXPECT_EQ(received.length_bytes, 20u);
  EXPECT_EQ(received.source, bed_.b().peers[2]);
  ASSERT_EQ(RecvTagged(5, 0, 2, bed_.b().peers[0]), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 2).length_bytes, 10u);
}

TEST_P(MatchingTest, DirectedReceiveFromNobodyIsRefused) {
  const fabric::RecvRequest request{.buffer = bed_.b().Local(0, 10), .source = fabric::Peer{12345}};
  EXPECT_EQ(bed_.b().endpoint->Recv(request), ErrorCode::kUnknownPeer);
}

// An address under two names is one sender.
TEST_P(MatchingTest, DirectedReceiveKnowsAllNamesOfAPeer) {
  const fabric::Peer alias = bed_.b().vector->Insert(bed_.a().endpoint->address()).value();
  ASSERT_EQ(RecvTagged(5, 0, 1, alias), ErrorCode::kOk);
  ASSERT_EQ(SendTagged(0, 5, 10, 1), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 10u);
}

// Multi receive: messages one after the other, until too little is left.
TEST_P(MatchingTest, MultiReceiveTakesSeveralMessages) {
  const std::size_t least = bed_.b().endpoint->limits().multi_receive_bytes;
  ASSERT_EQ(RecvMulti(1000, least + 200, 9), ErrorCode::kOk);
  std::size_t place = 1000;
  for (std::uint64_t i = 0; i < 3; ++i) {
    Fill(bed_.a().Bytes(0, 80), static_cast<std::uint32_t>(i));
    ASSERT_EQ(bed_.Send(0, 80, i), ErrorCode::kOk);
    const Completion received = bed_.Take(bed_.b(), 9);
    EXPECT_EQ(received.error, ErrorCode::kOk);
    EXPECT_EQ(received.length_bytes, 80u);
    EXPECT_EQ(received.data, &bed_.b().memory[place]);
    EXPECT_TRUE(Holds(bed_.b().Bytes(place, 80), static_cast<std::uint32_t>(i)));
    EXPECT_EQ(received.buffer_released, i == 2);
    place += 80;
  }
  ASSERT_EQ(bed_.Send(0, 80, 5), ErrorCode::kOk);  // waits for the next receive
  bed_.PumpFor(2ms);
  EXPECT_TRUE(bed_.b().completions.empty());
}

// Messages that have waited, and long ones that arrive at the same time: the buffer is released
// once, by the last to be complete.
TEST_P(MatchingTest, MultiReceiveIsReleasedOnce) {
  constexpr std::uint64_t kMessages = 6;
  const auto length_of = [](std::uint64_t i) { return i % 2 == 0 ? 300000u : 10000u; };
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(bed_.Send(i * 8, length_of(i), i), ErrorCode::kOk);
    if (i == 2) {
      bed_.PumpFor(1ms);
      ASSERT_EQ(RecvMulti(0, 3 * 300000 + 3 * 10000 + 100, 9), ErrorCode::kOk);
    }
  }
  std::vector<Completion> received;
  for (std::uint64_t i = 0; i < kMessages; ++i) received.push_back(bed_.Take(bed_.b(), 9));
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(received[i].error, ErrorCode::kOk);
    EXPECT_EQ(received[i].buffer_released, i + 1 == kMessages) << i;
    sum += received[i].length_bytes;
    EXPECT_EQ(bed_.Take(bed_.a(), i).error, ErrorCode::kOk);
  }
  EXPECT_EQ(sum, 3u * 300000 + 3 * 10000);
}

TEST_P(MatchingTest, MultiReceiveCutsWhatDoesNotFit) {
  const std::size_t least = bed_.b().endpoint->limits().multi_receive_bytes;
  ASSERT_EQ(RecvMulti(0, least, 9), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, least + 1, 1), ErrorCode::kOk);
  const Completion received = bed_.Take(bed_.b(), 9);
  EXPECT_EQ(received.error, ErrorCode::kTruncated);
  EXPECT_EQ(received.length_bytes, least);
  EXPECT_TRUE(received.buffer_released);
  EXPECT_TRUE(Untouched(bed_.b().Bytes(least, 1000)));
}

TEST_P(MatchingTest, CanceledReceiveTakesNothing) {
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(bed_.Recv(100, 100, 2), ErrorCode::kOk);
  EXPECT_EQ(bed_.b().cancel().CancelReceive(Context{1}), ErrorCode::kOk);
  const Completion canceled = bed_.Take(bed_.b(), 1);
  EXPECT_EQ(canceled.error, ErrorCode::kCanceled);
  EXPECT_EQ(canceled.kind, OperationKind::kReceive);
  EXPECT_EQ(bed_.b().cancel().CancelReceive(Context{1}), ErrorCode::kInvalidArgument);
  Fill(bed_.a().Bytes(0, 50), 3);
  ASSERT_EQ(bed_.Send(0, 50, 3), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 2).length_bytes, 50u);
  EXPECT_TRUE(Untouched(bed_.b().Bytes(0, 100)));
}

TEST_P(MatchingTest, TaggedReceivesCanBeCanceled) {
  ASSERT_EQ(RecvTagged(1, 0, 4), ErrorCode::kOk);
  EXPECT_EQ(bed_.b().cancel().CancelReceive(Context{4}), ErrorCode::kOk);
  const Completion canceled = bed_.Take(bed_.b(), 4);
  EXPECT_EQ(canceled.error, ErrorCode::kCanceled);
  EXPECT_EQ(canceled.kind, OperationKind::kTaggedReceive);
}

// A message that has begun to arrive is not stopped.
TEST_P(MatchingTest, CancelComesTooLateForAMessageThatArrives) {
  Fill(bed_.a().Bytes(0, 500000), 3);
  ASSERT_EQ(bed_.Recv(0, 500000, 1), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 500000, 2), ErrorCode::kOk);
  ASSERT_TRUE(bed_.PumpUntil([&] { return !Untouched(bed_.b().Bytes(0, 500000)); }));
  EXPECT_EQ(bed_.b().cancel().CancelReceive(Context{1}), ErrorCode::kOk);
  const Completion received = bed_.Take(bed_.b(), 1);
  EXPECT_EQ(received.error, ErrorCode::kOk);
  EXPECT_EQ(received.length_bytes, 500000u);
  EXPECT_TRUE(Holds(bed_.b().Bytes(0, 500000), 3));
}

TEST_P(MatchingTest, CanceledMultiReceiveIsGivenBack) {
  ASSERT_EQ(RecvMulti(0, 100000, 9), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 50, 1), ErrorCode::kOk);
  EXPECT_FALSE(bed_.Take(bed_.b(), 9).buffer_released);
  EXPECT_EQ(bed_.b().cancel().CancelReceive(Context{9}), ErrorCode::kOk);
  const Completion canceled = bed_.Take(bed_.b(), 9);
  EXPECT_EQ(canceled.error, ErrorCode::kCanceled);
  EXPECT_TRUE(canceled.buffer_released);
}

// ... by the message that is still arriving, if there is one.
TEST_P(MatchingTest, CanceledMultiReceiveWaitsForItsMessages) {
  ASSERT_EQ(RecvMulti(0, 4000000, 9), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 500000, 2), ErrorCode::kOk);
  ASSERT_EQ(bed_.Post([&] {
    return Untouched(bed_.b().Bytes(0, 100)) && bed_.b().statistics().long_cts == 0
               ? ErrorCode::kAgain
               : ErrorCode::kOk;
  }),
            ErrorCode::kOk);
  EXPECT_EQ(bed_.b().cancel().CancelReceive(Context{9}), ErrorCode::kOk);
  const Completion received = bed_.Take(bed_.b(), 9);
  EXPECT_EQ(received.error, ErrorCode::kOk);
  EXPECT_TRUE(received.buffer_released);
  bed_.PumpFor(2ms);
  EXPECT_TRUE(bed_.b().completions.empty());
}

// Where there is no room for messages that no receive fits, their sender waits as for a receiver
// that is not ready; nothing is lost, and the order stays.
TEST_P(MatchingTest, MessagesWithoutReceivesPushBack) {
  TestBedOptions options{.seed = GetParam()};
  options.settings.unexpected_messages = 5;
  options.settings.receive_packets = 16;
  TestBed bed(options);
  bed.Connect();
  constexpr std::uint64_t kMessages = 50;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    Fill(bed.a().Bytes(i * 100, 100), static_cast<std::uint32_t>(i));
    ASSERT_EQ(bed.a().endpoint->Send(fabric::SendRequest{.buffer = bed.a().Local(i * 100, 100),
                                                         .peer = bed.a().peers[1],
                                                         .context = Context{i}}),
              ErrorCode::kOk);
    if (i == 5) bed.PumpFor(1ms);  // the first for which there is no room is due
  }
  bed.PumpFor(20ms);
  EXPECT_EQ(bed.b().statistics().unexpected, 5u);
  EXPECT_GT(bed.b().statistics().stalled, 0u);
  EXPECT_LE(bed.b().statistics().stalled, 16u);
  EXPECT_GT(bed.a().statistics().backoffs, 0u);
  EXPECT_LT(bed.a().completions.size(), kMessages);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(bed.Recv(200000, 100, i), ErrorCode::kOk);
    EXPECT_EQ(bed.Take(bed.b(), i).error, ErrorCode::kOk);
    EXPECT_TRUE(Holds(bed.b().Bytes(200000, 100), static_cast<std::uint32_t>(i))) << i;
  }
  for (std::uint64_t i = 0; i < kMessages; ++i) EXPECT_TRUE(bed.Take(bed.a(), i).ok());
  EXPECT_EQ(bed.b().statistics().unexpected, 0u);
  EXPECT_EQ(bed.b().statistics().unexpected_bytes, 0u);
}

TEST_P(MatchingTest, UnexpectedBytesAreHeldToALimit) {
  TestBedOptions options{.seed = GetParam()};
  options.settings.unexpected_bytes = 20000;
  TestBed bed(options);
  bed.Connect();
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(bed.Send(0, 8000, i), ErrorCode::kOk);
  bed.PumpFor(5ms);
  EXPECT_EQ(bed.b().statistics().unexpected, 2u);
  EXPECT_EQ(bed.b().statistics().unexpected_bytes, 16000u);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(bed.Recv(0, 8000, i), ErrorCode::kOk);
    EXPECT_EQ(bed.Take(bed.b(), i).error, ErrorCode::kOk);
  }
  // One message is always taken, though it is longer than all the room: a medium one.
  ASSERT_EQ(bed.Send(0, 60000, 9), ErrorCode::kOk);
  ASSERT_EQ(bed.Send(0, 60000, 10), ErrorCode::kOk);
  bed.PumpFor(5ms);
  EXPECT_EQ(bed.b().statistics().unexpected, 1u);
  for (std::uint64_t i = 9; i <= 10; ++i) {
    ASSERT_EQ(bed.Recv(0, 60000, i), ErrorCode::kOk);
    EXPECT_EQ(bed.Take(bed.b(), i).length_bytes, 60000u);
  }
}

// Every length goes through a room for one: also messages whose packets came early, or whose first
// one had no room and the others had.
TEST_P(MatchingTest, EveryLengthGoesThroughLittleRoom) {
  TestBedOptions options{.seed = GetParam()};
  options.settings.unexpected_messages = 1;
  TestBed bed(options);
  bed.Connect();
  constexpr std::size_t kLengths[] = {10, 30000, 8760, 60000, 300000, 0, 20000, 1500000};
  Fill(bed.a().Bytes(0, 2000000), 1);
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t i = 0; i < std::size(kLengths); ++i) {
      ASSERT_EQ(bed.Send(0, kLengths[i], i), ErrorCode::kOk);
      if (round % 2 == 0) bed.PumpFor(200us);
    }
    for (std::uint64_t i = 0; i < std::size(kLengths); ++i) {
      ASSERT_EQ(bed.Recv(4 << 20, kLengths[i], i), ErrorCode::kOk);
      const Completion received = bed.Take(bed.b(), i);
      EXPECT_EQ(received.error, ErrorCode::kOk) << i;
      EXPECT_EQ(received.length_bytes, kLengths[i]);
      EXPECT_TRUE(Holds(bed.b().Bytes(4 << 20, kLengths[i]), 1));
      EXPECT_EQ(bed.Take(bed.a(), i).error, ErrorCode::kOk);
    }
    bed.PumpFor(1ms);
    EXPECT_EQ(bed.b().statistics().unexpected, 0u);
  }
}

// A message that has no room to wait does not wait where its receive is there.
TEST_P(MatchingTest, MessageWithoutRoomTakesTheReceiveThatFits) {
  TestBedOptions options{.seed = GetParam()};
  options.settings.unexpected_messages = 3;
  TestBed bed(options);
  bed.Connect();
  const auto send = [&](std::uint64_t tag) {
    return bed.a().tagged().SendTagged(fabric::TaggedSendRequest{
        .buffer = bed.a().Local(0, 10), .peer = bed.a().peers[1], .tag = tag});
  };
  const auto receive = [&](std::uint64_t tag, std::uint64_t context) {
    return bed.b().tagged().RecvTagged(fabric::TaggedRecvRequest{
        .buffer = bed.b().Local(0, 10), .tag = tag, .context = Context{context}});
  };
  for (int i = 0; i < 3; ++i) ASSERT_EQ(send(1), ErrorCode::kOk);
  for (const std::uint64_t tag : {2u, 1u, 3u}) ASSERT_EQ(send(tag), ErrorCode::kOk);
  bed.PumpFor(5ms);
  EXPECT_EQ(bed.b().statistics().unexpected, 3u);
  ASSERT_EQ(receive(2, 2), ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.b(), 2).tag, 2u);
  ASSERT_EQ(receive(3, 3), ErrorCode::kOk);  // behind one that has no room
  bed.PumpFor(5ms);
  EXPECT_TRUE(bed.b().completions.empty());
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(receive(1, 10 + i), ErrorCode::kOk);
    EXPECT_EQ(bed.Take(bed.b(), 10 + i).tag, 1u);
  }
  EXPECT_EQ(bed.Take(bed.b(), 3).tag, 3u);
}

// A receive that ends during its own post wakes a program that sleeps.
TEST_P(MatchingTest, ReceiveOfAWaitingMessageWakesTheProgram) {
  ASSERT_EQ(bed_.Send(0, 10, 1), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
  bed_.PumpFor(5ms);
  ASSERT_EQ(bed_.Recv(0, 10, 2), ErrorCode::kOk);
  const coro::Time before = bed_.world().Now();
  EXPECT_TRUE(bed_.world().WaitUntil(coro::kNever));
  EXPECT_EQ(bed_.world().Now(), before);
  bed_.b().Poll();
  EXPECT_EQ(bed_.b().completions.size(), 1u);
}

}  // namespace
}  // namespace drydock::sim::rdm
