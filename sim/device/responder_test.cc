// The packets of peers at a NIC: checks, receives, immediates, answers.

#include "drydock/sim/device/responder.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/completion_counters.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/landing.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::OperationKind;
using sim::CounterKind;
using sim::EfaStatus;
using sim::EventKind;
using sim::Operation;
using sim::QueuePair;
using sim::Timeline;
using Ids = std::vector<std::uint64_t>;
using Lines = std::vector<std::string>;

// NIC a sends to NIC b, whose parts these are.
struct ResponderTest : testing::Test {
  ResponderTest() { bench.Introduce(a, b); }

  Operation& Start(OperationKind kind, std::uint64_t length = 100) {
    Operation& operation = bench.Start(kind, from, to, length);
    operation.next_packet = operation.packets;  // all are on their way
    return operation;
  }
  void PostReceive(std::uint16_t id) { PostReceive(bench.ReceiveInto(id, inbox)); }
  void PostReceive(const fabric::efa_queue::ReceiveWork& work) {
    parts.responder.Ring(to, bench.Post(to, work));
  }
  // A packet of the operation arrives: the status that it ends with, or -1 if it has not.
  int Arrive(Operation& operation) {
    parts.responder.OnPacket(operation, 0);
    return operation.ended ? operation.status : -1;
  }
  int StatusOf(OperationKind kind, std::uint64_t length = 100) {
    return Arrive(Start(kind, length));
  }
  // The receive of the last message that landed.
  const sim::Landing& Landed() { return parts.listener.landed.back(); }
  std::size_t Retries() { return b.actor.Count(EventKind::kRnrRetry); }

  Bench bench;
  BenchNic& a = bench.AddNic();
  BenchNic& b = bench.AddNic();
  BenchMemory& inbox = b.Register(1000);
  QueuePair& from = a.OpenQueuePair();
  std::shared_ptr<sim::CounterCore> received = std::make_shared<sim::CounterCore>();
  std::shared_ptr<sim::CounterCore> written = std::make_shared<sim::CounterCore>();
  QueuePair& to = b.OpenQueuePair(Counted());
  BenchParts parts{b};
  sim::DeviceCounters& counters = b.state.counters;

 private:
  sim::QueuePairAttributes Counted() const {
    sim::QueuePairAttributes attributes;
    attributes.counters[static_cast<std::size_t>(CounterKind::kReceives)] = received;
    attributes.counters[static_cast<std::size_t>(CounterKind::kRemoteWrites)] = written;
    return attributes;
  }
};

// ---- Whose packet it is ----

TEST_F(ResponderTest, PacketOfAWriteIsPlaced) {
  a.memory.bytes[99] = std::byte{42};
  Operation& write = Start(OperationKind::kWrite);
  EXPECT_EQ(Arrive(write), -1);
  EXPECT_EQ(b.memory.bytes[99], std::byte{42});
  EXPECT_EQ(parts.listener.all_placed, Ids{write.sequence});
  EXPECT_TRUE(b.state.heard_from.Has(a.state.index()));
}

TEST_F(ResponderTest, PacketForAQueuePairThatIsNotThereIsAnsweredWithStatus9) {
  Operation& nowhere = Start(OperationKind::kWrite);
  nowhere.destination_queue_pair = 9;
  EXPECT_EQ(Arrive(nowhere), 9);
  EXPECT_EQ(counters.qkey_viol, 0u);
  Operation& replaced = Start(OperationKind::kWrite);
  replaced.destination_qkey ^= 1;
  EXPECT_EQ(Arrive(replaced), 9);
  EXPECT_EQ(counters.qkey_viol, 1u);
  QueuePair& datagrams = b.OpenQueuePair({.type = sim::QueuePairType::kUd});
  EXPECT_EQ(Arrive(bench.Start(OperationKind::kWrite, from, datagrams, 100)), 9);
  EXPECT_EQ(counters.qkey_viol, 1u);  // the key is right
  to.state = sim::QueuePairState::kError;
  EXPECT_EQ(StatusOf(OperationKind::kSend), 9);
}

