// Which packet leaves next, when, and its fate.

#include "drydock/sim/device/transmitter.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/network/undisturbed.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/random.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::OperationKind;
using sim::EventKind;
using sim::Operation;
using sim::PacketFlags;
using sim::Timeline;
using Lines = std::vector<std::string>;

constexpr std::uint64_t kMtu = 8928;
constexpr std::uint64_t kHeader = 64;

// One NIC that sends, and another one.
struct Ends {
  explicit Ends(sim::Profile profile = Plain()) : bench(std::move(profile)) {}

  Operation& Start(OperationKind kind, std::uint64_t length) {
    return bench.Start(kind, from, to, length);
  }
  // Sends until nothing is left, without waiting. Returns the work requests that this completed.
  std::vector<std::uint64_t> SendAll() {
    std::vector<std::uint64_t> served;
    for (int i = 0; i < 1000; ++i) {
      if (const auto one = transmitter.SendOne()) served.push_back(one->sequence);
    }
    return served;
  }

  Bench bench;
  BenchNic& a = bench.AddNic();
  BenchNic& b = bench.AddNic();
  sim::QueuePair& from = a.OpenQueuePair();
  sim::QueuePair& to = b.OpenQueuePair();
  sim::Transmitter transmitter{a.state, bench.around,
                               sim::RandomStream(1, sim::Subsystem::kEngine, 0, 0)};
};

TEST(TransmitterTest, FirstPacketMayLeaveAtOnceAndIsAskedForOnce) {
  Ends ends;
  ends.transmitter.EnqueueRequest(ends.Start(OperationKind::kWrite, 100).id);
  ends.transmitter.EnqueueRequest(ends.Start(OperationKind::kWrite, 100).id);
  ends.bench.RunFor(1us);
  ASSERT_EQ(ends.a.actor.Count(EventKind::kTransmit), 1u);
  EXPECT_EQ(ends.a.actor.First(EventKind::kTransmit).time, Timeline::kStart);
  ends.transmitter.Begin();
  ends.transmitter.Schedule();
  ends.bench.RunFor(1us);
  EXPECT_EQ(ends.a.actor.Count(EventKind::kTransmit), 2u);
}

TEST(TransmitterTest, NextPacketWaitsUntilTheLinkIsFree) {
  Ends ends;
  ends.transmitter.EnqueueRequest(ends.Start(OperationKind::kWrite, 2 * kMtu).id);
  ends.bench.RunFor(0ns);
  ends.transmitter.Begin();
  EXPECT_TRUE(ends.transmitter.can_go_on());
  ends.transmitter.SendOne();
  EXPECT_FALSE(ends.transmitter.can_go_on());
  ends.a.actor.events.clear();
  ends.transmitter.Schedule();
  ends.bench.RunFor(1ms);
  EXPECT_EQ(ends.a.actor.First(EventKind::kTransmit).time,
            Timeline::kStart + std::chrono::nanoseconds(kMtu + kHeader));
}

TEST(TransmitterTest, EngineNeedsTimeForEachWorkRequest) {
  sim::Profile profile = Plain();
  profile.issue_cost = 400ns;
  Ends ends(profile);
  ends.transmitter.EnqueueRequest(ends.Start(OperationKind::kWrite, 0).id);
  ends.transmitter.SendOne();
  ends.bench.RunFor(1ms);
  // 400 ns of the engine, 64 of the link, and the way.
  EXPECT_EQ(ends.b.actor.First(EventKind::kArrive).time, Timeline::kStart + 464ns + 10us);
}

