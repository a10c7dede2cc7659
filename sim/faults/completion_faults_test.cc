// Completions that come late, after others, too often or never; queues that are short.

#include <chrono>
#include <cstdint>

#include "drydock/fabric/error.h"
#include "drydock/sim/testing/fault_scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;
using fabric::ErrorCode;
using fabric::OperationKind;

// ---- Late ----

TEST(DelayedCompletionTest, IsSeenLaterThanItsBytes) {
  FaultRule rule = Rule(Fault::kDelayedCompletion);
  rule.parameters.delay = 1ms;
  rule.parameters.jitter = 1ms;
  FaultScene scene({rule});
  scene.Write(1, 4096);
  scene.lab.Watch(1ms);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 4096), 1));
  EXPECT_TRUE(scene.a.completions.empty());
  EXPECT_LE(scene.Wait(1), 1100us);
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(DelayedCompletionTest, ReceivesAndImmediatesToo) {
  FaultRule rule = Rule(Fault::kDelayedCompletion);
  rule.parameters.delay = 1ms;
  rule.when.operations = {OperationKind::kReceive, OperationKind::kRemoteWrite};
  FaultScene scene({rule}, Small());
  scene.Send(1, 4096);
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_TRUE(scene.b.completions.empty());
  EXPECT_EQ(scene.lab.Take(scene.b, 1001).length_bytes, 4096u);
  scene.WriteWithImmediate(2, 64, 9);
  EXPECT_EQ(scene.StatusOf(2), 0);
  EXPECT_TRUE(scene.b.completions.empty());
  EXPECT_EQ(scene.lab.TakeNameless(scene.b).immediate, 9u);
  EXPECT_EQ(scene.Fired(), 2u);
  scene.ExpectHealed();
}

TEST(DelayedCompletionTest, ClosedEndpointsHearNothing) {
  FaultScene scene({Rule(Fault::kDelayedCompletion)});
  scene.Write(1, 64);
  scene.lab.Watch(50us);
  EXPECT_TRUE(scene.a.endpoint->Close().ok());
  scene.lab.ExpectNoMore();
}

