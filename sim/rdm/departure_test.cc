// Peers that go: endpoints that close, machines that die, peers that are removed, and queue pairs
// that serve another endpoint later.

#include <cstdint>
#include <optional>
#include <vector>

#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
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

// An operation that waits for an answer of the peer, and has nothing under way that could fail,
// ends with the next operation that does fail.
TEST_F(DepartureTest, OperationsThatWaitEndWithTheNextFailure) {
  bed_.Connect();
  ASSERT_EQ(bed_.Send(0, 2000000, kLong), ErrorCode::kOk);  // waits to be read
  ASSERT_EQ(bed_.Send(0, 500000, kRead), ErrorCode::kOk);   // waits to be cleared to send
  bed_.PumpFor(5ms);
  bed_.b().node->Kill();
  bed_.PumpFor(20ms);
  EXPECT_TRUE(bed_.a().completions.empty());
  ASSERT_EQ(bed_.Send(0, 10, kSend), ErrorCode::kOk);
  for (const std::uint64_t context : {kSend, kLong, kRead}) {
    EXPECT_EQ(bed_.Take(bed_.a(), context).error, ErrorCode::kPeerUnresponsive);
  }
}

// So do reads that the peer's software serves, also one of no bytes.
TEST_F(DepartureTest, EmulatedReadsEndWithTheNextFailure) {
  TestBedOptions options;
  options.alteration.without = {fabric::Capability::kRemoteRead};
  TestBed bed(options);
  bed.Connect();
  Machine& a = bed.a();
  for (const std::uint64_t bytes : {0u, 8u}) {
    const fabric::ReadRequest read{.target = a.Local(0, bytes),
                                   .source = bed.b().Remote(0),
                                   .peer = a.peers[1],
                                   .context = Context{bytes}};
    ASSERT_EQ(a.endpoint->Read(read), ErrorCode::kOk);
  }
  for (int i = 0; i < 100; ++i) {  // b's program does nothing
    a.Poll();
    bed.world().timeline().RunFor(10us);
  }
  ASSERT_TRUE(a.completions.empty());
  bed.b().node->Kill();
  ASSERT_EQ(bed.Send(0, 10, 1), ErrorCode::kOk);
  for (const std::uint64_t context : {0u, 1u, 8u}) {
    EXPECT_EQ(bed.Take(a, context).error, ErrorCode::kPeerUnresponsive) << context;
  }
}

// A receiver that closes tells the senders of long messages, whether they have met a receive or
// not.
TEST_F(DepartureTest, ClosedReceiverTellsTheSendersOfLongMessages) {
  for (const bool posted : {false, true}) {
    TestBedOptions options;
    options.alteration.without = {fabric::Capability::kRemoteRead};
    TestBed bed(options);
    bed.Connect();
    if (posted) {
      ASSERT_EQ(bed.Recv(0, 4000000, 9), ErrorCode::kOk);
    }
    ASSERT_EQ(bed.Send(0, 3000000, 1), ErrorCode::kOk);
    ASSERT_EQ(bed.Send(0, 500000, 2), ErrorCode::kOk);
    bed.PumpFor(posted ? 60us : 5ms);
    ASSERT_TRUE(bed.a().completions.empty());
    bed.b().endpoint.reset();
    for (const std::uint64_t context : {1u, 2u}) {
      const Completion sent = bed.Take(bed.a(), context);
      EXPECT_EQ(sent.error, ErrorCode::kPeerAborted);
      EXPECT_EQ(sent.provider_error, 4127);
    }
    bed.PumpFor(5ms);
    EXPECT_TRUE(bed.a().completions.empty());
    EXPECT_TRUE(bed.b().completions.empty());
    ASSERT_EQ(bed.Send(0, 10, 3), ErrorCode::kOk);  // now its queue pair has gone
    EXPECT_EQ(bed.Take(bed.a(), 3).error, ErrorCode::kBadDestination);
  }
}

