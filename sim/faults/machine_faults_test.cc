// Machines, links and packets under a fault plan.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "drydock/fabric/error.h"
#include "drydock/sim/testing/fault_scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;
using fabric::ErrorCode;

FaultRule At(FaultRule rule, std::string nic) {
  rule.when.nics = {std::move(nic)};
  return rule;
}

// The time of one write without faults.
coro::Duration Usual(std::size_t length) {
  FaultScene scene({});
  scene.Write(1, length);
  return scene.Wait(1);
}

// ---- Packets ----

TEST(PacketLossTest, PacketArrivesAfterTheAttempts) {
  FaultRule rule = Nth(Fault::kPacketLoss, 1);
  rule.parameters.attempts = 3;
  FaultScene scene({rule});
  scene.Write(1, 4096);
  EXPECT_GE(scene.Wait(1), Usual(4096) + 3 * scene.a.nic.profile().retransmit_delay);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 4096), 1));
  EXPECT_EQ(scene.a.nic.counters().retrans_pkts, 3u);
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(PacketLossTest, PatienceOfTheDeviceEnds) {
  FaultRule rule = Nth(Fault::kPacketLoss, 1);
  rule.parameters.attempts = 1'000'000;
  FaultScene scene({rule});
  scene.Write(1, 4096);
  EXPECT_EQ(scene.StatusOf(1), 15);  // it has never heard of the peer
  EXPECT_TRUE(IsZero(scene.b.Bytes(0, 4096)));
  scene.ExpectHealed();
}

TEST(PacketLossTest, EveryPacketIsAnEvent) {
  FaultRule rule = Rule(Fault::kPacketLoss);
  rule.when.direction = fabric::faults::Direction::kInitiator;
  FaultScene scene({rule});
  const std::size_t mtu = scene.a.nic.profile().device.mtu;
  scene.Write(1, 3 * mtu);
  scene.Wait(1);
  EXPECT_EQ(scene.Fired(), 3u);
  scene.ExpectHealed();
}

TEST(SlowLinkTest, PacketsTakeTimesAsLong) {
  FaultScene scene({Rule(Fault::kSlowLink)});
  scene.Write(1, 64);
  EXPECT_GE(scene.Wait(1), 9 * 2 * scene.a.nic.profile().one_way.fixed);
  EXPECT_LT(Usual(64), 4 * scene.a.nic.profile().one_way.fixed);
  EXPECT_EQ(scene.Fired(), 2u);  // the packet, and its answer
  scene.ExpectHealed();
}

// ---- Links ----

TEST(LinkBlockedTest, NothingPassesInOneDirection) {
  FaultRule rule = At(Rule(Fault::kLinkBlocked), "a/rdmap79s0");
  rule.when.direction = fabric::faults::Direction::kInitiator;
  FaultScene scene({rule});
  scene.Write(1, 4096);
  EXPECT_EQ(scene.StatusOf(1), 15);
  EXPECT_TRUE(IsZero(scene.b.Bytes(0, 4096)));
  ASSERT_EQ(scene.b.endpoint->Write(scene.b.WriteTo(scene.a, 8192, 64, 2)), ErrorCode::kOk);
  EXPECT_EQ(scene.lab.Take(scene.b, 2).provider_error, 0);
  scene.Write(3, 4096);
  EXPECT_EQ(scene.StatusOf(3), 13);  // now it has heard of the peer
  EXPECT_EQ(scene.Fired(), 2u);
  scene.ExpectHealed();
}

TEST(LinkBlockedTest, AnswersAreBlockedWithThePacketsOfTheirNic) {
  FaultScene scene({At(Rule(Fault::kLinkBlocked), "b/rdmap79s0")});
  scene.Write(1, 4096);
  EXPECT_EQ(scene.StatusOf(1), 15);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 4096), 1));  // only the answer was lost
  scene.ExpectHealed();
}

TEST(LinkBlockedTest, PeerIsTheHowManiethOfTheVector) {
  FaultRule rule = At(Rule(Fault::kLinkBlocked), "rdmap79s0");  // of every machine
  rule.when.peers = {1};
  FaultScene scene({rule});
  scene.Write(1, 64);  // the lab inserts a, then b: b is peer 1 of both
  EXPECT_EQ(scene.StatusOf(1), 15);
  ASSERT_EQ(scene.b.endpoint->Write(scene.b.WriteTo(scene.a, 8192, 64, 2)), ErrorCode::kOk);
  EXPECT_EQ(scene.lab.Take(scene.b, 2).provider_error, 15);  // the answer is a packet to peer 1
  scene.ExpectHealed();
}

