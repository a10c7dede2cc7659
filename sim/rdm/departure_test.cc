// Peers that go: endpoints that close, machines that die, peers that are removed, and queue pairs
// that serve somebody else later.

#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "sim/rdm/test_bed.h"

namespace sim::rdm {
namespace {

using namespace std::chrono_literals;
using fabric::Access;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

class DepartureTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSend = 1, kWrite = 2, kRead = 3, kAtomic = 4, kLong = 5;

  // One of everything, from a to b.
  void PostEverything() {
    Machine& a = bed_.a();
    const fabric::Peer b = a.peers[1];
    ASSERT_EQ(bed_.Send(0, 100, kSend), ErrorCode::kOk);
    const fabric::WriteRequest write{.source = a.Local(0, 100),
                                     .target = bed_.b().Remote(0),
                                     .peer = b,
                                     .context = Context{kWrite}};
    ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
    const fabric::ReadRequest read{.target = a.Local(1000, 100),
                                   .source = bed_.b().Remote(0),
                                   .peer = b,
                                   .context = Context{kRead}};
    ASSERT_EQ(a.endpoint->Read(read), ErrorCode::kOk);
    const fabric::AtomicRequest atomic{.operand = a.Local(2000, 8),
                                       .target = bed_.b().Remote(64),
                                       .peer = b,
                                       .context = Context{kAtomic}};
    ASSERT_EQ(a.atomics().Atomic(atomic), ErrorCode::kOk);
    ASSERT_EQ(bed_.Send(0, 2000000, kLong), ErrorCode::kOk);
  }

  TestBed bed_;
};

TEST_F(DepartureTest, ClosedEndpointFailsEverything) {
  bed_.b().endpoint.reset();
  PostEverything();
  for (std::uint64_t context = kSend; context <= kLong; ++context) {
    const Completion done = bed_.Take(bed_.a(), context);
    EXPECT_EQ(done.error, ErrorCode::kBadDestination) << context;
    EXPECT_EQ(done.provider_error, 9) << context;
  }
  bed_.PumpFor(10ms);
  EXPECT_TRUE(bed_.a().completions.empty());
}

// What waits for an answer of the peer, and has nothing under way that could fail, ends with the
// next thing that does fail.
TEST_F(DepartureTest, OperationsThatWaitEndWithTheNextFailure) {
  bed_.Connect();
  ASSERT_EQ(bed_.Send(0, 2000000, kLong), ErrorCode::kOk);  // waits to be read
  ASSERT_EQ(bed_.Send(0, 500000, kRead), ErrorCode::kOk);   // waits to be cleared to send
  bed_.PumpFor(5ms);
  bed_.b().endpoint.reset();
  bed_.PumpFor(20ms);
  EXPECT_TRUE(bed_.a().completions.empty());
  ASSERT_EQ(bed_.Send(0, 10, kSend), ErrorCode::kOk);
  for (const std::uint64_t context : {kSend, kLong, kRead}) {
    EXPECT_EQ(bed_.Take(bed_.a(), context).error, ErrorCode::kBadDestination);
  }
}

TEST_F(DepartureTest, DeadPeerIsUnresponsive) {
  bed_.Connect();
  ASSERT_EQ(bed_.Send(0, 1500000, 100), ErrorCode::kOk);  // unexpected there
  bed_.PumpFor(5ms);
  bed_.b().node->Kill();
  PostEverything();
  for (const std::uint64_t context : {kSend, kWrite, kRead, kAtomic, kLong, std::uint64_t{100}}) {
    const Completion done = bed_.Take(bed_.a(), context);
    EXPECT_EQ(done.error, ErrorCode::kPeerUnresponsive) << context;
    EXPECT_EQ(done.provider_error, 4124) << context;  // it had shaken hands
  }
  EXPECT_EQ(
      bed_.a().queue->ErrorText({.error = ErrorCode::kPeerUnresponsive, .provider_error = 4124}),
      "peer stopped answering after its handshake (EFA provider error 4124)");
}

// It answered our device, but never shook hands.
TEST_F(DepartureTest, DeadPeerThatNeverShookHands) {
  ASSERT_EQ(bed_.Send(0, 10, 1), ErrorCode::kOk);
  while (bed_.a().completions.empty()) {  // b's program does nothing
    bed_.a().Poll();
    bed_.world().WaitUntil(bed_.world().Now() + 10us);
  }
  bed_.b().node->Kill();
  ASSERT_EQ(bed_.Send(0, 10, 2), ErrorCode::kOk);
  const Completion done = bed_.Take(bed_.a(), 2);
  EXPECT_EQ(done.error, ErrorCode::kPeerUnresponsive);
  EXPECT_EQ(done.provider_error, 4126);
}

TEST_F(DepartureTest, PeerThatNeverWasIsUnreachable) {
  bed_.b().node->Kill();
  PostEverything();
  for (std::uint64_t context = kSend; context <= kLong; ++context) {
    const Completion done = bed_.Take(bed_.a(), context);
    EXPECT_EQ(done.error, ErrorCode::kUnreachable) << context;
    EXPECT_EQ(done.provider_error, 15) << context;
  }
}

// A message that was arriving when its sender died; the receive is not lost for good.
TEST_F(DepartureTest, ReceiveOfADeadSenderFails) {
  bed_.Connect();
  Fill(bed_.a().Bytes(0, 3000000), 5);
  ASSERT_EQ(bed_.Recv(0, 3000000, 1), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 3000000, 2), ErrorCode::kOk);
  ASSERT_TRUE(bed_.PumpUntil([&] { return !Untouched(bed_.b().Bytes(0, 3000000)); }));
  bed_.a().node->Kill();
  const Completion received = bed_.Take(bed_.b(), 1);
  EXPECT_EQ(received.error, ErrorCode::kPeerUnresponsive);
  ASSERT_EQ(bed_.Recv(0, 10, 3), ErrorCode::kOk);
}