// Requests to an endpoint that is leaving are declined, and its objects can go meanwhile.
TEST_F(DepartureTest, LeavingEndpointHoldsNobodyUp) {
  bed_.Connect();
  ASSERT_EQ(bed_.Send(0, 2000000, 1), ErrorCode::kOk);
  bed_.PumpFor(5ms);
  Machine& b = bed_.b();
  b.endpoint.reset();
  ASSERT_EQ(bed_.Send(0, 500000, 2), ErrorCode::kOk);
  bed_.world().timeline().RunFor(
      1ms);  // a long message for one that has closed, and has not read since
  const fabric::AtomicRequest atomic{.operand = bed_.a().Local(0, 8),
                                     .target = b.Remote(0),
                                     .peer = bed_.a().peers[1],
                                     .context = Context{3}};
  ASSERT_EQ(bed_.a().atomics().Atomic(atomic), ErrorCode::kOk);
  EXPECT_TRUE(b.vector->Close().ok());
  for (std::uint64_t context = 1; context <= 3; ++context) {
    const Completion done = bed_.Take(bed_.a(), context);
    EXPECT_TRUE(done.error == ErrorCode::kPeerAborted || done.error == ErrorCode::kBadDestination);
  }
  EXPECT_TRUE(Untouched(b.Bytes(0, 100)));
  EXPECT_TRUE(b.region->Close().ok());
  EXPECT_TRUE(b.queue->Close().ok());
  b.region.reset();
  b.queue.reset();
  EXPECT_TRUE(b.domain->Close().ok());
}

// A write and a read that wait for a handshake never begin when the endpoint closes, though it
// still tells another peer, and the handshake comes meanwhile.
TEST_F(DepartureTest, OperationsThatWaitForAHandshakeEndWithTheirEndpoint) {
  TestBed bed({.machines = 3});
  Machine &a = bed.a(), &c = bed[2];
  const fabric::SendRequest send{.buffer = bed.b().Local(0, 900000), .peer = bed.b().peers[0]};
  ASSERT_EQ(bed.Post([&] { return bed.b().endpoint->Send(send); }), ErrorCode::kOk);
  bed.PumpFor(1ms);
  Fill(a.Bytes(4096, 4096), 5);
  Fill(c.Bytes(4096, 4096), 6);
  const fabric::WriteRequest write{
      .source = a.Local(4096, 4096), .target = c.Remote(0), .peer = a.peers[2]};
  const fabric::ReadRequest read{
      .target = a.Local(0, 4096), .source = c.Remote(4096), .peer = a.peers[2]};
  ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Read(read), ErrorCode::kOk);
  EXPECT_TRUE(a.endpoint->Close().ok());
  bed.PumpFor(20ms);
  EXPECT_TRUE(Untouched(c.Bytes(0, 4096)));
  EXPECT_TRUE(Untouched(a.Bytes(0, 4096)));
}

// A peer that takes no packets does not keep the queue pair for ever, though the device never gives
// up.
TEST_F(DepartureTest, PeerThatTakesNoFarewellIsLeft) {
  TestBedOptions options;
  options.settings.receive_packets = 1;
  options.settings.farewell = 10ms;
  TestBed bed(options);
  bed.ReplaceEndpoint(1, {.receiver_not_ready_retries = 7});
  bed.Connect();
  ASSERT_EQ(bed.Send(0, 2000000, 1), ErrorCode::kOk);
  bed.PumpFor(5ms);
  const fabric::SendRequest send{.buffer = bed.b().Local(0, 10), .peer = bed.b().peers[0]};
  ASSERT_EQ(bed.b().endpoint->Send(send), ErrorCode::kOk);  // takes the only receive
  bed.world().timeline().RunFor(1ms);
  bed.b().endpoint.reset();
  for (int i = 0; i < 20; ++i) {
    bed.world().timeline().RunFor(1ms);
    bed.b().Poll();
  }
  bed.PumpFor(5ms);
  EXPECT_TRUE(bed.a().completions.empty());
  ASSERT_EQ(bed.Send(0, 10, 2), ErrorCode::kOk);
  EXPECT_EQ(bed.Take(bed.a(), 2).error, ErrorCode::kBadDestination);
  EXPECT_EQ(bed.Take(bed.a(), 1).error, ErrorCode::kBadDestination);
}