// It has asked its peer already, and looks for its receive while nothing passes.
TEST(LinkBlockedTest, EndsAMessageThatWaitsForItsReceive) {
  FaultRule rule = At(Rule(Fault::kLinkBlocked), "a/rdmap79s0");
  rule.when.window = fabric::faults::Window{.from = 1ms};
  FaultScene scene({rule});
  scene.Write(1, 64);
  EXPECT_EQ(scene.StatusOf(1), 0);
  ASSERT_EQ(scene.a.endpoint->Send(scene.a.SendTo(scene.b, 0, 64, 2)), ErrorCode::kOk);
  scene.lab.world().timeline().RunFor(2ms);
  ASSERT_EQ(scene.b.endpoint->Recv(scene.b.RecvAt(8192, 64, 3)), ErrorCode::kOk);
  EXPECT_EQ(scene.StatusOf(2), 13);
  EXPECT_TRUE(IsZero(scene.b.Bytes(8192, 64)));
  scene.engine->Heal();
  ASSERT_EQ(scene.a.endpoint->Send(scene.a.SendTo(scene.b, 0, 64, 4)), ErrorCode::kOk);
  EXPECT_EQ(scene.lab.Take(scene.b, 3).provider_error, 0);  // the receive is still there
  EXPECT_EQ(scene.StatusOf(4), 0);
  scene.ExpectHealed();
}

TEST(LinkBlockedTest, NobodyHearsThatATargetIsNotReady) {
  FaultScene scene({At(Rule(Fault::kLinkBlocked), "b/rdmap79s0")});
  ASSERT_EQ(scene.a.endpoint->Send(scene.a.SendTo(scene.b, 0, 64, 1)), ErrorCode::kOk);
  EXPECT_EQ(scene.StatusOf(1), 15);
  scene.ExpectHealed();
}

TEST(LinkFlapTest, AMessageThatWaitsForItsReceiveLooksForItWhenTheLinkIsUpAgain) {
  FaultRule rule = At(Rule(Fault::kLinkFlap), "a/rdmap79s0");
  rule.parameters.up = 1ms;
  rule.parameters.down = 10ms;
  FaultScene scene({rule});
  Fill(scene.a.Bytes(0, 64), 1);
  ASSERT_EQ(scene.a.endpoint->Send(scene.a.SendTo(scene.b, 0, 64, 1)), ErrorCode::kOk);
  scene.lab.world().timeline().RunFor(2ms);
  ASSERT_EQ(scene.b.endpoint->Recv(scene.b.RecvAt(8192, 64, 2)), ErrorCode::kOk);
  EXPECT_EQ(scene.lab.Take(scene.b, 2).provider_error, 0);
  EXPECT_GE(scene.lab.world().timeline().elapsed(), 11ms);
  EXPECT_LT(scene.lab.world().timeline().elapsed(), 11200us);
  EXPECT_TRUE(Holds(scene.b.Bytes(8192, 64), 1));
  EXPECT_EQ(scene.StatusOf(1), 0);
  scene.ExpectHealed();
}

TEST(LinkFlapTest, PacketsWaitUntilItIsUpAgain) {
  FaultRule rule = At(Rule(Fault::kLinkFlap), "a/rdmap79s0");
  rule.parameters.up = 1ns;
  rule.parameters.down = 1ms;
  FaultScene scene({rule});
  scene.Write(1, 4096);
  scene.Wait(1);
  EXPECT_GE(scene.lab.world().timeline().elapsed(), 1ms);
  EXPECT_LT(scene.lab.world().timeline().elapsed(), 1200us);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 4096), 1));
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(LinkFlapTest, WhatIsDownForLongerThanAnyoneWaitsIsDown) {
  FaultRule rule = At(Rule(Fault::kLinkFlap), "a/rdmap79s0");
  rule.parameters.up = 1ns;
  rule.parameters.down = 1h;
  FaultScene scene({rule});
  scene.Write(1, 4096);
  EXPECT_EQ(scene.StatusOf(1), 15);
  scene.ExpectHealed();
}