// The first packet is taken by whoever has the number and the key, the rest only by the same one: a
// queue pair that is reset in between is another one.
TEST_F(ResponderTest, QueuePairThatIsResetWithinAWriteAnswersWithStatus9) {
  const std::uint64_t two_packets = 2 * bench.profile.device.mtu;
  const auto start = [&] {
    Operation& write = Start(OperationKind::kWrite, two_packets);
    write.target_serial = 0;
    return &write;
  };
  Operation* const cut = start();
  EXPECT_EQ(Arrive(*cut), -1);
  EXPECT_EQ(cut->target_serial, to.serial);
  ++cut->target_serial;  // as if that had been the one before
  EXPECT_EQ(Arrive(*cut), 9);
  Operation* const placed = start();
  EXPECT_EQ(Arrive(*placed), -1);
  EXPECT_EQ(Arrive(*placed), -1);
  ++placed->target_serial;
  parts.responder.OnWritten(*placed);
  EXPECT_EQ(placed->status, 9);
}

TEST_F(ResponderTest, QueuePairThatIsResetWhileAWriteAwaitsItsReceiveAnswersWithStatus9) {
  QueuePair& asker = a.OpenQueuePair({.unsolicited_immediates = false});
  QueuePair& target = b.OpenQueuePair({.unsolicited_immediates = false});
  Operation& waits = bench.Start(OperationKind::kWrite, asker, target, 100);
  waits.has_immediate = true;
  parts.responder.OnWritten(waits);
  EXPECT_FALSE(waits.ended);
  ++waits.target_serial;
  parts.responder.Ring(target, bench.Post(target, bench.ReceiveInto(3, inbox)));
  parts.responder.OnRetry(waits);
  EXPECT_TRUE(waits.ended);
  EXPECT_EQ(waits.status, 9);
  EXPECT_EQ(target.receive.posted(), 1u);
}

TEST_F(ResponderTest, OnlyKnownPeersMayTouchMemoryByThemselves) {
  const std::uint16_t handle = b.state.handles.NumberOf(kDomain, a.state.index());
  b.state.handles.Introduce(handle, Timeline::kStart + 1ms);
  EXPECT_EQ(StatusOf(OperationKind::kWrite), 14);
  bench.RunFor(1ms);
  EXPECT_EQ(StatusOf(OperationKind::kWrite), -1);
  b.state.handles.Destroy(handle);
  EXPECT_EQ(StatusOf(OperationKind::kRead), 14);
  PostReceive(3);
  EXPECT_EQ(StatusOf(OperationKind::kSend), -1);
  EXPECT_EQ(parts.listener.landed.size(), 1u);
  EXPECT_EQ(Landed().completion.address_handle, sim::AddressHandles::kUnknown);
}

TEST_F(ResponderTest, DeviceWithoutReadsOrWritesAnswersWithStatus18) {
  bench.profile.device.rdma_write = false;
  EXPECT_EQ(StatusOf(OperationKind::kWrite), 18);
  EXPECT_EQ(StatusOf(OperationKind::kRead), -1);
  bench.profile.device.rdma_read = false;
  EXPECT_EQ(StatusOf(OperationKind::kRead), 18);
}

// ---- Messages ----

TEST_F(ResponderTest, MessageTakesTheOldestReceive) {
  PostReceive(3);
  PostReceive(4);
  a.memory.bytes[0] = std::byte{42};
  Operation& message = Start(OperationKind::kSend);
  message.has_immediate = true;
  message.immediate = 77;
  EXPECT_EQ(Arrive(message), -1);
  EXPECT_EQ(inbox.bytes[0], std::byte{42});
  EXPECT_EQ(bench.told.Take(),
            (Lines{"receive 3 taken", "message lands in 3 at 0", "placing 0+100", "placed 0+100"}));
  const sim::DeviceCompletion& completion = Landed().completion;
  EXPECT_EQ(completion.request_id, 3u);
  EXPECT_EQ(completion.kind, OperationKind::kReceive);
  EXPECT_EQ(completion.length_bytes, 100u);
  EXPECT_EQ(completion.queue_pair, to.number);
  EXPECT_EQ(completion.source_queue_pair, from.number);
  EXPECT_TRUE(completion.has_immediate);
  EXPECT_EQ(completion.immediate, 77u);
  EXPECT_EQ(completion.source_gid, a.state.gid);
  EXPECT_EQ(to.receive.posted(), 1u);
}

