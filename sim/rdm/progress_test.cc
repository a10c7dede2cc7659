// The program makes progress: the protocol while it reads nothing, the answer of a full queue, and
// the treatment of receivers that are not ready.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using namespace std::chrono_literals;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

fabric::WriteRequest WriteOf(Machine& from, Machine& to, std::size_t peer, std::uint64_t context) {
  return {.source = from.Local(0, 100),
          .target = to.Remote(0),
          .peer = from.peers[peer],
          .context = Context{context}};
}

void RunAlone(TestBed& bed, Machine& machine, coro::Duration duration) {
  const coro::Time end = bed.world().Now() + duration;
  while (bed.world().Now() < end) {
    machine.Poll();
    bed.world().WaitUntil(bed.world().Now() + 10us);
  }
}

TEST(HandshakeTest, NeedsTheTargetsProgram) {
  TestBed bed;
  ASSERT_EQ(bed.a().endpoint->Write(WriteOf(bed.a(), bed.b(), 1, 1)), ErrorCode::kOk);
  RunAlone(bed, bed.a(), 50ms);
  EXPECT_TRUE(bed.a().completions.empty());  // the device could, but the target has not told us so
  EXPECT_EQ(bed.Take(bed.a(), 1).error, ErrorCode::kOk);
}

// At most 16 operations of an endpoint wait for handshakes (FI_EAGAIN beyond).
TEST(HandshakeTest, SixteenOperationsMayWait) {
  TestBed bed({.machines = 3});
  for (std::uint64_t i = 0; i < 16; ++i) {  // with two peers: the limit is the endpoint's
    const std::size_t peer = 1 + i % 2;
    ASSERT_EQ(bed.a().endpoint->Write(WriteOf(bed.a(), bed[peer], peer, i)), ErrorCode::kOk) << i;
  }
  EXPECT_EQ(bed.a().endpoint->Write(WriteOf(bed.a(), bed.b(), 1, 99)), ErrorCode::kAgain);
  const fabric::ReadRequest read{
      .target = bed.a().Local(0, 8), .source = bed[2].Remote(0), .peer = bed.a().peers[2]};
  EXPECT_EQ(bed.a().endpoint->Read(read), ErrorCode::kAgain);
  for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(bed.Take(bed.a(), i).error, ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_EQ(bed.a().endpoint->Write(WriteOf(bed.a(), bed.b(), 1, i)), ErrorCode::kOk);
  }
}

// A message to the peer makes it answer as well: messages themselves need no handshake.
TEST(HandshakeTest, MessagesNeedNone) {
  TestBed bed;
  ASSERT_EQ(bed.Send(0, 100, 1), ErrorCode::kOk);
  RunAlone(bed, bed.a(), 5ms);
  ASSERT_EQ(bed.a().completions.size(), 1u);  // taken by the target's device
  EXPECT_TRUE(bed.a().completions[0].ok());
}

TEST(ProgressTest, LongMessageNeedsBothPrograms) {
  TestBed bed;
  ASSERT_EQ(bed.Recv(0, 500000, 1), ErrorCode::kOk);
  ASSERT_EQ(bed.Send(0, 500000, 2), ErrorCode::kOk);
  RunAlone(bed, bed.a(), 20ms);
  EXPECT_TRUE(bed.a().completions.empty());
  RunAlone(bed, bed.b(), 20ms);
  EXPECT_TRUE(bed.b().completions.empty());
  EXPECT_EQ(bed.Take(bed.b(), 1).error, ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.a(), 2).error, ErrorCode::kOk);
}

// A program that waits for an event that can never happen is told so: no timer of the protocol
// keeps the world busy.
TEST(ProgressTest, IdleProtocolLetsTheWorldRest) {
  TestBed bed;
  bed.Connect();
  ASSERT_EQ(bed.Send(0, 100, 1), ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.a(), 1).error, ErrorCode::kOk);
  for (int i = 0; i < 100; ++i) {
    bed.a().Poll();
    bed.b().Poll();
    if (!bed.world().WaitUntil(coro::kNever)) return;
  }
  FAIL() << "the world never comes to rest";
}

TEST(QueueTest, SendQueueFillsUp) {
  TestBed bed;
  bed.Connect();
  const std::size_t depth = bed.a().endpoint->limits().send_queue_depth;
  std::size_t posted = 0;
  while (bed.a().endpoint->Write(WriteOf(bed.a(), bed.b(), 1, posted)) == ErrorCode::kOk) ++posted;
  EXPECT_EQ(posted, depth);
  bed.world().timeline().RunFor(5ms);  // done, but unread
  EXPECT_EQ(bed.a().endpoint->Write(WriteOf(bed.a(), bed.b(), 1, 999)), ErrorCode::kAgain);
  for (std::size_t i = 0; i < depth; ++i) EXPECT_EQ(bed.Take(bed.a(), i).error, ErrorCode::kOk);
  EXPECT_EQ(bed.a().endpoint->Write(WriteOf(bed.a(), bed.b(), 1, 999)), ErrorCode::kOk);
}