// ---- Machines ----

TEST(NicDiesTest, IsSilentForGood) {
  FaultRule rule = At(Nth(Fault::kNicDies, 2), "b/rdmap79s0");
  FaultScene scene({rule});
  scene.Write(1, 64);
  EXPECT_EQ(scene.StatusOf(1), 0);
  scene.Write(2, 64);
  EXPECT_EQ(scene.StatusOf(2), 13);
  EXPECT_FALSE(scene.b.nic.alive());
  scene.engine->Heal();  // does not bring the dead back
  scene.Write(3, 64);
  EXPECT_EQ(scene.StatusOf(3), 13);
  EXPECT_EQ(scene.Fired(), 1u);
  scene.lab.ExpectNoMore();
}

TEST(NicResetsTest, PeersMeetStatus8AndThen9) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FaultScene scene({At(Nth(Fault::kNicResets, 3), "b/rdmap79s0")}, Small(), seed);
    constexpr std::uint64_t kWrites = 8;
    for (std::uint64_t i = 1; i <= kWrites; ++i) scene.Write(i, 12000, i * 16384);
    std::vector<int> ended(16);
    for (std::uint64_t i = 1; i <= kWrites; ++i) {
      const std::int32_t status = scene.StatusOf(i);
      ++ended[static_cast<std::size_t>(status)];
      EXPECT_EQ(status == 0, Holds(scene.b.Bytes(i * 16384, 12000), i) && status == 0);
    }
    EXPECT_EQ(ended[0] + ended[8] + ended[9], 8) << "seed " << seed;
    EXPECT_GE(ended[0], 2) << "seed " << seed;
    EXPECT_GE(ended[8], 1) << "seed " << seed;
    scene.Write(100, 64);
    EXPECT_EQ(scene.StatusOf(100), 9) << "seed " << seed;
    EXPECT_EQ(scene.Fired(), 1u);
    scene.lab.ExpectNoMore();
  }
}

TEST(NodePausesTest, NothingLeavesNorArrivesMeanwhile) {
  FaultScene scene({At(Nth(Fault::kNodePauses, 1), "a/rdmap79s0")});
  scene.Write(1, 4096);
  ASSERT_EQ(scene.b.endpoint->Write(scene.b.WriteTo(scene.a, 8192, 64, 2)), ErrorCode::kOk);
  scene.lab.Watch(9ms);
  EXPECT_TRUE(scene.a.completions.empty());
  EXPECT_TRUE(scene.b.completions.empty());
  EXPECT_TRUE(IsZero(scene.b.Bytes(0, 4096)));
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_EQ(scene.lab.Take(scene.b, 2).provider_error, 0);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 4096), 1));
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

// ---- Peers ----

TEST(LateIntroductionTest, MeetsStatus14UntilThen) {
  FaultScene scene({At(Rule(Fault::kLateIntroduction), "b/rdmap79s0")});
  scene.Write(1, 64);
  EXPECT_EQ(scene.StatusOf(1), 14);
  EXPECT_TRUE(IsZero(scene.b.Bytes(0, 64)));
  scene.lab.Watch(1ms);
  scene.Write(2, 64);
  EXPECT_EQ(scene.StatusOf(2), 0);
  EXPECT_EQ(scene.Fired(), 2u);  // b inserted a and itself
  scene.ExpectHealed();
}

// A second endpoint of a machine that is known: the device has its address handle.
TEST(LateIntroductionTest, TakesNothingAwayFromWhoIsKnown) {
  FaultScene scene({At(Nth(Fault::kLateIntroduction, 3), "b/rdmap79s0")});
  scene.Write(1, 64);
  EXPECT_EQ(scene.StatusOf(1), 0);
  fabric::EndpointOptions options;
  options.send_queue = options.receive_queue = scene.a.queue.get();
  options.address_vector = scene.a.peers.get();
  const auto second = scene.a.domain->OpenEndpoint(options);
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_TRUE(scene.b.peers->Insert((*second)->address()).ok());
  EXPECT_EQ(scene.Fired(), 1u);
  scene.Write(2, 64);
  EXPECT_EQ(scene.StatusOf(2), 0);
}