TEST_F(ResponderTest, MessageThatIsTooLongLeavesTheReceiveAlone) {
  PostReceive(3);
  EXPECT_EQ(StatusOf(OperationKind::kSend, 1001), 11);
  EXPECT_EQ(to.receive.posted(), 1u);
  EXPECT_EQ(StatusOf(OperationKind::kSend, 1000), -1);
  EXPECT_EQ(to.receive.posted(), 0u);
}

TEST_F(ResponderTest, MessageWhoseSourceIsClosedTakesNoReceive) {
  PostReceive(3);
  a.state.memory.Revoke(a.memory.keys.remote);
  EXPECT_EQ(StatusOf(OperationKind::kSend), 5);
  EXPECT_EQ(to.receive.posted(), 1u);
}

TEST_F(ResponderTest, ReceiveThatMustNotBeWrittenFailsAndSoDoesItsMessage) {
  auto malformed = bench.ReceiveInto(3, inbox);
  malformed.segments[0].lkey = 1u << 23;  // no key of a region
  PostReceive(malformed);
  EXPECT_EQ(StatusOf(OperationKind::kSend), 7);
  const std::vector<Entry> entries = Bench::Received(to);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].request_id, 3u);
  EXPECT_EQ(static_cast<int>(entries[0].status), 5);
  EXPECT_EQ(received->errors, 1u);
  EXPECT_TRUE(parts.listener.landed.empty());
}

TEST_F(ResponderTest, MessageThatHasLandedIsReportedAndAnswered) {
  Operation& message = Start(OperationKind::kSend);
  sim::Landing landing;
  landing.completion = {.request_id = 3, .kind = OperationKind::kReceive, .length_bytes = 100};
  parts.responder.OnLanded(to, landing, &message);
  EXPECT_EQ(bench.told.Take(), (Lines{"reported 3: 0", "ended: 0"}));
  EXPECT_EQ(counters.recv_wrs, 1u);
  EXPECT_EQ(counters.recv_bytes, 100u);
  EXPECT_EQ(received->value, 1u);
  parts.responder.OnLanded(to, landing, nullptr);  // its sender is gone
  EXPECT_EQ(bench.told.Take(), Lines{"reported 3: 0"});
  landing.completion.status = 5;
  parts.responder.OnLanded(to, landing, &Start(OperationKind::kSend));
  EXPECT_EQ(bench.told.Take(), (Lines{"reported 3: 5", "ended: 7"}));
  EXPECT_EQ(counters.recv_bytes, 200u);
  EXPECT_EQ(received->errors, 1u);
}

// ---- Datagrams ----

TEST_F(ResponderTest, DatagramLandsBehindItsPrefix) {
  QueuePair& sender = a.OpenQueuePair({.type = sim::QueuePairType::kUd});
  QueuePair& target = b.OpenQueuePair({.type = sim::QueuePairType::kUd});
  parts.responder.Ring(target, bench.Post(target, bench.ReceiveInto(3, inbox)));
  a.memory.bytes[0] = std::byte{42};
  Operation& datagram = bench.Start(OperationKind::kSend, sender, target, 960);
  EXPECT_EQ(Arrive(datagram), -1);
  EXPECT_EQ(inbox.bytes[40], std::byte{42});
  EXPECT_EQ(Landed().completion.length_bytes, 1000u);
  sim::Landing landing = Landed();
  parts.responder.OnLanded(target, landing, &datagram);
  EXPECT_EQ(counters.recv_bytes, 960u);
  EXPECT_EQ(datagram.status, 0);
}

