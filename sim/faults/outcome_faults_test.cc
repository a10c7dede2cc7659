// How operations end under a fault plan.

#include <chrono>
#include <cstdint>
#include <string>

#include "drydock/fabric/error.h"
#include "drydock/sim/testing/fault_scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;
using fabric::Completion;
using fabric::ErrorCode;
using fabric::OperationKind;

// ---- Every status ----

class StatusFaultTest : public ::testing::TestWithParam<Fault> {
 protected:
  std::int32_t Status() const { return *fabric::faults::StatusOf(GetParam()); }
  bool TakesShare() const {
    return fabric::faults::Takes(fabric::faults::Describe(GetParam()),
                                 fabric::faults::Parameter::kPlacedPercent);
  }
  bool IsForWrites() const {
    return fabric::faults::Describe(GetParam()).operations.Has(OperationKind::kWrite);
  }
};

TEST_P(StatusFaultTest, OneOperationFailsWithItAlone) {
  FaultRule rule = Nth(GetParam(), 1);
  rule.parameters.placed_percent = 0;
  rule.when.operations = {IsForWrites() ? OperationKind::kWrite : OperationKind::kSend};
  FaultScene scene({rule});
  if (IsForWrites()) {
    scene.Write(1, 12000);
  } else {
    scene.Send(1, 4096);
  }
  const Completion completion = scene.lab.Take(scene.a, 1);
  EXPECT_EQ(completion.provider_error, Status());
  EXPECT_EQ(completion.error, fabric::faults::ErrorOfStatus(Status()));
  EXPECT_TRUE(IsZero(scene.b.memory()));
  EXPECT_EQ(scene.Fired(), 1u);
  if (!IsForWrites()) {  // its receive is still there, for the next message
    ASSERT_EQ(scene.a.endpoint->Send(scene.a.SendTo(scene.b, 0, 4096, 2)), ErrorCode::kOk);
    EXPECT_EQ(scene.StatusOf(2), 0);
    EXPECT_EQ(scene.lab.Take(scene.b, 1001).provider_error, 0);
  }
  scene.ExpectHealed();
}

TEST_P(StatusFaultTest, FailureIsSeenAfterItsDelay) {
  FaultRule rule = Nth(GetParam(), 1);
  rule.parameters.placed_percent = 0;
  rule.parameters.delay = 3ms;
  rule.when.operations = {IsForWrites() ? OperationKind::kWrite : OperationKind::kSend};
  FaultScene scene({rule});
  if (IsForWrites()) {
    scene.Write(1, 12000);
  } else {
    scene.Send(1, 4096);
  }
  scene.lab.Watch(3ms);
  EXPECT_TRUE(scene.a.completions.empty());
  EXPECT_EQ(scene.StatusOf(1), Status());
}

TEST_P(StatusFaultTest, ShareOfTheBytesLands) {
  if (!TakesShare()) return;
  constexpr std::size_t kBytes = 40000;
  for (const std::size_t percent : {1u, 40u, 99u, 100u}) {
    FaultRule rule = Nth(GetParam(), 1);
    rule.parameters.placed_percent = static_cast<std::int64_t>(percent);
    rule.when.operations = {OperationKind::kWrite};
    FaultScene scene({rule}, Small());
    scene.WriteWithImmediate(1, kBytes, 77);
    EXPECT_EQ(scene.StatusOf(1), Status()) << percent;
    const std::size_t placed = kBytes * percent / 100;
    EXPECT_TRUE(Holds(scene.b.Bytes(0, placed), 1)) << percent;
    EXPECT_TRUE(IsZero(scene.b.Bytes(placed, kBytes - placed))) << percent;
    if (percent == 100) {  // the target has seen all of it
      EXPECT_EQ(scene.lab.TakeNameless(scene.b).immediate, 77u);
    }
    scene.lab.Watch();
    EXPECT_TRUE(scene.b.completions.empty()) << percent;
    scene.ExpectHealed();
  }
}