TEST_F(DepartureTest, DomainMayGoBeforeThePeersWereTold) {
  bed_.Connect();
  ASSERT_EQ(bed_.Send(0, 2000000, 1), ErrorCode::kOk);
  bed_.PumpFor(5ms);
  Machine& b = bed_.b();
  b.endpoint.reset();
  b.region.reset();
  b.vector.reset();
  b.queue.reset();
  EXPECT_TRUE(b.domain->Close().ok());
  bed_.PumpFor(5ms);
  ASSERT_EQ(bed_.Send(0, 10, 2), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 2).error, ErrorCode::kBadDestination);
}

// Nobody can read a queue of the domain any more, and so nobody would end the queue pair.
TEST_F(DepartureTest, LeavingEndpointGoesWithTheLastQueueOfItsDomain) {
  bed_.Connect();
  ASSERT_EQ(bed_.Send(0, 2000000, 1), ErrorCode::kOk);
  bed_.PumpFor(5ms);
  Machine& b = bed_.b();
  b.endpoint.reset();
  b.queue.reset();
  const fabric::WriteRequest write{.source = bed_.a().Local(0, 100),
                                   .target = b.Remote(0),
                                   .peer = bed_.a().peers[1],
                                   .context = Context{2}};
  Fill(bed_.a().Bytes(0, 100), 5);
  ASSERT_EQ(bed_.a().endpoint->Write(write), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 2).error, ErrorCode::kBadDestination);
  EXPECT_TRUE(Untouched(b.Bytes(0, 100)));
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
  ASSERT_TRUE(bed.PumpUntil([&] { return !Untouched(bed.b().Bytes(1000000, 100)); }));
  bed.a().endpoint.reset();
  const Completion received = bed.Take(bed.b(), 1);
  EXPECT_EQ(received.error, ErrorCode::kPeerAborted);
  EXPECT_EQ(received.provider_error, 4127);
  // Messages that were on their way when the sender closed are dropped.
  bed.PumpFor(5ms);
  EXPECT_TRUE(Untouched(bed.b().Bytes(2500000, 500000)));
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

// The handle of a removed peer names no peer any more; operations under way with it go on.
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

// A removed peer is none of those that the program did not insert, of which there may be few.
TEST_F(DepartureTest, RemovedPeerIsNoStranger) {
  TestBedOptions options{.machines = 3};
  options.settings.strangers = 1;
  TestBed bed(options);
  Machine &b = bed.b(), &c = bed[2];
  ASSERT_TRUE(b.vector->Remove(b.peers[2]).ok());
  ASSERT_EQ(bed.Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(bed.Send(0, 100, 2), ErrorCode::kOk);
  EXPECT_EQ(bed.Take(b, 1).error, ErrorCode::kOk);
  ASSERT_TRUE(b.vector->Remove(b.peers[0]).ok());
  ASSERT_EQ(bed.Recv(0, 100, 3), ErrorCode::kOk);
  const fabric::SendRequest send{.buffer = c.Local(0, 50), .peer = c.peers[1]};
  ASSERT_EQ(c.endpoint->Send(send), ErrorCode::kOk);
  EXPECT_EQ(bed.Take(b, 3).length_bytes, 50u);
}

// A message that came before its sender was inserted: the device has no name for it, and it is the
// sender's all the same.
TEST_F(DepartureTest, MessageThatCameBeforeItsSenderWasInserted) {
  for (const auto idle : {0us, 50us, 5000us}) {
    TestBed bed;
    if (idle > 0us) bed.PumpFor(idle);
    ASSERT_TRUE(bed.b().vector->Remove(bed.b().peers[0]).ok());
    bed.b().Poll();
    Fill(bed.a().Bytes(0, 100), 5);
    ASSERT_EQ(bed.Send(0, 100, 1), ErrorCode::kOk);
    bed.world().timeline().RunFor(1ms);
    bed.b().peers[0] = bed.b().vector->Insert(bed.a().endpoint->address()).value();
    ASSERT_EQ(bed.Recv(0, 100, 2), ErrorCode::kOk);
    const Completion received = bed.Take(bed.b(), 2);
    EXPECT_EQ(received.error, ErrorCode::kOk);
    EXPECT_EQ(received.source, bed.b().peers[0]);
    EXPECT_TRUE(Holds(bed.b().Bytes(0, 100), 5));
  }
}

// A peer that was never inserted can write to us all the same: the handshake makes us insert it.
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

// A peer that comes back on the same queue pair is another peer: new qkey, new numbers, and the old
// one's messages are not mixed up with its own.
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

// It has the queue pair number of the one before it, which its receiver knows: only the connid
// tells them apart.
TEST_F(DepartureTest, ReopenedEndpointIsNotTheOneThatItsReceiverKnows) {
  bed_.Connect();
  bed_.ReopenEndpoint(bed_.a());
  ASSERT_EQ(bed_.Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 50, 2), ErrorCode::kOk);
  const Completion received = bed_.Take(bed_.b(), 1);
  EXPECT_EQ(received.length_bytes, 50u);
  EXPECT_EQ(received.source, fabric::kNoPeer);
}