TEST(SlowPeerTest, OperationsToItCompleteLate) {
  FaultRule rule = Rule(Fault::kSlowPeer);
  rule.when.peers = {1};  // inserted second: b
  FaultScene scene({rule});
  scene.Write(1, 64);
  EXPECT_GE(scene.Wait(1), 1ms);
  ASSERT_EQ(scene.a.endpoint->Write(scene.a.WriteTo(scene.a, 8192, 64, 2)), ErrorCode::kOk);
  EXPECT_LT(scene.Wait(2), 1ms);
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(HeldCompletionTest, IsSeenAfterSoManyOthers) {
  FaultRule rule = Nth(Fault::kHeldCompletion, 1);
  rule.parameters.behind = 2;
  rule.parameters.delay = 1s;
  FaultScene scene({rule});
  for (std::uint64_t i = 1; i <= 4; ++i) {
    scene.Write(i, 64, i * 4096);
    scene.lab.Watch(100us);
    ASSERT_EQ(scene.a.completions.size(), i == 1 ? 0 : i == 2 ? 1 : i);
  }
  const std::uint64_t order[] = {2, 3, 1, 4};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(NumberOf(scene.a.completions[i]), order[i]);
  scene.a.completions.clear();
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(HeldCompletionTest, NobodyWaitsForOthersThatNeverCome) {
  FaultScene scene({Rule(Fault::kHeldCompletion)});
  scene.Write(1, 64);
  EXPECT_GE(scene.Wait(1), 1ms);
  scene.ExpectHealed();
}

// ---- Too many, too few ----

TEST(QueueOverrunTest, CompletionIsLostAndCounted) {
  FaultScene scene({Nth(Fault::kQueueOverrun, 2)});
  scene.Write(1, 64);
  EXPECT_EQ(scene.StatusOf(1), 0);
  scene.Write(2, 64);
  scene.lab.Watch(3s);
  EXPECT_TRUE(scene.a.completions.empty());
  EXPECT_EQ(scene.a.nic.counters().completions_lost, 1u);
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();  // and the program is not blamed: the lab would say so
}

TEST(ImmediateFloodTest, ImmediateArrivesAgainAndAgain) {
  FaultRule rule = Rule(Fault::kImmediateFlood);
  rule.parameters.copies = 5;
  FaultScene scene({rule});
  scene.Write(1, 64);
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_EQ(scene.Fired(), 0u);  // it has none
  scene.WriteWithImmediate(2, 64, 9);
  EXPECT_EQ(scene.StatusOf(2), 0);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(scene.lab.TakeNameless(scene.b).immediate, 9u);
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

// ---- Sizes ----

TEST(QueueDepthTest, CompletionQueueHasSoManyEntries) {
  FaultRule rule = Rule(Fault::kCompletionQueueDepth);
  rule.parameters.entries = 11;  // the device takes powers of two
  FaultScene scene({rule});
  EXPECT_EQ(scene.a.queue->depth(), 8u);
  EXPECT_EQ(scene.Fired(), 2u);
  for (std::uint64_t i = 1; i <= 8; ++i) scene.Write(i, 64, 64 * i);
  scene.lab.world().timeline().RunFor(1ms);
  scene.lab.Watch();
  EXPECT_EQ(scene.a.completions.size(), 8u);
  scene.a.completions.clear();
  for (std::uint64_t i = 1; i <= 9; ++i) scene.Write(i, 64, 64 * i);
  scene.lab.world().timeline().RunFor(1ms);
  EXPECT_EQ(scene.a.nic.counters().completions_lost, 1u);
  scene.lab.Watch();
  EXPECT_TRUE(scene.a.completions.empty());  // one too many hides the others: no doorbell
  scene.lab.ExpectFinding(sim::Check::kCompletionQueueCapacity, 1);
}

TEST(QueueDepthTest, SendQueueHasSoManyEntries) {
  FaultScene scene({Rule(Fault::kSendQueueDepth)});
  EXPECT_EQ(scene.a.endpoint->limits().send_queue_depth, 8u);
  for (std::uint64_t i = 1; i <= 8; ++i) scene.Write(i, 64, 64 * i);
  EXPECT_EQ(scene.a.endpoint->Write(scene.a.WriteTo(scene.b, 0, 64, 9)), ErrorCode::kAgain);
  for (std::uint64_t i = 1; i <= 8; ++i) EXPECT_EQ(scene.StatusOf(i), 0);
  EXPECT_EQ(scene.Fired(), 2u);
  scene.ExpectHealed();
}

TEST(QueueDepthTest, ReceiveQueueHasSoManyEntries) {
  FaultRule rule = Nth(Fault::kReceiveQueueDepth, 2);  // of b
  rule.parameters.entries = 3;
  FaultScene scene({rule});
  EXPECT_GT(scene.a.endpoint->limits().receive_queue_depth, 3u);
  EXPECT_EQ(scene.b.endpoint->limits().receive_queue_depth, 3u);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(scene.b.endpoint->Recv(scene.b.RecvAt(0, 64, i)), ErrorCode::kOk);
  }
  EXPECT_EQ(scene.b.endpoint->Recv(scene.b.RecvAt(0, 64, 4)), ErrorCode::kAgain);
  EXPECT_EQ(scene.Fired(), 1u);
}

TEST(QueueDepthTest, RulesOfOtherSizesDoNotCountIt) {
  FaultScene scene({Nth(Fault::kSendQueueDepth, 1), Nth(Fault::kInjectLimit, 1)});
  EXPECT_EQ(scene.engine->Report()[0].eligible, 2u);
  EXPECT_EQ(scene.engine->Report()[1].eligible, 2u);
}

TEST(InjectLimitTest, LongerMessagesAreNotInjected) {
  FaultRule rule = Rule(Fault::kInjectLimit);
  rule.parameters.bytes = 8;
  FaultScene scene({rule}, Calm(), 1, {.inject_bytes = 64});
  EXPECT_EQ(scene.a.endpoint->limits().inject_bytes, 8u);
  EXPECT_EQ(scene.a.endpoint->limits().inject_rma_bytes, 8u);
  fabric::SendRequest send = scene.a.SendTo(scene.b, 0, 9, 1);
  send.inject = true;
  EXPECT_EQ(scene.a.endpoint->Send(send), ErrorCode::kMessageTooLong);
  scene.Send(2, 9);
  EXPECT_EQ(scene.StatusOf(2), 0);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 9), 2));
  EXPECT_EQ(scene.lab.Take(scene.b, 1002).provider_error, 0);
  EXPECT_EQ(scene.Fired(), 2u);
  scene.ExpectHealed();
}

}  // namespace
}  // namespace drydock::sim_testing