TEST_P(StatusFaultTest, ReadsAndMessagesToo) {
  if (!TakesShare() || !IsForWrites()) return;
  FaultRule rule = Rule(GetParam());
  rule.parameters.placed_percent = 50;
  rule.when.operations = {OperationKind::kRead};
  FaultScene scene({rule}, Small());
  scene.Read(1, 20000);
  EXPECT_EQ(scene.StatusOf(1), Status());
  EXPECT_TRUE(Holds(scene.a.Bytes(0, 10000), 1));
  EXPECT_TRUE(IsZero(scene.a.Bytes(10000, 10000)));
  scene.ExpectHealed();
}

INSTANTIATE_TEST_SUITE_P(
    All, StatusFaultTest,
    ::testing::Values(Fault::kFlushed, Fault::kQueuePairInternal, Fault::kUnsupportedOperation,
                      Fault::kInvalidAddressHandle, Fault::kLocalKey, Fault::kLocalLength,
                      Fault::kRemoteAddress, Fault::kRemoteAbort, Fault::kBadDestination,
                      Fault::kReceiverNotReady, Fault::kRemoteLength, Fault::kBadResponse,
                      Fault::kUnresponsive, Fault::kUnknownPeer, Fault::kUnreachable,
                      Fault::kFeatureMismatch),
    [](const auto& chosen) { return std::string(fabric::faults::Describe(chosen.param).name); });

// A part of a message lands, and its receive is the next one's.
TEST(OutcomeTest, PartOfAMessageTakesNoReceive) {
  FaultRule rule = Nth(Fault::kRemoteAbort, 1);
  rule.parameters.placed_percent = 50;
  rule.when.operations = {OperationKind::kSend};
  FaultScene scene({rule});
  scene.Send(1, 4000);
  EXPECT_EQ(scene.StatusOf(1), 8);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 2000), 1));
  EXPECT_TRUE(IsZero(scene.b.Bytes(2000, 2000)));
  ASSERT_EQ(scene.a.endpoint->Send(scene.a.SendTo(scene.b, 0, 4000, 2)), ErrorCode::kOk);
  EXPECT_EQ(scene.StatusOf(2), 0);
  EXPECT_EQ(scene.lab.Take(scene.b, 1001).length_bytes, 4000u);
  scene.ExpectHealed();
}

// An error that only a peer can report needs a peer.
TEST(OutcomeTest, DeadPeersAnswerNothing) {
  FaultScene scene({Rule(Fault::kRemoteAddress)});
  scene.b.nic.Kill();
  scene.Write(1, 64);
  EXPECT_EQ(scene.StatusOf(1), 15);
  scene.lab.ExpectNoMore();
}

TEST(OutcomeTest, PeerThatDiesBeforeItsAnswerIsSilent) {
  FaultRule rule = Rule(Fault::kRemoteAddress);
  rule.parameters.delay = 1ms;
  FaultScene scene({rule});
  scene.Write(1, 64);
  scene.lab.Watch(500us);
  scene.b.nic.Kill();
  EXPECT_EQ(scene.StatusOf(1), 15);
  scene.lab.ExpectNoMore();
}

// Its own failures come first: the rule has no say in them.
TEST(OutcomeTest, OperationThatFailsByItselfIsNoEvent) {
  FaultScene scene({Rule(Fault::kRemoteAbort)});
  fabric::WriteRequest write = scene.a.WriteTo(scene.b, 0, 64, 1);
  write.source.local_key ^= 2;
  ASSERT_EQ(scene.a.endpoint->Write(write), ErrorCode::kOk);
  EXPECT_EQ(scene.StatusOf(1), 5);
  EXPECT_EQ(scene.engine->Report()[0].eligible, 0u);
}

TEST(OutcomeTest, EndpointsMayCloseMeanwhile) {
  for (const Fault fault : {Fault::kFlushed, Fault::kRemoteAddress, Fault::kUnresponsive}) {
    FaultRule rule = Rule(fault);
    rule.parameters.delay = 1ms;
    FaultScene scene({rule});
    scene.Write(1, 4096);
    scene.lab.Watch(500us);
    EXPECT_TRUE(scene.a.endpoint->Close().ok());
    scene.lab.ExpectNoMore();
    EXPECT_EQ(scene.lab.world().operations().live(), 0u);
  }
}