TEST_F(DepartureTest, ReceiveOfAPushedMessageFailsToo) {
  TestBedOptions options;
  options.alteration.without = {fabric::Capability::kRemoteRead};
  TestBed bed(options);
  Fill(bed.a().Bytes(0, 3000000), 5);
  ASSERT_EQ(bed.Recv(0, 3000000, 1), ErrorCode::kOk);
  ASSERT_EQ(bed.Send(0, 3000000, 2), ErrorCode::kOk);
  ASSERT_TRUE(bed.PumpUntil([&] { return !Untouched(bed.b().Bytes(0, 3000000)); }));
  bed.a().endpoint.reset();
  const Completion received = bed.Take(bed.b(), 1);
  EXPECT_EQ(received.error, ErrorCode::kBadDestination);  // when it cleared it to send more
}

// Closing the source of a message under way ends it here with an error, and there too.
TEST_F(DepartureTest, ClosedSourceAbortsItsMessage) {
  for (const bool reads : {true, false}) {
    for (const auto delay : {0us, 30us, 80us, 200us}) {
      SCOPED_TRACE(::testing::Message()
                   << (reads ? "read" : "pushed") << ", closed after " << delay.count() << " us");
      TestBedOptions options;
      if (!reads) options.alteration.without = {fabric::Capability::kRemoteRead};
      TestBed bed(options);
      bed.Connect();
      auto region = bed.a()
                        .domain
                        ->RegisterMemory({.data = bed.a().memory.data(),
                                          .length_bytes = bed.a().memory.size(),
                                          .access = Access::kSend})
                        .value();
      ASSERT_EQ(bed.Recv(0, 4000000, 1), ErrorCode::kOk);
      const fabric::SendRequest send{
          .buffer = region->Local(0, 4000000), .peer = bed.a().peers[1], .context = Context{2}};
      ASSERT_EQ(bed.a().endpoint->Send(send), ErrorCode::kOk);
      bed.PumpFor(delay);
      ASSERT_TRUE(region->Close().ok());
      const Completion sent = bed.Take(bed.a(), 2);
      EXPECT_EQ(sent.error, ErrorCode::kLocalAccess);
      EXPECT_EQ(sent.provider_error, 4127);
      const Completion received = bed.Take(bed.b(), 1);
      EXPECT_EQ(received.error, ErrorCode::kPeerAborted);
      EXPECT_EQ(received.provider_error, 4127);
      ASSERT_EQ(bed.Recv(0, 100, 3), ErrorCode::kOk);  // and the conversation goes on
      ASSERT_EQ(bed.Send(0, 100, 4), ErrorCode::kOk);
      EXPECT_EQ(bed.Take(bed.b(), 3).error, ErrorCode::kOk);
    }
  }
}

// ... also if the message has not met its receive yet.
TEST_F(DepartureTest, ClosedSourceAbortsAWaitingMessage) {
  for (const std::size_t length : {500000u, 2000000u}) {
    bed_.Connect();
    auto region = bed_.a()
                      .domain
                      ->RegisterMemory(
                          {.data = bed_.a().memory.data(), .length_bytes = bed_.a().memory.size()})
                      .value();
    const fabric::SendRequest send{
        .buffer = region->Local(0, length), .peer = bed_.a().peers[1], .context = Context{2}};
    ASSERT_EQ(bed_.a().endpoint->Send(send), ErrorCode::kOk);
    bed_.PumpFor(2ms);
    ASSERT_TRUE(region->Close().ok());
    EXPECT_EQ(bed_.Take(bed_.a(), 2).error, ErrorCode::kLocalAccess);
    ASSERT_EQ(bed_.Recv(0, length, 1), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), 1).error, ErrorCode::kPeerAborted);
  }
}

