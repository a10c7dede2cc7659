// The fate of a packet on its way: the wire's part, and a fault plan's.

#include "drydock/sim/device/flight.h"

#include <chrono>
#include <vector>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/network/wire.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using sim::DrawPurpose;
using sim::EventKind;
using sim::Flight;
using sim::Timeline;
using Machine = sim::DepartureVerdict::Machine;

struct FlightTest : testing::Test {
  Flight Fly(DrawPurpose purpose = DrawPurpose::kRequest) {
    return sim::Fly(bench.around, a.state, b.state, operation, purpose, 0);
  }
  sim::DepartureVerdict NoticeLeaves(DrawPurpose purpose = DrawPurpose::kRequest) {
    return sim::NoticeLeaves(bench.around, a.state, b.state, operation, purpose);
  }

  Bench bench;
  BenchNic& a = bench.AddNic();
  BenchNic& b = bench.AddNic();
  sim::Operation& operation =
      bench.Start(fabric::OperationKind::kWrite, a.OpenQueuePair(), b.OpenQueuePair(), 100);
};

TEST_F(FlightTest, TakesTheWiresTimeWithoutAPlan) {
  const Flight flight = Fly();
  EXPECT_TRUE(flight.arrives);
  EXPECT_EQ(flight.delay, 10us);
  EXPECT_EQ(flight.retransmissions, 0u);
  EXPECT_TRUE(bench.faults.departures.empty());
}

TEST_F(FlightTest, IsLostWhereNothingPasses) {
  bench.wire.Block(a.state.port, b.state.port);
  EXPECT_FALSE(Fly().arrives);
}

TEST_F(FlightTest, PlanAddsItsDelaysAndRetransmissions) {
  bench.UseFaults();
  bench.faults.departure.delay = 3us;
  bench.faults.departure.retransmissions = 2;
  bench.faults.flight_delay = 20us;
  const Flight flight = Fly(DrawPurpose::kAnswer);
  EXPECT_TRUE(flight.arrives);
  EXPECT_EQ(flight.delay, 33us);
  EXPECT_EQ(flight.retransmissions, 2u);
  EXPECT_EQ(bench.faults.departures, std::vector{DrawPurpose::kAnswer});
}

TEST_F(FlightTest, PacketThatDoesNotLeaveDoesNotFly) {
  bench.UseFaults();
  bench.faults.departure.leaves = false;
  EXPECT_FALSE(Fly().arrives);
  EXPECT_EQ(bench.faults.flights, 0u);
}

TEST_F(FlightTest, PlanIsNotAskedAboutTheFlightOfALostPacket) {
  bench.UseFaults();
  bench.wire.Block(a.state.port, b.state.port);
  EXPECT_FALSE(Fly().arrives);
  EXPECT_EQ(bench.faults.departures.size(), 1u);
  EXPECT_EQ(bench.faults.flights, 0u);
}

TEST_F(FlightTest, NicDiesWhenItIsDoneWithThePacket) {
  bench.UseFaults();
  bench.faults.departure = {.machine = Machine::kNicDies, .leaves = false};
  EXPECT_FALSE(Fly().arrives);
  EXPECT_TRUE(a.actor.events.empty());
  bench.RunFor(0us);
  EXPECT_EQ(a.actor.Count(EventKind::kNicDies), 1u);
  EXPECT_TRUE(b.actor.events.empty());
}

TEST_F(FlightTest, NicResetsAfterAPacketThatStillLeaves) {
  bench.UseFaults();
  bench.faults.departure.machine = Machine::kNicResets;
  EXPECT_TRUE(Fly().arrives);
  bench.RunFor(0us);
  EXPECT_EQ(a.actor.Count(EventKind::kNicResets), 1u);
  EXPECT_EQ(a.actor.Count(EventKind::kNicDies), 0u);
}

TEST_F(FlightTest, LongestPauseOfAMachineCounts) {
  bench.UseFaults();
  bench.faults.departure = {.machine = Machine::kPauses, .delay = 5ms};
  Fly();
  EXPECT_EQ(bench.around.paused_until.at(a.state.machine()), Timeline::kStart + 5ms);
  bench.faults.departure.delay = 1ms;
  Fly();
  EXPECT_EQ(bench.around.paused_until.at(a.state.machine()), Timeline::kStart + 5ms);
  EXPECT_EQ(bench.around.paused_until.count(b.state.machine()), 0u);
}

TEST_F(FlightTest, NoticeLeavesWhereTheWireLetsIt) {
  EXPECT_TRUE(NoticeLeaves().leaves);
  bench.UseFaults();
  bench.wire.Block(a.state.port, b.state.port);
  EXPECT_FALSE(NoticeLeaves().leaves);
  EXPECT_TRUE(bench.faults.departures.empty());
}

TEST_F(FlightTest, PlanMayKeepANoticeBack) {
  bench.UseFaults();
  bench.faults.departure.delay = 3us;
  EXPECT_TRUE(NoticeLeaves().leaves);
  EXPECT_EQ(NoticeLeaves().delay, 3us);
  bench.faults.departure = {.machine = Machine::kNicDies, .leaves = false};
  EXPECT_FALSE(NoticeLeaves(DrawPurpose::kAnswer).leaves);
  EXPECT_EQ(bench.faults.departures,
            (std::vector{DrawPurpose::kRequest, DrawPurpose::kRequest, DrawPurpose::kAnswer}));
  bench.RunFor(0us);
  EXPECT_EQ(a.actor.Count(EventKind::kNicDies), 1u);
}

TEST_F(FlightTest, PlanOfAnotherProcessDecidesAboutItsOwnNotices) {
  bench.UseFaults();
  bench.faults.departure.leaves = false;
  a.state.elsewhere = true;
  EXPECT_TRUE(NoticeLeaves().leaves);
  EXPECT_TRUE(bench.faults.departures.empty());
}

}  // namespace
}  // namespace drydock::sim_testing