TEST_F(ResponderTest, DatagramThatFindsNoPlaceIsDroppedAndItsSenderHearsNothingOfIt) {
  QueuePair& sender = a.OpenQueuePair({.type = sim::QueuePairType::kUd});
  QueuePair& target = b.OpenQueuePair({.type = sim::QueuePairType::kUd});
  EXPECT_EQ(Arrive(bench.Start(OperationKind::kSend, sender, target, 100)), 0);  // no receive
  parts.responder.Ring(target, bench.Post(target, bench.ReceiveInto(3, inbox)));
  EXPECT_EQ(Arrive(bench.Start(OperationKind::kSend, sender, target, 961)), 0);  // too long
  EXPECT_EQ(Arrive(bench.Start(OperationKind::kSend, sender, to, 100)), 0);  // not for datagrams
  EXPECT_EQ(counters.rx_drops, 3u);
  EXPECT_EQ(target.receive.posted(), 1u);
  EXPECT_TRUE(parts.listener.landed.empty());
}

// ---- No receive ----

TEST_F(ResponderTest, MessageWithoutAReceiveLooksAgainAsOftenAsItMay) {
  Operation& message = Start(OperationKind::kSend);
  message.rnr_retries = 2;
  EXPECT_EQ(Arrive(message), -1);
  bench.RunFor(1ms);
  ASSERT_EQ(Retries(), 1u);
  EXPECT_EQ(b.actor.First(EventKind::kRnrRetry).time, Timeline::kStart + 50us);
  parts.responder.OnRetry(message);
  EXPECT_FALSE(message.ended);
  parts.responder.OnRetry(message);
  EXPECT_TRUE(message.ended);
  EXPECT_EQ(message.status, 10);
  EXPECT_EQ(counters.rx_drops, 3u);
}

TEST_F(ResponderTest, MessageThatRetriesForEverWaitsForTheNextReceives) {
  Operation& message = Start(OperationKind::kSend);
  EXPECT_EQ(Arrive(message), -1);
  bench.RunFor(1s);
  EXPECT_EQ(Retries(), 0u);
  PostReceive(3);
  bench.RunFor(1ms);
  ASSERT_EQ(Retries(), 1u);
  EXPECT_TRUE(to.waiting.empty());
  parts.responder.OnRetry(message);
  EXPECT_EQ(Landed().completion.request_id, 3u);
}

// Peers give up what waits, and send other messages.
TEST_F(ResponderTest, MessageThatWasGivenUpWhileItWaitedIsForgotten) {
  for (int i = 0; i < 1000; ++i) {
    Operation& message = Start(OperationKind::kSend);
    message.rnr_retries = sim::kRetryForEver;
    ASSERT_EQ(Arrive(message), -1);
    bench.around.EndOperation(message);
  }
  EXPECT_LE(to.waiting.size(), 64u);
}

TEST_F(ResponderTest, NobodyHearsThatATargetIsNotReadyWhereNothingPassesBack) {
  bench.wire.Block(b.state.port, a.state.port);
  Operation& message = Start(OperationKind::kSend);
  EXPECT_EQ(Arrive(message), -1);
  EXPECT_TRUE(message.silent);
  // It asks again all the same.
  PostReceive(3);
  bench.RunFor(1ms);
  EXPECT_EQ(Retries(), 1u);
}