TEST(QueueTest, PacketsRunOut) {
  TestBed bed;
  const std::size_t depth = bed.a().endpoint->limits().send_queue_depth;
  const fabric::SendRequest send{
      .buffer = bed.a().Local(0, 9000), .peer = bed.a().peers[1], .context = Context{1}};
  std::size_t posted = 0;  // two packets each
  while (bed.a().endpoint->Send(send) == ErrorCode::kOk) ++posted;
  EXPECT_EQ(posted, depth / 2);
  for (std::size_t i = 0; i < posted; ++i) EXPECT_EQ(bed.Take(bed.a(), 1).error, ErrorCode::kOk);
}

TEST(QueueTest, ReceiveQueueFillsUp) {
  TestBed bed;
  const std::size_t depth = bed.b().endpoint->limits().receive_queue_depth;
  const fabric::RecvRequest receive{.buffer = bed.b().Local(0, 100), .context = Context{1}};
  const std::vector<fabric::RecvRequest> many(depth + 5, receive);
  const fabric::PostResult result = bed.b().endpoint->Recv(many);
  EXPECT_EQ(result.accepted, depth);
  EXPECT_EQ(result.error, ErrorCode::kAgain);
  ASSERT_EQ(bed.Send(0, 10, 2), ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.b(), 1).error, ErrorCode::kOk);
  EXPECT_EQ(bed.b().endpoint->Recv(receive), ErrorCode::kOk);
}

// Everything works with next to nothing: a packet or two on each side.
TEST(QueueTest, TinyPoolsAreEnough) {
  for (const std::size_t packets : {1u, 2u, 3u, 7u}) {
    SCOPED_TRACE(packets);
    TestBedOptions options{.seed = packets};
    options.settings.send_packets = packets;
    options.settings.receive_packets = packets;
    options.settings.refill = 1;
    options.alteration.without = {fabric::Capability::kRemoteWrite,
                                  fabric::Capability::kRemoteRead};
    TestBed bed(options);
    std::uint64_t context = 0;
    for (const std::size_t length : {100u, 9000u, 70000u, 1100000u}) {
      Fill(bed.a().Bytes(0, length), static_cast<std::uint32_t>(length));
      Fill(bed.b().Bytes(4 << 20, length), static_cast<std::uint32_t>(length));
      context += 4;
      ASSERT_EQ(bed.Recv(0, length, context), ErrorCode::kOk);
      ASSERT_EQ(bed.Send(0, length, context + 1), ErrorCode::kOk);
      fabric::WriteRequest write = WriteOf(bed.a(), bed.b(), 1, context + 2);
      write.source = bed.a().Local(0, length);
      write.target = bed.b().Remote(2 << 20);
      ASSERT_EQ(bed.Post([&] { return bed.a().endpoint->Write(write); }), ErrorCode::kOk);
      const fabric::ReadRequest read{.target = bed.a().Local(2 << 20, length),
                                     .source = bed.b().Remote(4 << 20),
                                     .peer = bed.a().peers[1],
                                     .context = Context{context + 3}};
      ASSERT_EQ(bed.Post([&] { return bed.a().endpoint->Read(read); }), ErrorCode::kOk);
      EXPECT_EQ(bed.Take(bed.b(), context).error, ErrorCode::kOk);
      for (std::uint64_t i = 1; i <= 3; ++i) {
        EXPECT_EQ(bed.Take(bed.a(), context + i).error, ErrorCode::kOk);
      }
      EXPECT_TRUE(Holds(bed.b().Bytes(0, length), static_cast<std::uint32_t>(length)));
      EXPECT_TRUE(Holds(bed.b().Bytes(2 << 20, length), static_cast<std::uint32_t>(length)));
      EXPECT_TRUE(Holds(bed.a().Bytes(2 << 20, length), static_cast<std::uint32_t>(length)));
    }
  }
}

// --- Receiver not ready ---

// Refuses the first `times` attempts of every packet that `chosen` picks by its kind.
struct Refuser {
  int times = 0;
  std::map<std::uint64_t, int> attempts;  // by context: the packet
  std::vector<coro::Time> at;             // of every refusal
  std::function<coro::Time()> now;