// ---- Receives ----

TEST(ReceiveOutcomeTest, FlushedReceiveLeavesTheMessageToTheNext) {
  FaultRule rule = Nth(Fault::kFlushed, 1);
  rule.when.operations = {OperationKind::kReceive};
  FaultScene scene({rule});
  ASSERT_EQ(scene.b.endpoint->Recv(scene.b.RecvAt(8192, 4096, 7)), ErrorCode::kOk);
  scene.Send(1, 4096);
  const Completion flushed = scene.lab.Take(scene.b, 7);
  EXPECT_EQ(flushed.provider_error, 1);
  EXPECT_EQ(flushed.error, ErrorCode::kCanceled);
  EXPECT_EQ(scene.lab.Take(scene.b, 1001).provider_error, 0);
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 4096), 1));
  EXPECT_TRUE(IsZero(scene.b.Bytes(8192, 4096)));
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(ReceiveOutcomeTest, ReceiveWithoutItsRegionFailsAtBothEnds) {
  FaultRule rule = Nth(Fault::kLocalKey, 1);
  rule.when.operations = {OperationKind::kReceive};
  FaultScene scene({rule});
  scene.Send(1, 4096);
  EXPECT_EQ(scene.lab.Take(scene.b, 1001).provider_error, 5);
  EXPECT_EQ(scene.StatusOf(1), 7);
  EXPECT_TRUE(IsZero(scene.b.Bytes(0, 4096)));
  scene.ExpectHealed();
}

// ---- Entries without a context, and none at all ----

TEST(UnsignalledErrorTest, IsAnErrorWithoutContext) {
  for (const std::int64_t status : {7, 5, 13}) {
    FaultRule rule = Rule(Fault::kUnsignalledError);
    rule.parameters.status = status;
    FaultScene scene({rule});
    scene.Write(1, 64);
    EXPECT_EQ(scene.StatusOf(1), 0);  // it has one
    EXPECT_EQ(scene.Fired(), 0u);
    scene.Write(0, 64);
    EXPECT_EQ(scene.lab.TakeNameless(scene.a).provider_error, status);
    EXPECT_EQ(scene.Fired(), 1u);
    scene.ExpectHealed();
  }
}

TEST(RemoteWriteErrorTest, ImmediateArrivesAsAnErrorWithoutContext) {
  FaultRule rule = Rule(Fault::kRemoteWriteError);
  rule.when.immediate = {.mask = 0xff, .value = 9};
  FaultScene scene({rule});
  scene.WriteWithImmediate(1, 64, 8);
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_EQ(scene.lab.TakeNameless(scene.b).immediate, 8u);
  scene.WriteWithImmediate(2, 64, 9);
  EXPECT_EQ(scene.StatusOf(2), 0);
  const Completion error = scene.lab.TakeNameless(scene.b);
  EXPECT_EQ(error.provider_error, 5);
  EXPECT_EQ(error.kind, OperationKind::kRemoteWrite);
  EXPECT_FALSE(error.immediate.has_value());
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(LostCompletionTest, OperationIsDoneAndNeverEnds) {
  FaultScene scene({Nth(Fault::kLostCompletion, 1)});
  scene.Write(1, 4096);
  scene.lab.Watch(3s);
  EXPECT_TRUE(scene.a.completions.empty());
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 4096), 1));
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(LostCompletionTest, ReceivesAndImmediatesToo) {
  FaultRule rule = Rule(Fault::kLostCompletion);
  rule.when.operations = {OperationKind::kReceive, OperationKind::kRemoteWrite};
  FaultScene scene({rule}, Small());
  scene.Send(1, 4096);
  EXPECT_EQ(scene.StatusOf(1), 0);
  scene.WriteWithImmediate(2, 64, 9);
  EXPECT_EQ(scene.StatusOf(2), 0);
  EXPECT_EQ(scene.Fired(), 2u);
  scene.ExpectHealed();
}

}  // namespace
}  // namespace drydock::sim_testing