TEST(TransmitterTest, WriteLeavesInPacketsAndTheLastOneCompletesIt) {
  Ends ends;
  Operation& write = ends.Start(OperationKind::kWrite, 2 * kMtu + 10);
  ends.transmitter.EnqueueRequest(write.id);
  EXPECT_FALSE(ends.transmitter.SendOne().has_value());
  EXPECT_FALSE(ends.transmitter.SendOne().has_value());
  const auto served = ends.transmitter.SendOne();
  ASSERT_TRUE(served.has_value());
  EXPECT_EQ(served->sequence, write.sequence);
  EXPECT_EQ(served->source, ends.from.serial);
  EXPECT_FALSE(ends.transmitter.SendOne().has_value());
  EXPECT_EQ(ends.bench.told.Take(),
            (Lines{"sent packet 0 of 8928 bytes", "sent packet 1 of 8928 bytes",
                   "sent packet 2 of 10 bytes"}));
  ends.bench.RunFor(1ms);
  std::vector<std::uint32_t> arrived;
  for (const sim::Event& event : ends.b.actor.events) {
    if (event.kind == EventKind::kArrive && event.b == write.id.Pack()) arrived.push_back(event.a);
  }
  EXPECT_EQ(arrived, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(TransmitterTest, BothEndsCountPacketsAndBytesWithHeaders) {
  Ends ends;
  ends.transmitter.EnqueueRequest(ends.Start(OperationKind::kWrite, kMtu + 100).id);
  ends.SendAll();
  EXPECT_EQ(ends.a.state.counters.tx_pkts, 2u);
  EXPECT_EQ(ends.a.state.counters.tx_bytes, kMtu + 100 + 2 * kHeader);
  EXPECT_EQ(ends.b.state.counters.rx_pkts, 2u);
  EXPECT_EQ(ends.b.state.counters.rx_bytes, kMtu + 100 + 2 * kHeader);
  EXPECT_EQ(ends.b.state.counters.tx_pkts, 0u);
}

TEST(TransmitterTest, RequestOfAReadIsOnePacketWithoutData) {
  Ends ends;
  Operation& read = ends.Start(OperationKind::kRead, 3 * kMtu);
  ends.transmitter.EnqueueRequest(read.id);
  EXPECT_EQ(ends.SendAll(), std::vector{read.sequence});
  EXPECT_EQ(ends.a.state.counters.tx_bytes, kHeader);
  EXPECT_EQ(read.next_packet, 0u);  // its data are still to come
  EXPECT_EQ(ends.bench.told.Take(), Lines{"sent packet 0 of 0 bytes"});
}

TEST(TransmitterTest, DataOfAReadGoToItsInitiatorAndCompleteNoWorkRequest) {
  Ends ends;
  Operation& read = ends.bench.Start(OperationKind::kRead, ends.to, ends.from, kMtu + 5);
  ends.transmitter.EnqueueResponse(read.id);
  EXPECT_TRUE(ends.SendAll().empty());
  EXPECT_EQ(ends.bench.told.Take(),
            (Lines{"sent packet 0 of data of 8928 bytes", "sent packet 1 of data of 5 bytes"}));
  ends.bench.RunFor(1ms);
  EXPECT_EQ(ends.b.actor.Count(EventKind::kReadData), 2u);
  EXPECT_EQ(ends.b.actor.Count(EventKind::kArrive), 0u);
}

TEST(TransmitterTest, EngineHasRoomForAWindowOfOwnRequests) {
  sim::Profile profile = Plain();
  profile.engine_window = 2;
  Ends ends(profile);
  Operation& read = ends.bench.Start(OperationKind::kRead, ends.to, ends.from, 100);
  ends.transmitter.EnqueueResponse(read.id);
  ends.transmitter.EnqueueResponse(read.id);
  EXPECT_TRUE(ends.transmitter.has_room());  // peers' reads take none
  ends.transmitter.EnqueueRequest(ends.Start(OperationKind::kWrite, 100).id);
  EXPECT_TRUE(ends.transmitter.has_room());
  ends.transmitter.EnqueueRequest(ends.Start(OperationKind::kWrite, 100).id);
  EXPECT_FALSE(ends.transmitter.has_room());
  ends.SendAll();
  EXPECT_TRUE(ends.transmitter.has_room());
}

TEST(TransmitterTest, JobsBeyondTheWindowWaitForAPlace) {
  sim::Profile profile = Plain();
  profile.engine_window = 1;
  Ends ends(profile);
  Operation& first = ends.Start(OperationKind::kWrite, 20 * kMtu);
  Operation& second = ends.Start(OperationKind::kWrite, 20 * kMtu);
  ends.transmitter.EnqueueRequest(first.id);
  ends.transmitter.EnqueueRequest(second.id);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(second.next_packet, 0u);
    ends.transmitter.SendOne();
  }
  EXPECT_EQ(first.next_packet, 20u);
  EXPECT_EQ(ends.SendAll(), std::vector{second.sequence});
}

TEST(TransmitterTest, JobsTakeTurnsAtRandomUnlessTheyAreUndisturbed) {
  for (const bool undisturbed : {false, true}) {
    Ends ends;
    if (undisturbed) ends.bench.wire.UseUndisturbed(sim::Undisturbed::AllBut({}));
    Operation& first = ends.Start(OperationKind::kWrite, 20 * kMtu);
    Operation& second = ends.Start(OperationKind::kWrite, 20 * kMtu);
    ends.transmitter.EnqueueRequest(first.id);
    ends.transmitter.EnqueueRequest(second.id);
    for (int i = 0; i < 20; ++i) ends.transmitter.SendOne();
    EXPECT_EQ(second.next_packet > 0, !undisturbed);
    EXPECT_EQ(first.next_packet == 20, undisturbed);
  }
}

TEST(TransmitterTest, PacketsOfWhatHasEndedOrIsGoneDoNotLeave) {
  Ends ends;
  Operation& ended = ends.Start(OperationKind::kWrite, 100);
  Operation& gone = ends.Start(OperationKind::kWrite, 100);
  Operation& alive = ends.Start(OperationKind::kWrite, 7);
  for (const Operation* each : {&ended, &gone, &alive}) ends.transmitter.EnqueueRequest(each->id);
  ended.ended = true;
  ends.bench.operations.End(gone);
  EXPECT_EQ(ends.SendAll(), std::vector{alive.sequence});
  EXPECT_EQ(ends.bench.told.Take(), Lines{"sent packet 0 of 7 bytes"});
  EXPECT_EQ(ends.a.state.counters.tx_pkts, 1u);
}

TEST(TransmitterTest, PacketThatIsLostEndsInSilenceAndADatagramWell) {
  Ends ends;
  ends.bench.wire.Block(ends.a.state.port, ends.b.state.port);
  Operation& write = ends.Start(OperationKind::kWrite, 100);
  ends.transmitter.EnqueueRequest(write.id);
  EXPECT_EQ(ends.SendAll(), std::vector{write.sequence});
  EXPECT_TRUE(write.silent);
  Operation& datagram = ends.Start(OperationKind::kSend, 100);
  datagram.datagram = true;
  ends.transmitter.EnqueueRequest(datagram.id);
  ends.SendAll();
  EXPECT_FALSE(datagram.silent);
  EXPECT_EQ(ends.bench.told.Take(), (Lines{"sent packet 0 of 100 bytes, lost", "silent",
                                           "sent packet 0 of 100 bytes, lost", "ended: 0"}));
  EXPECT_EQ(ends.a.state.counters.tx_pkts, 2u);
  EXPECT_EQ(ends.b.state.counters.rx_pkts, 0u);
}

TEST(TransmitterTest, PacketToAnAddressThatNobodyHasIsLost) {
  Ends ends;
  Operation& write = ends.Start(OperationKind::kWrite, 100);
  write.peer = nullptr;
  ends.transmitter.EnqueueRequest(write.id);
  ends.SendAll();
  EXPECT_TRUE(write.silent);
  EXPECT_EQ(ends.a.state.counters.tx_pkts, 1u);
}

TEST(TransmitterTest, RetransmissionsAreCountedAtTheSenderAndADatagramHasNone) {
  Ends ends;
  ends.bench.UseFaults();
  ends.bench.faults.departure.retransmissions = 2;
  ends.transmitter.EnqueueRequest(ends.Start(OperationKind::kWrite, 100).id);
  ends.SendAll();
  const sim::DeviceCounters& sent = ends.a.state.counters;
  EXPECT_EQ(sent.retrans_pkts, 2u);
  EXPECT_EQ(sent.retrans_timeout_events, 2u);
  EXPECT_EQ(sent.retrans_bytes, 2 * (100 + kHeader));
  EXPECT_EQ(sent.tx_pkts, 3u);
  EXPECT_EQ(ends.b.state.counters.rx_pkts, 1u);
  Operation& datagram = ends.Start(OperationKind::kSend, 100);
  datagram.datagram = true;
  ends.transmitter.EnqueueRequest(datagram.id);
  ends.SendAll();
  EXPECT_TRUE(datagram.ended);
  EXPECT_EQ(sent.retrans_pkts, 2u);
  EXPECT_EQ(ends.b.state.counters.rx_pkts, 1u);
}

TEST(TransmitterTest, SecondCopyArrivesOfWritesAndReadDataOnly) {
  sim::Profile profile = Plain();
  profile.duplicate_one_in = 1;
  Ends ends(profile);
  Operation& write = ends.Start(OperationKind::kWrite, 100);
  Operation& empty = ends.Start(OperationKind::kWrite, 0);
  Operation& message = ends.Start(OperationKind::kSend, 100);
  Operation& read = ends.bench.Start(OperationKind::kRead, ends.to, ends.from, 100);
  for (const Operation* each : {&write, &empty, &message}) {
    ends.transmitter.EnqueueRequest(each->id);
  }
  ends.transmitter.EnqueueResponse(read.id);
  ends.SendAll();
  ends.bench.RunFor(1ms);
  EXPECT_EQ(write.copies, 2u);
  EXPECT_EQ(empty.copies, 1u);
  EXPECT_EQ(message.copies, 1u);
  EXPECT_EQ(read.copies, 2u);
  EXPECT_EQ(ends.b.actor.Count(EventKind::kArrive), 4u);
  ASSERT_EQ(ends.b.actor.Count(EventKind::kReadData), 2u);
  std::uint32_t marked = 0;
  for (const sim::Event& event : ends.b.actor.events) {
    if (event.kind != EventKind::kTransmit && (event.a & PacketFlags::kSecondCopy) != 0) ++marked;
  }
  EXPECT_EQ(marked, 2u);
}

TEST(TransmitterTest, HostsAddTheirPartToTheWay) {
  struct Far final : sim::HostPath {
    coro::Duration DelayOf(const Operation&, bool, sim::Range, coro::Time) override { return 7us; }
  };
  Ends ends;
  Far far;
  ends.bench.around.host_path = &far;
  ends.transmitter.EnqueueRequest(ends.Start(OperationKind::kWrite, 100).id);
  ends.SendAll();
  ends.bench.RunFor(1ms);
  EXPECT_EQ(ends.b.actor.First(EventKind::kArrive).time, Timeline::kStart + 164ns + 10us + 7us);
}

TEST(TransmitterTest, WithoutDelaysMostOperationsLeaveAtOnceAndSomeWait) {
  Ends ends(sim::WithoutDelays(Plain()));
  const Operation& short_one = ends.Start(OperationKind::kWrite, 100);
  const Operation& long_one = ends.Start(OperationKind::kWrite, 10000);
  int at_once = 0;
  for (int i = 0; i < 400; ++i) at_once += ends.transmitter.LeavesAtOnce(short_one) ? 1 : 0;
  EXPECT_GT(at_once, 250);
  EXPECT_LT(at_once, 350);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ends.transmitter.LeavesAtOnce(long_one));
  ends.bench.around.paused_until[0] = Timeline::kStart + 1ms;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ends.transmitter.LeavesAtOnce(short_one));
  Ends slow;
  const Operation& slow_one = slow.Start(OperationKind::kWrite, 100);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(slow.transmitter.LeavesAtOnce(slow_one));
}

