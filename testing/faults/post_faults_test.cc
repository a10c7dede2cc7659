// Posts that are refused.

#include <cstdint>
#include <vector>

#include "drydock/testing/faults/faulty_scene.h"
#include "gtest/gtest.h"

namespace drydock::fabric::faults {
namespace {

TEST(PostFaultsTest, FullSendQueueRefusesOnePostWithoutEffect) {
  FaultRule rule = FaultRule::Of(Fault::kSendQueueFull);
  rule.when.nth = 2;
  FaultyScene scene(PlanOf({rule}));
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_EQ(scene.Write(2), ErrorCode::kAgain);
  EXPECT_EQ(scene.Write(2), ErrorCode::kOk);
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
  EXPECT_TRUE(scene.Take(scene.initiator, 2).ok());
  scene.Run();
  EXPECT_TRUE(scene.initiator.completions.empty());
  EXPECT_EQ(scene.Report().eligible, 3u);
  EXPECT_EQ(scene.Report().fired, 1u);
}

TEST(PostFaultsTest, FullReceiveQueueConcernsReceivesOnly) {
  FaultRule rule = FaultRule::Of(Fault::kReceiveQueueFull);
  rule.when.nth = 1;
  FaultyScene scene(PlanOf({rule}), true);
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_EQ(scene.target.endpoint->Recv(scene.RecvOf(7)), ErrorCode::kAgain);
  EXPECT_EQ(scene.target.endpoint->Recv(scene.RecvOf(7)), ErrorCode::kOk);
  EXPECT_EQ(scene.initiator.endpoint->Send(scene.SendOf(Context{2})), ErrorCode::kOk);
  EXPECT_TRUE(scene.Take(scene.target, 7).ok());
}

TEST(PostFaultsTest, AgainUntilTheQueueIsReadWithRoom) {
  FaultRule rule = FaultRule::Of(Fault::kAgainUntilPolled);
  rule.when.operations = {OperationKind::kWrite};
  FaultyScene scene(PlanOf({rule}));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(scene.Write(1), ErrorCode::kAgain);
  // The send queue is full for everything that goes through it.
  EXPECT_EQ(scene.initiator.endpoint->Read(scene.ReadOf(Context{2})), ErrorCode::kAgain);
  scene.initiator.queue->Read({});
  EXPECT_EQ(scene.Write(1), ErrorCode::kAgain);
  scene.ReadQueue(scene.initiator);
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_EQ(scene.Write(3), ErrorCode::kAgain);  // the next event of the rule
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
  EXPECT_EQ(scene.Report().fired, 2u);
}

TEST(PostFaultsTest, AgainSoManyTimesThenAccepted) {
  for (const int attempts : {1, 2, 5}) {
    FaultRule rule = FaultRule::Of(Fault::kAgainThenAccepted);
    rule.parameters.attempts = attempts;
    FaultyScene scene(PlanOf({rule}));
    for (std::uint64_t write = 1; write <= 3; ++write) {
      for (int i = 0; i < attempts; ++i) EXPECT_EQ(scene.Write(write), ErrorCode::kAgain) << i;
      EXPECT_EQ(scene.Write(write), ErrorCode::kOk) << attempts;
    }
    for (std::uint64_t write = 1; write <= 3; ++write) {
      EXPECT_TRUE(scene.Take(scene.initiator, write).ok());
    }
    EXPECT_EQ(scene.Report().fired, 3u);
  }
}

TEST(PostFaultsTest, RefusedSendsLeaveReceivesAlone) {
  FaultRule rule = FaultRule::Of(Fault::kAgainUntilPolled);
  rule.when.operations = {OperationKind::kSend};
  FaultyScene scene(PlanOf({rule}));
  EXPECT_EQ(scene.initiator.endpoint->Send(scene.SendOf(Context{1})), ErrorCode::kAgain);
  const RecvRequest receive{.buffer = scene.initiator.region->Local(0, 64), .context = Context{2}};
  EXPECT_EQ(scene.initiator.endpoint->Recv(receive), ErrorCode::kOk);
}

TEST(PostFaultsTest, PostIsRefusedWithTheErrorOfTheRule) {
  FaultRule rule = FaultRule::Of(Fault::kPostRefused);
  rule.parameters.error = ErrorCode::kMessageTooLong;
  rule.when.size = SizeRange{.min = 1000, .max = 2000};
  FaultyScene scene(PlanOf({rule}));
  EXPECT_EQ(scene.initiator.endpoint->Write(scene.WriteOf(Context{1}, 1500)),
            ErrorCode::kMessageTooLong);
  EXPECT_EQ(scene.initiator.endpoint->Write(scene.WriteOf(Context{2}, 999)), ErrorCode::kOk);
  EXPECT_TRUE(scene.Take(scene.initiator, 2).ok());
  scene.Run();
  EXPECT_TRUE(scene.initiator.completions.empty());
}

TEST(PostFaultsTest, BatchIsTakenInPart) {
  FaultRule rule = FaultRule::Of(Fault::kPartialBatch);
  rule.parameters.accept = 2;
  FaultyScene scene(PlanOf({rule}));
  std::vector<WriteRequest> batch;
  for (std::uint64_t i = 0; i < 5; ++i) batch.push_back(scene.WriteOf(Context{i}));
  const PostResult result = scene.initiator.endpoint->Write(batch);
  EXPECT_EQ(result.accepted, 2u);
  EXPECT_EQ(result.error, ErrorCode::kAgain);
  scene.Run();
  EXPECT_EQ(scene.initiator.completions.size(), 2u);
  EXPECT_EQ(scene.Write(9), ErrorCode::kOk);  // one request is no batch
}

// A handle that is not of the address vector names no peer, and is the fabric's to refuse.
TEST(PostFaultsTest, UnknownPeersAreNoEvents) {
  FaultyScene scene(PlanOf({FaultRule::Of(Fault::kSendQueueFull)}));
  WriteRequest request = scene.WriteOf(Context{1});
  request.peer = static_cast<Peer>(12345);
  EXPECT_EQ(scene.initiator.endpoint->Write(request), ErrorCode::kUnknownPeer);
  EXPECT_EQ(scene.Report().eligible, 0u);
}

TEST(PostFaultsTest, ClosedEndpointSaysSoWhateverTheRules) {
  FaultyScene scene(
      PlanOf({FaultRule::Of(Fault::kSendQueueFull), FaultRule::Of(Fault::kUnreachable)}));
  ASSERT_TRUE(scene.initiator.endpoint->Close().ok());
  EXPECT_EQ(scene.Write(1), ErrorCode::kClosed);
}

}  // namespace
}  // namespace drydock::fabric::faults