TEST_F(ResponderTest, RetryIsAPacketOfTheInitiator) {
  PostReceive(3);
  Operation& message = Start(OperationKind::kSend);
  parts.responder.OnRetry(message);
  EXPECT_EQ(a.state.counters.tx_bytes, 164u);
  EXPECT_EQ(counters.rx_bytes, 164u);
  bench.wire.Block(a.state.port, b.state.port);
  Operation& blocked = Start(OperationKind::kSend);
  parts.responder.OnRetry(blocked);
  EXPECT_TRUE(blocked.silent);
  EXPECT_EQ(a.state.counters.tx_bytes, 328u);
  EXPECT_EQ(counters.rx_bytes, 164u);
  a.state.port.alive = false;
  Operation& dead = Start(OperationKind::kSend);
  parts.responder.OnRetry(dead);
  EXPECT_FALSE(dead.silent);
  EXPECT_EQ(a.state.counters.tx_bytes, 328u);
}

TEST_F(ResponderTest, PlanKeepsARetryBackUntilItMayLeave) {
  bench.UseFaults();
  bench.faults.departure.delay = 3us;
  bench.faults.departure.retransmissions = 1;
  PostReceive(3);
  Operation& message = Start(OperationKind::kSend);
  parts.responder.OnRetry(message);
  EXPECT_TRUE(parts.listener.landed.empty());
  EXPECT_EQ(a.state.counters.retrans_pkts, 1u);
  bench.RunFor(3us);
  EXPECT_EQ(parts.listener.landed.size(), 1u);
  EXPECT_EQ(counters.rx_bytes, 164u);
}

TEST_F(ResponderTest, PlanKeepsTheInitiatorFromHearingThatATargetIsNotReady) {
  bench.UseFaults();
  bench.faults.departure.leaves = false;
  Operation& message = Start(OperationKind::kSend);
  EXPECT_EQ(Arrive(message), -1);
  EXPECT_TRUE(message.silent);
  EXPECT_EQ(bench.faults.departures, std::vector{sim::DrawPurpose::kAnswer});
}

// ---- Reads and writes ----

TEST_F(ResponderTest, DataOfAReadAreSentWhenAllOfItsSourceMayBeRead) {
  Operation& read = Start(OperationKind::kRead);
  read.next_packet = 0;
  EXPECT_EQ(Arrive(read), -1);
  EXPECT_EQ(counters.rdma_read_resp_bytes, 100u);
  parts.transmitter.SendOne();
  EXPECT_EQ(bench.told.Take(), Lines{"sent packet 0 of data of 100 bytes"});
  Operation& beyond = Start(OperationKind::kRead);
  beyond.remote_address += BenchNic::kMemoryBytes - 99;
  EXPECT_EQ(Arrive(beyond), 7);
  b.state.answers_nonsense = true;
  EXPECT_FALSE(sim::IsKnown(static_cast<std::uint8_t>(StatusOf(OperationKind::kRead))));
  EXPECT_EQ(counters.rdma_read_resp_bytes, 100u);
}

TEST_F(ResponderTest, WriteThatIsPlacedIsCountedAndAnswered) {
  parts.responder.OnWritten(Start(OperationKind::kWrite));
  EXPECT_EQ(bench.told.Take(), Lines{"ended: 0"});
  EXPECT_EQ(counters.rdma_write_recv_bytes, 100u);
  EXPECT_EQ(written->value, 1u);
  EXPECT_TRUE(Bench::Received(to).empty());
  Operation& late = Start(OperationKind::kWrite);
  b.state.queue_pairs.Erase(to.number);
  parts.responder.OnWritten(late);
  EXPECT_EQ(late.status, 9);
  EXPECT_EQ(counters.rdma_write_recv_bytes, 100u);
}

TEST_F(ResponderTest, ImmediateIsReportedBeforeTheAnswerAndTakesNoReceive) {
  PostReceive(3);
  Operation& write = Start(OperationKind::kWrite);
  write.has_immediate = true;
  write.immediate = 77;
  parts.responder.OnWritten(write);
  EXPECT_EQ(bench.told.Take(), (Lines{"immediate 77", "reported 0: 0", "ended: 0"}));
  const std::vector<Entry> entries = Bench::Received(to);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_TRUE(entries[0].unsolicited);
  EXPECT_EQ(entries[0].immediate, 77u);
  EXPECT_EQ(entries[0].length, 100u);
  EXPECT_EQ(entries[0].operation, fabric::efa_queue::Operation::kWrite);
  EXPECT_EQ(entries[0].address_handle, b.state.handles.NumberOf(kDomain, a.state.index()));
  EXPECT_EQ(to.receive.posted(), 1u);
}