TEST(TransmitterTest, WhatLeavesAtOnceHasArrived) {
  Ends ends(sim::WithoutDelays(Plain()));
  Operation& write = ends.Start(OperationKind::kWrite, 100);
  ends.transmitter.SendAtOnce(write, false);
  EXPECT_EQ(write.next_packet, write.packets);
  Operation& read = ends.Start(OperationKind::kRead, 100);
  ends.transmitter.SendAtOnce(read, false);
  EXPECT_EQ(read.next_packet, 0u);  // of the data
  Operation& data = ends.bench.Start(OperationKind::kRead, ends.to, ends.from, 50);
  ends.transmitter.SendAtOnce(data, true);
  EXPECT_EQ(data.next_packet, data.packets);
  EXPECT_EQ(ends.bench.told.Take(), (Lines{"sent packet 0 of 100 bytes", "sent packet 0 of 0 bytes",
                                           "sent packet 0 of data of 50 bytes"}));
  EXPECT_EQ(ends.b.actor.Count(EventKind::kArrive), 2u);
  EXPECT_EQ(ends.b.actor.Count(EventKind::kReadData), 1u);
  EXPECT_EQ(ends.a.actor.Count(EventKind::kTransmit), 0u);
}

TEST(TransmitterTest, WhatPeersReadFromADeadNicFallsSilent) {
  sim::Profile profile = Plain();
  profile.engine_window = 1;
  Ends ends(profile);
  Operation& served = ends.bench.Start(OperationKind::kRead, ends.to, ends.from, 100);
  Operation& waiting = ends.bench.Start(OperationKind::kRead, ends.to, ends.from, 100);
  Operation& own = ends.Start(OperationKind::kWrite, 100);
  ends.transmitter.EnqueueResponse(served.id);
  ends.transmitter.EnqueueResponse(waiting.id);
  ends.transmitter.EnqueueRequest(own.id);
  ends.a.state.port.alive = false;
  ends.transmitter.Die();
  EXPECT_TRUE(served.silent);
  EXPECT_TRUE(waiting.silent);
  EXPECT_FALSE(own.silent);
  EXPECT_TRUE(ends.SendAll().empty());
  EXPECT_EQ(ends.a.state.counters.tx_pkts, 0u);
  EXPECT_FALSE(ends.transmitter.can_go_on());
}

}  // namespace
}  // namespace drydock::sim_testing