  bool operator()(const fabric::SendRequest& request) {
    if (attempts[static_cast<std::uint64_t>(*request.context)]++ >= times) return false;
    at.push_back(now());
    return true;
  }
};

class BackoffPolicyTest : public ::testing::Test {
 protected:
  // Refuses packets of machine 0.
  explicit BackoffPolicyTest(int times = 0) {
    refuser_->times = times;
    TestBedOptions options;
    options.alterations.resize(1);
    options.alterations[0].refuses_send = [refuser = refuser_](const fabric::SendRequest& request) {
      return (*refuser)(request);
    };
    bed_ = std::make_unique<TestBed>(options);
    refuser_->now = [this] { return bed_->world().Now(); };
  }

  void SendOne(std::uint64_t context) {
    refuser_->attempts.clear();
    refuser_->at.clear();
    ASSERT_EQ(bed_->Recv(0, 1000, context), ErrorCode::kOk);
    ASSERT_EQ(bed_->Send(0, 500, context), ErrorCode::kOk);
    EXPECT_EQ(bed_->Take(bed_->b(), context).length_bytes, 500u);
    EXPECT_EQ(bed_->Take(bed_->a(), context).error, ErrorCode::kOk);
  }

  std::shared_ptr<Refuser> refuser_ = std::make_shared<Refuser>();
  std::unique_ptr<TestBed> bed_;
};

TEST_F(BackoffPolicyTest, FirstRefusalIsTriedAgainAtOnce) {
  refuser_->times = 1;
  SendOne(1);
  EXPECT_EQ(bed_->a().statistics().refused_packets, 1u);
  EXPECT_EQ(bed_->a().statistics().backoffs, 0u);
}

TEST_F(BackoffPolicyTest, FurtherRefusalsWaitLongerAndLonger) {
  refuser_->times = 9;
  SendOne(1);
  EXPECT_EQ(bed_->a().statistics().backoffs, 8u);
  ASSERT_EQ(refuser_->at.size(), 9u);
  for (std::size_t i = 2; i < 9; ++i) {
    const coro::Duration least = 40us * (1 << (i - 2));  // twice as long each time
    EXPECT_GE(refuser_->at[i] - refuser_->at[i - 1], least) << i;
    EXPECT_LT(refuser_->at[i] - refuser_->at[i - 1], 4 * least) << i;
  }
}

TEST_F(BackoffPolicyTest, SuccessForgetsTheWaits) {
  refuser_->times = 9;
  SendOne(1);
  refuser_->times = 3;
  SendOne(2);
  EXPECT_LT(refuser_->at[2] - refuser_->at[1], 200us);
}

// While a peer is let alone, posts to it are answered kAgain, and others are served.
TEST_F(BackoffPolicyTest, PostsToThatPeerWait) {
  refuser_->times = 6;
  const fabric::SendRequest send{
      .buffer = bed_->a().Local(0, 10), .peer = bed_->a().peers[1], .context = Context{1}};
  ASSERT_EQ(bed_->a().endpoint->Send(send), ErrorCode::kOk);
  while (bed_->a().statistics().backoffs == 0) bed_->a().Poll();
  EXPECT_EQ(bed_->a().endpoint->Send(send), ErrorCode::kAgain);
  EXPECT_EQ(bed_->a().endpoint->Write(WriteOf(bed_->a(), bed_->b(), 1, 2)), ErrorCode::kAgain);
  const fabric::AtomicRequest atomic{
      .operand = bed_->a().Local(0, 8), .target = bed_->b().Remote(0), .peer = bed_->a().peers[1]};
  EXPECT_EQ(bed_->a().atomics().Atomic(atomic), ErrorCode::kAgain);
  fabric::SendRequest to_itself = send;
  to_itself.peer = bed_->a().peers[0];
  EXPECT_EQ(bed_->a().endpoint->Send(to_itself), ErrorCode::kOk);
  ASSERT_EQ(bed_->Recv(0, 10, 3), ErrorCode::kOk);
  EXPECT_EQ(bed_->Take(bed_->b(), 3).error, ErrorCode::kOk);  // delivered later, all the same
}

// A sleeping program is woken when the wait is over: nothing else happens in this world.
TEST_F(BackoffPolicyTest, EndOfTheWaitWakesTheProgram) {
  refuser_->times = 12;
  ASSERT_EQ(bed_->Recv(0, 10, 3), ErrorCode::kOk);
  ASSERT_EQ(bed_->a().endpoint->Send(
                fabric::SendRequest{.buffer = bed_->a().Local(0, 10), .peer = bed_->a().peers[1]}),
            ErrorCode::kOk);
  for (int turn = 0; turn < 1000 && bed_->b().completions.empty(); ++turn) {
    bed_->a().Poll();
    bed_->b().Poll();
    if (!bed_->b().completions.empty()) break;
    ASSERT_TRUE(bed_->world().WaitUntil(coro::kNever)) << "asleep for ever";
  }
  EXPECT_EQ(bed_->b().completions.size(), 1u);
  EXPECT_EQ(bed_->a().statistics().backoffs, 11u);
}