TEST_F(ResponderTest, ImmediateTakesAReceiveWhereTheQueuePairWantsIt) {
  QueuePair& asker = a.OpenQueuePair({.unsolicited_immediates = false});
  QueuePair& target = b.OpenQueuePair({.unsolicited_immediates = false});
  auto malformed = bench.ReceiveInto(3, inbox);
  malformed.segment_count = 2;
  malformed.segments[1] = malformed.segments[0];
  parts.responder.Ring(target, bench.Post(target, malformed) - 1);  // its last segment is not there
  Operation& write = bench.Start(OperationKind::kWrite, asker, target, 100);
  write.has_immediate = true;
  parts.responder.OnWritten(write);
  EXPECT_FALSE(write.ended);  // the malformed one fails, and there is no other
  EXPECT_EQ(bench.told.Take(), (Lines{"receive 3 taken", "reported 3: 5"}));
  EXPECT_EQ(target.waiting.size(), 1u);
  Bench::Received(target);
  parts.responder.Ring(target, bench.Post(target, bench.ReceiveInto(4, inbox)));
  parts.responder.OnRetry(write);
  parts.responder.OnRetry(write);
  EXPECT_EQ(Bench::Received(target).back().request_id, 4u);
  EXPECT_TRUE(write.ended);
}

// A counter of peers' writes counts completions: a write that waits, or fails, is none.
TEST_F(ResponderTest, WriteIsCountedWhenItsImmediateIsThere) {
  sim::QueuePairAttributes attributes{.unsolicited_immediates = false};
  attributes.counters[static_cast<std::size_t>(CounterKind::kRemoteWrites)] = written;
  QueuePair& asker = a.OpenQueuePair({.unsolicited_immediates = false});
  QueuePair& target = b.OpenQueuePair(attributes);
  Operation& fails = bench.Start(OperationKind::kWrite, asker, target, 100);
  fails.has_immediate = true;
  fails.rnr_retries = 0;
  parts.responder.OnWritten(fails);
  EXPECT_EQ(fails.status, 10);
  EXPECT_EQ(written->value, 0u);
  Operation& waits = bench.Start(OperationKind::kWrite, asker, target, 100);
  waits.has_immediate = true;
  parts.responder.OnWritten(waits);
  EXPECT_EQ(written->value, 0u);
  parts.responder.Ring(target, bench.Post(target, bench.ReceiveInto(3, inbox)));
  parts.responder.OnRetry(waits);
  EXPECT_TRUE(waits.ended);
  EXPECT_EQ(written->value, 1u);
}

// Only a message is put there.
TEST_F(ResponderTest, MemoryOfAReceiveThatAnImmediateTakesIsNotLookedAt) {
  QueuePair& asker = a.OpenQueuePair({.unsolicited_immediates = false});
  QueuePair& target = b.OpenQueuePair({.unsolicited_immediates = false});
  auto nowhere = bench.ReceiveInto(3, inbox);
  nowhere.segments[0].lkey ^= 1;
  parts.responder.Ring(target, bench.Post(target, nowhere));
  Operation& write = bench.Start(OperationKind::kWrite, asker, target, 100);
  write.has_immediate = true;
  parts.responder.OnWritten(write);
  const std::vector<Entry> entries = Bench::Received(target);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].request_id, 3u);
  EXPECT_EQ(static_cast<int>(entries[0].status), 0);
  EXPECT_TRUE(write.ended);
}

// ---- A fault plan's say ----