// Closing the memory of a receive: nothing lands after it, and the sender is content.
TEST_F(DepartureTest, ClosedReceiveMemoryIsNotTouched) {
  for (const bool reads : {true, false}) {
    for (const auto delay : {0us, 40us, 100us, 250us}) {
      TestBedOptions options;
      if (!reads) options.alteration.without = {fabric::Capability::kRemoteRead};
      TestBed bed(options);
      bed.Connect();
      Fill(bed.a().Bytes(0, 4000000), 5);
      auto region = bed.b()
                        .domain
                        ->RegisterMemory({.data = bed.b().memory.data(),
                                          .length_bytes = bed.b().memory.size(),
                                          .access = Access::kReceive})
                        .value();
      const fabric::RecvRequest receive{.buffer = region->Local(0, 4000000), .context = Context{1}};
      ASSERT_EQ(bed.b().endpoint->Recv(receive), ErrorCode::kOk);
      ASSERT_EQ(bed.Send(0, 4000000, 2), ErrorCode::kOk);
      bed.PumpFor(delay);
      ASSERT_TRUE(region->Close().ok());
      const std::vector<std::byte> then = bed.b().memory;
      EXPECT_EQ(bed.Take(bed.b(), 1).error, ErrorCode::kLocalAccess);
      EXPECT_EQ(bed.Take(bed.a(), 2).error, ErrorCode::kOk);
      EXPECT_TRUE(bed.b().memory == then);
    }
  }
}

// A removed peer is nobody's name any more; what is under way with it goes on.
TEST_F(DepartureTest, RemovedPeerEndsWhatItHasBegun) {
  bed_.Connect();
  ASSERT_EQ(bed_.Recv(0, 500000, 1), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 500000, 2), ErrorCode::kOk);
  ASSERT_TRUE(bed_.a().vector->Remove(bed_.a().peers[1]).ok());
  ASSERT_TRUE(bed_.b().vector->Remove(bed_.b().peers[0]).ok());
  EXPECT_EQ(bed_.Take(bed_.a(), 2).error, ErrorCode::kOk);
  const Completion received = bed_.Take(bed_.b(), 1);
  EXPECT_EQ(received.error, ErrorCode::kOk);
  EXPECT_EQ(received.source, fabric::kNoPeer);
  const fabric::SendRequest send{.buffer = bed_.a().Local(0, 1), .peer = bed_.a().peers[1]};
  EXPECT_EQ(bed_.a().endpoint->Send(send), ErrorCode::kUnknownPeer);
  // Inserted again, it is the same conversation.
  bed_.a().peers[1] = bed_.a().vector->Insert(bed_.b().endpoint->address()).value();
  ASSERT_EQ(bed_.Recv(0, 10, 3), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 10, 4), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 3).error, ErrorCode::kOk);
}

// Who was never inserted can write to us all the same: the handshake makes us insert it.
TEST_F(DepartureTest, StrangerIsInsertedByTheHandshake) {
  ASSERT_TRUE(bed_.b().vector->Remove(bed_.b().peers[0]).ok());
  const fabric::WriteRequest write{.source = bed_.a().Local(0, 100),
                                   .target = bed_.b().Remote(0),
                                   .peer = bed_.a().peers[1],
                                   .immediate = 5,
                                   .context = Context{1}};
  ASSERT_EQ(bed_.a().endpoint->Write(write), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
  EXPECT_EQ(bed_.TakeRemoteWrite(bed_.b()).source, fabric::kNoPeer);
  ASSERT_EQ(bed_.Recv(0, 10, 3), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 10, 4), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 3).source, fabric::kNoPeer);
}

// A peer that comes back on the same queue pair is somebody else: new qkey, new numbers, and what
// the old one sent is not mixed up with it.
TEST_F(DepartureTest, ReopenedEndpointStartsAfresh) {
  bed_.Connect();
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
    ASSERT_EQ(bed_.Send(0, 50, 2), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.b(), 1).length_bytes, 50u);
    EXPECT_EQ(bed_.Take(bed_.a(), 2).error, ErrorCode::kOk);
    const fabric::Address old = bed_.a().endpoint->address();
    bed_.ReopenEndpoint(bed_.a());
    ASSERT_NE(old.ToHex(), bed_.a().endpoint->address().ToHex());
    for (Machine* machine : {&bed_.a(), &bed_.b()}) {
      machine->peers[0] = machine->vector->Insert(bed_.a().endpoint->address()).value();
    }
    bed_.Connect();
  }
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 50, 2), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.b(), 1).source, bed_.b().peers[0]);
}

TEST_F(DepartureTest, EndpointMayCloseWithEverythingUnderWay) {
  for (const auto delay : {0us, 15us, 40us, 100us, 400us}) {
    TestBed bed;
    bed.Connect();
    ASSERT_EQ(bed.Recv(0, 4000000, 1), ErrorCode::kOk);
    for (std::uint64_t i = 0; i < 5; ++i) {
      ASSERT_EQ(bed.Send(0, i * 700000, i), ErrorCode::kOk);
    }
    bed.PumpFor(delay);
    bed.a().endpoint.reset();
    bed.a().completions.clear();
    bed.PumpFor(5ms);
    EXPECT_TRUE(bed.a().completions.empty());
    bed.b().endpoint.reset();
    bed.PumpFor(5ms);
    EXPECT_TRUE(bed.a().queue->Close().ok());
    EXPECT_TRUE(bed.b().queue->Close().ok());
  }
}

}  // namespace
}  // namespace sim::rdm
