// How operations end: which side is told, when, and with which status.

#include "drydock/sim/device/ending.h"

#include <chrono>
#include <string>
#include <vector>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::OperationKind;
using sim::EfaStatus;
using sim::EventKind;
using sim::Operation;
using sim::Timeline;
using Lines = std::vector<std::string>;

constexpr std::uint8_t Number(EfaStatus status) { return static_cast<std::uint8_t>(status); }

struct EndingTest : testing::Test {
  Operation& Start(OperationKind kind = OperationKind::kWrite) {
    return bench.Start(kind, from, to, 100);
  }

  Bench bench;
  BenchNic& a = bench.AddNic();
  BenchNic& b = bench.AddNic();
  sim::QueuePair& from = a.OpenQueuePair();
  sim::QueuePair& to = b.OpenQueuePair();
};

TEST_F(EndingTest, AnswerReachesTheInitiatorAfterTheAckDelayAndTheWay) {
  Operation& operation = Start();
  sim::Answer(bench.around, b.state, operation, EfaStatus::kRemoteBadAddress);
  EXPECT_TRUE(operation.ended);
  EXPECT_TRUE(operation.answered);
  EXPECT_EQ(operation.status, Number(EfaStatus::kRemoteBadAddress));
  EXPECT_EQ(bench.told.Take(), Lines{"ended: 7"});
  bench.RunFor(1ms);
  ASSERT_EQ(a.actor.events.size(), 1u);
  EXPECT_EQ(a.actor.events[0].kind, EventKind::kAnswer);
  EXPECT_EQ(a.actor.events[0].b, operation.id.Pack());
  EXPECT_EQ(a.actor.events[0].time, Timeline::kStart + 11us);
  EXPECT_TRUE(b.actor.events.empty());
}

TEST_F(EndingTest, SecondEndOfAnOperationChangesNothing) {
  Operation& operation = Start();
  sim::Answer(bench.around, b.state, operation, EfaStatus::kOk);
  sim::Answer(bench.around, b.state, operation, EfaStatus::kRemoteAbort);
  sim::EndUnanswered(bench.around, operation, EfaStatus::kFlushed);
  sim::TakeAnswer(bench.around, operation, Number(EfaStatus::kRemoteNotReady));
  bench.RunFor(1ms);
  EXPECT_EQ(operation.status, Number(EfaStatus::kOk));
  EXPECT_EQ(a.actor.Count(EventKind::kAnswer), 1u);
  EXPECT_EQ(bench.told.Take(), Lines{"ended: 0"});
}

TEST_F(EndingTest, LostAnswerLeavesTheInitiatorInSilence) {
  bench.wire.Block(b.state.port, a.state.port);
  Operation& operation = Start();
  sim::Answer(bench.around, b.state, operation, EfaStatus::kOk);
  bench.RunFor(1ms);
  EXPECT_TRUE(operation.ended);  // nothing more is placed
  EXPECT_FALSE(operation.answered);
  EXPECT_TRUE(operation.silent);
  EXPECT_EQ(a.actor.Count(EventKind::kSilence), 1u);
  EXPECT_EQ(a.actor.Count(EventKind::kAnswer), 0u);
  EXPECT_EQ(bench.told.Take(), (Lines{"ended: 0", "silent"}));
}

TEST_F(EndingTest, BrokenTargetAnswersWithAStatusThatNobodyKnows) {
  b.state.answers_nonsense = true;
  Operation& operation = Start();
  sim::Answer(bench.around, b.state, operation, EfaStatus::kOk);
  EXPECT_FALSE(sim::IsKnown(operation.status));
}

TEST_F(EndingTest, UnansweredEndComesHalfAMicrosecondLater) {
  bench.wire.Block(b.state.port, a.state.port);  // no matter: no answer is sent
  Operation& operation = Start();
  sim::EndUnanswered(bench.around, operation, EfaStatus::kLocalInvalidLkey);
  EXPECT_TRUE(operation.ended);
  EXPECT_TRUE(operation.answered);
  EXPECT_TRUE(a.actor.events.empty());
  bench.RunFor(1ms);
  EXPECT_EQ(a.actor.First(EventKind::kAnswer).time, Timeline::kStart + 500ns);
  EXPECT_EQ(operation.status, Number(EfaStatus::kLocalInvalidLkey));
  EXPECT_EQ(bench.told.Take(), Lines{"ended: 5"});
}

TEST_F(EndingTest, UnansweredEndIsInstantWhereNothingTakesTime) {
  bench.profile.instant = true;
  sim::EndUnanswered(bench.around, Start(), EfaStatus::kOk);
  EXPECT_EQ(a.actor.Count(EventKind::kAnswer), 1u);
}

TEST_F(EndingTest, AnswerOfAnotherProcessHasTravelledAlready) {
  Operation& operation = Start();
  sim::TakeAnswer(bench.around, operation, Number(EfaStatus::kRemoteNotReady));
  ASSERT_EQ(a.actor.Count(EventKind::kAnswer), 1u);
  EXPECT_EQ(a.actor.First(EventKind::kAnswer).time, Timeline::kStart);
  EXPECT_EQ(operation.status, Number(EfaStatus::kRemoteNotReady));
}