TEST_F(ResponderTest, PlanLetsAMessageFailAfterSomeBytesOfTheNextReceive) {
  bench.UseFaults();
  bench.faults.arrival = {.failure = sim::Failure{EfaStatus::kRemoteAbort, 50us},
                          .placed_bytes = 60};
  PostReceive(3);
  for (std::byte& byte : a.memory.bytes) byte = std::byte{42};
  Operation& message = Start(OperationKind::kSend);
  message.faulted = true;
  parts.responder.OnPacket(message, 0);
  EXPECT_EQ(inbox.bytes[59], std::byte{42});
  EXPECT_EQ(inbox.bytes[60], std::byte{0});
  EXPECT_EQ(to.receive.posted(), 1u);
  bench.RunFor(50us);
  EXPECT_EQ(message.status, 8);
  EXPECT_TRUE(parts.listener.landed.empty());
}

TEST_F(ResponderTest, PlanLetsTheReceiveOfAMessageFail) {
  bench.UseFaults();
  bench.faults.receive.failure = sim::Failure{EfaStatus::kLocalInvalidLkey, 50us};
  PostReceive(3);
  EXPECT_EQ(StatusOf(OperationKind::kSend), 7);
  EXPECT_TRUE(Bench::Received(to).empty());
  bench.RunFor(50us);
  EXPECT_EQ(bench.told.Count("reported 3: 5"), 1u);
  EXPECT_TRUE(parts.listener.landed.empty());
}

TEST_F(ResponderTest, MessageWhoseReceiveIsFlushedLooksForTheNextOne) {
  bench.UseFaults();
  bench.faults.receive.failure = sim::Failure{EfaStatus::kFlushed, 0us};
  PostReceive(3);
  EXPECT_EQ(StatusOf(OperationKind::kSend), -1);
  bench.RunFor(1us);
  EXPECT_EQ(bench.told.Count("reported 3: 1"), 1u);
  EXPECT_EQ(Retries(), 1u);
}

TEST_F(ResponderTest, PlanDecidesWhenReceivesAndImmediatesAreReported) {
  bench.UseFaults();
  bench.faults.receive.completion.when = sim::CompletionVerdict::When::kNever;
  bench.faults.immediate = {.repeats = 2};
  PostReceive(3);
  EXPECT_EQ(StatusOf(OperationKind::kSend), -1);
  EXPECT_EQ(Landed().verdict.when, sim::CompletionVerdict::When::kNever);
  const sim::Landing landing = Landed();
  parts.responder.OnLanded(to, landing, nullptr);
  EXPECT_TRUE(Bench::Received(to).empty());
  Operation& write = Start(OperationKind::kWrite);
  write.has_immediate = true;
  parts.responder.OnWritten(write);
  EXPECT_EQ(Bench::Received(to).size(), 3u);
}

TEST_F(ResponderTest, ImmediateThatAPlanLetsFailIsCountedAsAFailure) {
  bench.UseFaults();
  bench.faults.immediate_status = 12;
  Operation& write = Start(OperationKind::kWrite);
  write.has_immediate = true;
  parts.responder.OnWritten(write);
  EXPECT_EQ(bench.told.Take(), (Lines{"immediate 0", "reported 0: 12", "ended: 0"}));
  EXPECT_EQ(written->value, 0u);
  EXPECT_EQ(written->errors, 1u);
}

TEST_F(ResponderTest, WriteThatAPlanHasCutHasNoImmediate) {
  bench.UseFaults();
  bench.faults.written = false;
  Operation& write = Start(OperationKind::kWrite);
  write.has_immediate = write.faulted = true;
  parts.responder.OnWritten(write);
  EXPECT_EQ(bench.told.Take(), Lines{"ended: 0"});
  EXPECT_EQ(counters.rdma_write_recv_bytes, 0u);
}

// ---- Ends from outside ----

TEST_F(ResponderTest, DoorbellThatNothingExplainsIsCounted) {
  parts.responder.Ring(to, 17);
  EXPECT_EQ(counters.doorbell_faults, 1u);
  EXPECT_EQ(to.last_doorbell_fault, fabric::efa_queue::DoorbellFault::kOverRing);
}