TEST(RegionClosesTest, OperationsUnderWayMeetStatus7) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FaultScene scene({Nth(Fault::kRegionCloses, 1)}, Small(), seed);
    const auto region = scene.b.Register(0, 1 << 16, fabric::Access::kAll);
    fabric::WriteRequest write = scene.a.WriteTo(scene.b, 0, 40000, 1);
    write.target = region->remote();
    ASSERT_EQ(scene.a.endpoint->Write(write), ErrorCode::kOk);
    EXPECT_EQ(scene.StatusOf(1), 7) << "seed " << seed;
    write.context = fabric::Context{2};
    ASSERT_EQ(scene.a.endpoint->Write(write), ErrorCode::kOk);
    EXPECT_EQ(scene.StatusOf(2), 7) << "closed for all";
    EXPECT_EQ(scene.Fired(), 1u);
    EXPECT_TRUE(region->Close().ok());
    scene.ExpectHealed();
  }
}

TEST(RegionClosesTest, ReadsToo) {
  FaultScene scene({Nth(Fault::kRegionCloses, 1)});
  const auto region = scene.b.Register(0, 1 << 16, fabric::Access::kAll);
  fabric::ReadRequest read = scene.a.ReadFrom(scene.b, 0, 40000, 1);
  read.source = region->remote();
  ASSERT_EQ(scene.a.endpoint->Read(read), ErrorCode::kOk);
  EXPECT_EQ(scene.StatusOf(1), 7);
  scene.ExpectHealed();
}

// ---- On the machine's clock, where nothing takes time ----

sim::Profile Impatient() {
  sim::Profile profile = Small();
  profile.unresponsive_timeout = profile.unreachable_timeout = 2ms;
  return profile;
}

// Writes until one fails, or until one does not; returns the time since before the world began.
coro::Duration TimeUntil(bool fails, const FaultRule& rule) {
  const auto began = std::chrono::steady_clock::now();
  FaultScene scene({rule}, Impatient(), 1, {}, sim::ClockKind::kReal);
  const auto passed = [&] { return std::chrono::steady_clock::now() - began; };
  for (std::uint64_t context = 1; passed() < Lab::kPatience; ++context) {
    scene.Write(context, 64);
    if ((scene.StatusOf(context) != 0) == fails) return passed();
  }
  ADD_FAILURE() << "every write " << (fails ? "succeeds" : "fails");
  return {};
}

TEST(RealTimeFaultsTest, ALateIntroductionEnds) {
  FaultRule rule = At(Rule(Fault::kLateIntroduction), "b/rdmap79s0");
  rule.parameters.delay = 20ms;
  EXPECT_GE(TimeUntil(false, rule), 20ms);
}

TEST(RealTimeFaultsTest, AWindowOpensAndCloses) {
  FaultRule rule = Rule(Fault::kRemoteAddress);
  rule.when.window = fabric::faults::Window{.from = 20ms};
  EXPECT_GE(TimeUntil(true, rule), 20ms);
  rule.when.window = fabric::faults::Window{.to = 20ms};
  EXPECT_GE(TimeUntil(false, rule), 20ms);
}

TEST(RealTimeFaultsTest, ALinkGoesDown) {
  FaultRule rule = At(Rule(Fault::kLinkFlap), "a/rdmap79s0");
  rule.parameters.up = 20ms;
  rule.parameters.down = 1h;
  EXPECT_GE(TimeUntil(true, rule), 20ms);
}

// A world that has lived for longer than the pause.
TEST(RealTimeFaultsTest, AMachinePausesFromNowOn) {
  FaultRule rule = At(Nth(Fault::kNodePauses, 1), "a/rdmap79s0");
  rule.parameters.delay = 20ms;
  rule.when.window = fabric::faults::Window{.from = 30ms};
  FaultScene scene({rule}, Small(), 1, {}, sim::ClockKind::kReal);
  coro::Duration last{};
  const coro::Time deadline = scene.lab.world().Now() + Lab::kPatience;
  for (std::uint64_t context = 1; scene.Fired() == 0; ++context) {
    ASSERT_LT(scene.lab.world().Now(), deadline) << "nothing pauses";
    scene.Write(context, 64);
    last = scene.Wait(context);
  }
  EXPECT_GE(last, 20ms);
}

}  // namespace
}  // namespace drydock::sim_testing