TEST_F(EndingTest, ReadEndsAtItsInitiatorAndAWriteAtItsTarget) {
  sim::EndWherePlaced(bench.around, a.state, Start(OperationKind::kRead), EfaStatus::kOk);
  bench.RunFor(1ms);
  EXPECT_EQ(a.actor.First(EventKind::kAnswer).time, Timeline::kStart + 500ns);
  a.actor.events.clear();
  sim::EndWherePlaced(bench.around, b.state, Start(OperationKind::kWrite), EfaStatus::kOk);
  bench.RunFor(1ms);
  EXPECT_EQ(a.actor.First(EventKind::kAnswer).time, Timeline::kStart + 1ms + 11us);
}

TEST_F(EndingTest, SilenceBeginsOnce) {
  Operation& operation = Start();
  sim::FallSilent(bench.around, operation);
  sim::FallSilent(bench.around, operation);
  EXPECT_EQ(a.actor.Count(EventKind::kSilence), 1u);
  EXPECT_EQ(bench.told.Take(), Lines{"silent"});
  EXPECT_FALSE(operation.ended);  // an answer may still come
}

TEST_F(EndingTest, NobodyWaitsForTheAnswerToADatagram) {
  Operation& datagram = Start(OperationKind::kSend);
  datagram.datagram = true;
  sim::FallSilent(bench.around, datagram);
  EXPECT_FALSE(datagram.silent);
  EXPECT_TRUE(datagram.ended);
  EXPECT_EQ(datagram.status, Number(EfaStatus::kOk));
  bench.RunFor(1ms);
  EXPECT_EQ(a.actor.Count(EventKind::kSilence), 0u);
  EXPECT_EQ(a.actor.Count(EventKind::kAnswer), 1u);
}

TEST_F(EndingTest, PlanTurnsASuccessIntoALateFailure) {
  bench.UseFaults();
  bench.faults.end = sim::Failure{EfaStatus::kRemoteAbort, 50us};
  Operation& operation = Start();
  operation.faulted = true;
  sim::Answer(bench.around, b.state, operation, EfaStatus::kOk);
  EXPECT_TRUE(operation.ended);
  EXPECT_FALSE(operation.answered);
  EXPECT_EQ(bench.told.Take(), Lines{"silent"});
  bench.RunFor(50us);
  EXPECT_EQ(bench.told.Take(), Lines{"ended: 8"});
  bench.RunFor(1ms);
  EXPECT_EQ(a.actor.First(EventKind::kAnswer).time, Timeline::kStart + 61us);
}

TEST_F(EndingTest, PlanIsAskedAboutSuccessesOfMarkedOperationsOnly) {
  bench.UseFaults();
  bench.faults.end = sim::Failure{EfaStatus::kRemoteAbort, 50us};
  Operation& unmarked = Start();
  sim::Answer(bench.around, b.state, unmarked, EfaStatus::kOk);
  EXPECT_EQ(unmarked.status, Number(EfaStatus::kOk));
  Operation& failed = Start();
  failed.faulted = true;
  sim::Answer(bench.around, b.state, failed, EfaStatus::kRemoteBadAddress);
  EXPECT_EQ(failed.status, Number(EfaStatus::kRemoteBadAddress));
  EXPECT_EQ(bench.told.Take(), (Lines{"ended: 0", "ended: 7"}));
}

TEST_F(EndingTest, LateFailureThatOnlyTheInitiatorCanFindNeedsNoPeer) {
  b.state.port.alive = false;
  Operation& operation = Start();
  sim::FailLater(bench.around, operation, {EfaStatus::kLocalUnresponsivePeer, 1ms});
  EXPECT_TRUE(operation.ended);
  bench.RunFor(2ms);
  EXPECT_EQ(a.actor.First(EventKind::kAnswer).time, Timeline::kStart + 1ms + 500ns);
  EXPECT_EQ(operation.status, Number(EfaStatus::kLocalUnresponsivePeer));
}

TEST_F(EndingTest, LateFailureThatADeadPeerShouldAnswerIsSilence) {
  Operation& operation = Start();
  sim::FailLater(bench.around, operation, {EfaStatus::kRemoteAbort, 1ms});
  b.state.port.alive = false;
  bench.RunFor(2ms);
  EXPECT_TRUE(operation.silent);
  EXPECT_EQ(a.actor.Count(EventKind::kSilence), 1u);
  EXPECT_EQ(a.actor.Count(EventKind::kAnswer), 0u);
}

TEST_F(EndingTest, LateFailureOfAnOperationThatIsGoneIsNothing) {
  Operation& operation = Start();
  sim::FailLater(bench.around, operation, {EfaStatus::kRemoteAbort, 1ms});
  bench.around.EndOperation(operation);
  Operation& next = Start();  // in the same slot
  bench.RunFor(2ms);
  EXPECT_FALSE(next.ended);
  EXPECT_TRUE(a.actor.events.empty());
}

}  // namespace
}  // namespace drydock::sim_testing