TEST_F(ResponderTest, ReceivesThatAreFlushedEndInTheirOrder) {
  PostReceive(3);
  PostReceive(4);
  parts.responder.FlushReceives(to);
  EXPECT_EQ(bench.told.Take(),
            (Lines{"receive 3 taken", "reported 3: 1", "receive 4 taken", "reported 4: 1"}));
  EXPECT_EQ(to.receive.posted(), 0u);
}

TEST_F(ResponderTest, PeersAreToldThatTheDeviceHasRestarted) {
  Operation& to_us = Start(OperationKind::kWrite);
  Operation& ended = Start(OperationKind::kWrite);
  Operation& ours = bench.Start(OperationKind::kWrite, to, from, 100);
  Operation& datagram = Start(OperationKind::kSend);
  ended.ended = true;
  datagram.datagram = true;
  parts.responder.AbortAll();
  EXPECT_EQ(to_us.status, 8);
  EXPECT_EQ(ended.status, 0);
  EXPECT_FALSE(ours.ended);
  EXPECT_FALSE(datagram.ended);  // its sender hears nothing of us
}

TEST_F(ResponderTest, WhatWaitsForAReceiveFallsSilentWithThePeerOrWithUs) {
  BenchNic& c = bench.AddNic();
  Operation& of_a = Start(OperationKind::kSend);
  Operation& of_c = bench.Start(OperationKind::kSend, c.OpenQueuePair(), to, 100);
  Arrive(of_a);
  Arrive(of_c);
  parts.responder.Silence(a.state);
  EXPECT_TRUE(of_a.silent);
  EXPECT_FALSE(of_c.silent);
  parts.responder.Die();
  EXPECT_TRUE(of_c.silent);
  EXPECT_EQ(bench.told.Count("silent"), 2u);
}

TEST_F(ResponderTest, WhatWaitsAtAnAbandonedQueuePairLooksOnceMore) {
  Operation& message = Start(OperationKind::kSend);
  Arrive(message);
  parts.responder.Abandon(to);
  b.state.queue_pairs.Erase(to.number);
  bench.RunFor(1ms);
  ASSERT_EQ(Retries(), 1u);
  parts.responder.OnRetry(message);
  EXPECT_EQ(message.status, 9);
}

TEST_F(ResponderTest, ImmediateThatWaitedAtAFailedQueuePairIsAnsweredAndDoesNotAppear) {
  Operation& write = Start(OperationKind::kWrite);
  write.has_immediate = true;
  to.state = sim::QueuePairState::kError;
  parts.responder.OnRetry(write);
  EXPECT_EQ(write.status, 9);
  EXPECT_EQ(bench.told.Count("reported 0: 0"), 0u);
}

TEST_F(ResponderTest, WhatHasEndedWhileItWaitedDoesNotFallSilent) {
  Operation& message = Start(OperationKind::kSend);
  Arrive(message);
  message.ended = true;
  parts.responder.Silence(a.state);
  parts.responder.Die();
  EXPECT_FALSE(message.silent);
}

TEST_F(ResponderTest, BeginningOfADatagramWhoseReceiveFailsIsBehindThePrefixToo) {
  QueuePair& sender = a.OpenQueuePair({.type = sim::QueuePairType::kUd});
  QueuePair& target = b.OpenQueuePair({.type = sim::QueuePairType::kUd});
  bench.UseFaults();
  bench.faults.receive.failure = sim::Failure{EfaStatus::kLocalInvalidLkey, 50us};
  bench.faults.receive.placed_bytes = 1;
  parts.responder.Ring(target, bench.Post(target, bench.ReceiveInto(3, inbox)));
  a.memory.bytes[0] = std::byte{42};
  Arrive(bench.Start(OperationKind::kSend, sender, target, 100));
  EXPECT_EQ(inbox.bytes[0], std::byte{0});
  EXPECT_EQ(inbox.bytes[40], std::byte{42});
}

}  // namespace
}  // namespace drydock::sim_testing