// Every kind of packet is sent again: answers, data and requests.
TEST_F(BackoffPolicyTest, EveryPacketIsTriedAgain) {
  for (const int times : {1, 3}) {
    TestBedOptions options;
    const auto refuser = std::make_shared<Refuser>();
    options.alteration.without = {fabric::Capability::kRemoteWrite};
    options.alteration.refuses_send = [refuser](const fabric::SendRequest& request) {
      return (*refuser)(request);
    };
    TestBed bed(options);
    refuser->times = times;
    refuser->now = [&] { return bed.world().Now(); };
    Fill(bed.a().Bytes(0, 1500000), 3);
    std::uint64_t context = 0;
    for (const std::size_t length : {10u, 30000u, 400000u, 1500000u}) {
      refuser->attempts.clear();
      ++context;
      ASSERT_EQ(bed.Recv(0, length, context), ErrorCode::kOk);
      ASSERT_EQ(bed.Send(0, length, context), ErrorCode::kOk);
      fabric::WriteRequest write = WriteOf(bed.a(), bed.b(), 1, context + 100);
      write.source = bed.a().Local(0, length);
      write.target = bed.b().Remote(2 << 20);
      ASSERT_EQ(bed.Post([&] { return bed.a().endpoint->Write(write); }), ErrorCode::kOk);
      EXPECT_EQ(bed.Take(bed.b(), context).error, ErrorCode::kOk);
      EXPECT_EQ(bed.Take(bed.a(), context).error, ErrorCode::kOk);
      EXPECT_EQ(bed.Take(bed.a(), context + 100).error, ErrorCode::kOk);
      EXPECT_TRUE(Holds(bed.b().Bytes(0, length), 3));
      EXPECT_TRUE(Holds(bed.b().Bytes(2 << 20, length), 3));
    }
  }
}

// The device's own retries can be chosen: it hands a packet back after so many, and never after 7.
TEST(RetriesTest, TheDeviceRetriesAsOftenAsAsked) {
  std::vector<std::uint64_t> refused;
  for (const std::uint32_t retries : {0u, 3u, 7u}) {
    TestBedOptions options;
    options.settings.receive_packets = 1;
    TestBed bed(options);
    bed.ReplaceEndpoint(0, {.receiver_not_ready_retries = retries});
    for (std::uint64_t i = 0; i < 5; ++i) {
      ASSERT_EQ(
          bed.a().endpoint->Send(fabric::SendRequest{
              .buffer = bed.a().Local(0, 10), .peer = bed.a().peers[1], .context = Context{i}}),
          ErrorCode::kOk);
    }
    RunAlone(bed, bed.a(), 20ms);  // the peer takes one packet, and does not read its queue
    EXPECT_EQ(bed.a().completions.size(), 1u);
    refused.push_back(bed.a().statistics().refused_packets);
    for (std::uint64_t i = 0; i < 5; ++i) {  // in the end all arrive, whichever side retried
      ASSERT_EQ(bed.Recv(0, 10, i), ErrorCode::kOk);
      EXPECT_EQ(bed.Take(bed.b(), i).error, ErrorCode::kOk);
      EXPECT_EQ(bed.Take(bed.a(), i).error, ErrorCode::kOk);
    }
  }
  EXPECT_GE(refused[0], refused[1]);
  EXPECT_GT(refused[1], 0u);
  EXPECT_EQ(refused[2], 0u);
}

// The same seed makes the same run, to the nanosecond.
TEST(DeterminismTest, SameSeedSameRun) {
  const auto run = [](std::uint64_t seed) {
    TestBed bed({.seed = seed});
    bed.Connect();
    for (std::uint64_t i = 0; i < 30; ++i) {
      EXPECT_EQ(bed.Recv(0, 200000, i), ErrorCode::kOk);
      EXPECT_EQ(bed.Send(0, i * 5000, i), ErrorCode::kOk);
    }
    for (std::uint64_t i = 0; i < 30; ++i) {
      EXPECT_EQ(bed.Take(bed.b(), i).error, ErrorCode::kOk);
      EXPECT_EQ(bed.Take(bed.a(), i).error, ErrorCode::kOk);
    }
    return std::pair(bed.world().Now(), bed.world().timeline().event_count());
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

}  // namespace
}  // namespace drydock::sim::rdm