// Our own NIC restarts: nothing will ever come any more, and everything says so, once.
TEST_F(DepartureTest, RestartOfTheOwnDeviceEndsEverything) {
  bed_.Connect();
  Machine& a = bed_.a();
  ASSERT_EQ(bed_.Send(0, 2000000, 1), ErrorCode::kOk);  // waits to be read
  ASSERT_EQ(bed_.Send(0, 500000, 2), ErrorCode::kOk);   // waits to be cleared to send
  ASSERT_EQ(a.endpoint->Recv(fabric::RecvRequest{.buffer = a.Local(0, 100), .context = Context{3}}),
            ErrorCode::kOk);
  ASSERT_EQ(a.tagged().RecvTagged(
                fabric::TaggedRecvRequest{.buffer = a.Local(0, 100), .context = Context{4}}),
            ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Recv(fabric::RecvRequest{
                .buffer = a.Local(0, 20000), .context = Context{5}, .multi = true}),
            ErrorCode::kOk);
  bed_.PumpFor(2ms);
  ASSERT_TRUE(a.completions.empty());
  a.node->Reset();
  for (std::uint64_t context = 1; context <= 5; ++context) {
    const Completion done = bed_.Take(a, context);
    EXPECT_EQ(done.error, ErrorCode::kCanceled) << context;
    EXPECT_EQ(done.provider_error, 1) << context;
    EXPECT_EQ(done.buffer_released, context == 5);
  }
  // Requests that are posted now fail as well.
  ASSERT_EQ(bed_.Send(0, 10, 6), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Recv(fabric::RecvRequest{.buffer = a.Local(0, 100), .context = Context{7}}),
            ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(a, 6).error, ErrorCode::kCanceled);
  EXPECT_EQ(bed_.Take(a, 7).error, ErrorCode::kCanceled);
  bed_.PumpFor(5ms);
  EXPECT_TRUE(a.completions.empty());
}

// A security group that lets nothing back: the peer has heard us, its handshake is lost. When the
// rule is there, it shakes hands again.
TEST_F(DepartureTest, LostHandshakeIsSentAgain) {
  const fabric::WriteRequest write{.source = bed_.a().Local(0, 100),
                                   .target = bed_.b().Remote(0),
                                   .peer = bed_.a().peers[1],
                                   .context = Context{1}};
  bed_.world().Block(*bed_.b().node, *bed_.a().node);
  ASSERT_EQ(bed_.a().endpoint->Write(write), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kUnreachable);
  bed_.PumpFor(3s);  // b learns that its handshake was not heard
  bed_.world().Unblock(*bed_.b().node, *bed_.a().node);
  ASSERT_EQ(bed_.a().endpoint->Write(write), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
}

// A message that failed leaves a gap in the numbers, because it may have arrived: later messages to
// this peer are taken there, and wait for it for ever.
TEST_F(DepartureTest, MessagesAfterAFailedOneAreNotDelivered) {
  bed_.Connect();
  bed_.world().Block(*bed_.a().node, *bed_.b().node);
  ASSERT_EQ(bed_.Send(0, 10, 1), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kPeerUnresponsive);
  bed_.world().Unblock(*bed_.a().node, *bed_.b().node);
  ASSERT_EQ(bed_.Recv(0, 10, 2), ErrorCode::kOk);
  ASSERT_EQ(bed_.Send(0, 10, 3), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 3).error, ErrorCode::kOk);
  bed_.PumpFor(20ms);
  EXPECT_TRUE(bed_.b().completions.empty());
  EXPECT_EQ(bed_.b().statistics().early, 1u);
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
}  // namespace drydock::sim::rdm
