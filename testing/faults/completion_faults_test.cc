// Operations that fail, and completions that are lost: one completion for each accepted operation.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drydock/fabric/error_data.h"
#include "drydock/fabric/more_to_come.h"
#include "drydock/testing/faults/faulty_scene.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::faults {
namespace {

using ::testing::HasSubstr;

std::vector<Fault> StatusFaults() {
  std::vector<Fault> faults;
  for (const FaultInfo& info : Catalogue()) {
    if (StatusOf(info.fault).has_value()) faults.push_back(info.fault);
  }
  return faults;
}

std::string NameOf(const ::testing::TestParamInfo<Fault>& info) {
  return std::string(Describe(info.param).name);
}

class StatusFaultTest : public ::testing::TestWithParam<Fault> {
 protected:
  // One operation that the fault can happen to, posted with a context.
  static OperationKind Post(FaultyScene& scene, std::uint64_t context) {
    std::fill(scene.initiator.memory.begin(), scene.initiator.memory.end(), std::byte{0x55});
    const OperationSet operations = Describe(GetParam()).operations;
    if (operations.Has(OperationKind::kWrite)) {
      EXPECT_EQ(scene.Write(context), ErrorCode::kOk);
      return OperationKind::kWrite;
    }
    EXPECT_EQ(scene.target.endpoint->Recv(scene.RecvOf(77)), ErrorCode::kOk);
    EXPECT_EQ(scene.initiator.endpoint->Send(scene.SendOf(Context{context})), ErrorCode::kOk);
    return OperationKind::kSend;
  }

  static void ExpectFailure(FaultyScene& scene, OperationKind kind) {
    const Completion failure = scene.Take(scene.initiator, 1);
    EXPECT_EQ(failure.kind, kind);
    EXPECT_EQ(failure.error, ErrorOfStatus(*StatusOf(GetParam())));
    EXPECT_FALSE(failure.ok());
    EXPECT_EQ(failure.provider_error, *StatusOf(GetParam()));
    EXPECT_EQ(failure.length_bytes, 0u);
    const std::string text = scene.initiator.queue->ErrorText(failure);
    EXPECT_THAT(text, HasSubstr("fault rule broken"));
    ErrorData data;
    scene.initiator.queue->power<ErrorDetails>()->ReadErrorData(failure, data);
    EXPECT_EQ(text, reinterpret_cast<const char*>(data.data));
    EXPECT_EQ(data.size_bytes, text.size() + 1);
  }
};

TEST_P(StatusFaultTest, OperationFailsOnceAndNothingIsPlaced) {
  FaultRule rule = FaultRule::Of(GetParam(), "broken");
  rule.parameters.placed_percent = 0;
  rule.when.nth = 1;
  FaultyScene scene(PlanOf({rule}));
  ExpectFailure(scene, Post(scene, 1));
  EXPECT_EQ(scene.target.memory[0], std::byte{0});
  EXPECT_EQ(scene.Write(2), ErrorCode::kOk);  // the endpoint is unharmed
  EXPECT_TRUE(scene.Take(scene.initiator, 2).ok());
  scene.Run();
  EXPECT_TRUE(scene.initiator.completions.empty());
  EXPECT_EQ(scene.Report().fired, 1u);
}

TEST_P(StatusFaultTest, OperationMayHaveRunAllTheSame) {
  if (!Takes(Describe(GetParam()), Parameter::kPlacedPercent)) return;
  FaultRule rule = FaultRule::Of(GetParam(), "broken");
  rule.parameters.placed_percent = 100;
  rule.when.nth = 1;
  FaultyScene scene(PlanOf({rule}));
  ExpectFailure(scene, Post(scene, 1));
  EXPECT_EQ(scene.target.memory[0], std::byte{0x55});
  scene.Run();
  EXPECT_TRUE(scene.initiator.completions.empty());
}

// Its success would not have been reported.
TEST_P(StatusFaultTest, UnsignalledOperationFailsWithoutAContext) {
  const OperationSet operations = Describe(GetParam()).operations;
  if (!operations.Has(OperationKind::kWrite)) return;
  FaultRule rule = FaultRule::Of(GetParam());
  rule.when.nth = 2;
  FaultyScene scene(PlanOf({rule}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(scene.initiator.endpoint->Write(scene.WriteOf(std::nullopt)), ErrorCode::kOk);
  }
  scene.Run();
  ASSERT_EQ(scene.initiator.completions.size(), 1u);
  EXPECT_EQ(scene.initiator.completions[0].context, std::nullopt);
  EXPECT_EQ(scene.initiator.completions[0].provider_error, *StatusOf(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, StatusFaultTest, ::testing::ValuesIn(StatusFaults()), NameOf);

TEST(CompletionFaultsTest, UnsignalledErrorLeavesSignalledOperationsAlone) {
  FaultRule rule = FaultRule::Of(Fault::kUnsignalledError);
  rule.parameters.status = 13;
  FaultyScene scene(PlanOf({rule}));
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_EQ(scene.initiator.endpoint->Write(scene.WriteOf(std::nullopt)), ErrorCode::kOk);
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
  scene.Run();
  ASSERT_EQ(scene.initiator.completions.size(), 1u);
  EXPECT_EQ(scene.initiator.completions[0].error, ErrorCode::kPeerUnresponsive);
  EXPECT_EQ(scene.initiator.completions[0].context, std::nullopt);
  EXPECT_EQ(scene.Report().eligible, 1u);
}

TEST(CompletionFaultsTest, LostCompletionNeverComesThoughTheBytesDo) {
  FaultRule rule = FaultRule::Of(Fault::kLostCompletion);
  rule.when.operations = {OperationKind::kWrite};
  rule.when.nth = 2;
  FaultyScene scene(PlanOf({rule}));
  scene.initiator.memory[0] = std::byte{9};
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(scene.Write(i), ErrorCode::kOk);
  scene.Run();
  EXPECT_EQ(scene.initiator.completions.size(), 2u);
  for (const Completion& completion : scene.initiator.completions) {
    EXPECT_NE(completion.context, Context{2});
  }
  EXPECT_EQ(scene.target.memory[0], std::byte{9});
}

TEST(CompletionFaultsTest, ImmediateArrivesAsAnError) {
  FaultRule rule = FaultRule::Of(Fault::kRemoteWriteError);
  rule.when.immediate = ImmediateMatch{.mask = 0xf0, .value = 0x20};
  FaultyScene scene(PlanOf({rule}), true);
  for (const std::uint32_t immediate : {0x13u, 0x25u}) {
    WriteRequest request = scene.WriteOf(Context{immediate});
    request.immediate = immediate;
    EXPECT_EQ(scene.initiator.endpoint->Write(request), ErrorCode::kOk);
    EXPECT_TRUE(scene.Take(scene.initiator, immediate).ok());
  }
  scene.Run();
  ASSERT_EQ(scene.target.completions.size(), 2u);
  const bool first_failed = !scene.target.completions[0].ok();
  const Completion& failed = scene.target.completions[first_failed ? 0 : 1];
  const Completion& good = scene.target.completions[first_failed ? 1 : 0];
  EXPECT_EQ(good.immediate, 0x13u);
  EXPECT_EQ(failed.kind, OperationKind::kRemoteWrite);
  EXPECT_EQ(failed.error, ErrorCode::kLocalAccess);
  EXPECT_EQ(failed.context, std::nullopt);
  EXPECT_EQ(failed.immediate, std::nullopt);
}

TEST(CompletionFaultsTest, PostedReceiveFails) {
  FaultRule rule = FaultRule::Of(Fault::kFlushed);
  rule.when.operations = {OperationKind::kReceive};
  FaultyScene scene(PlanOf({rule}), true);
  EXPECT_EQ(scene.target.endpoint->Recv(scene.RecvOf(7)), ErrorCode::kOk);
  EXPECT_EQ(scene.initiator.endpoint->Send(scene.SendOf(Context{1})), ErrorCode::kOk);
  EXPECT_EQ(scene.Take(scene.target, 7).error, ErrorCode::kCanceled);
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
}

TEST(CompletionFaultsTest, DroppedPeerWasSilentOrNeverSpoke) {
  FaultRule rule = FaultRule::Of(Fault::kDroppedPeer);
  rule.when.peers = {0};
  rule.when.skip = 1;
  FaultyScene scene(PlanOf({rule}));
  FaultySide third;
  scene.Open(third, "third", false);
  const Peer to_third = scene.initiator.peers->Insert(third.endpoint->address()).value();
  ASSERT_TRUE(third.peers->Insert(scene.initiator.endpoint->address()).ok());
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
  scene.initiator.memory[0] = std::byte{9};
  const coro::Time before = scene.world.Now();
  EXPECT_EQ(scene.Write(2), ErrorCode::kOk);
  EXPECT_EQ(scene.Take(scene.initiator, 2).error, ErrorCode::kPeerUnresponsive);
  EXPECT_GE(scene.world.Now() - before, rule.parameters.delay);
  EXPECT_EQ(scene.target.memory[0], std::byte{0});  // nothing reached it
  WriteRequest other = scene.WriteOf(Context{3});
  other.peer = to_third;
  other.target = third.region->remote();
  EXPECT_EQ(scene.initiator.endpoint->Write(other), ErrorCode::kOk);
  EXPECT_TRUE(scene.Take(scene.initiator, 3).ok());
}

TEST(CompletionFaultsTest, PeerThatIsInsertedAgainHasItsNumberAgain) {
  FaultRule rule = FaultRule::Of(Fault::kDroppedPeer);
  rule.when.peers = {0};
  FaultyScene scene(PlanOf({rule}));
  AddressVector& peers = *scene.initiator.peers;
  ASSERT_TRUE(peers.Remove(scene.to_target).ok());
  FaultySide third;
  scene.Open(third, "third", false);
  ASSERT_TRUE(peers.Insert(third.endpoint->address()).ok());
  scene.to_target = peers.Insert(scene.target.endpoint->address()).value();
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_EQ(scene.Take(scene.initiator, 1).error, ErrorCode::kUnreachable);
}

TEST(CompletionFaultsTest, PeerThatNeverAnsweredIsUnreachable) {
  FaultyScene scene(PlanOf({FaultRule::Of(Fault::kDroppedPeer)}));
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  const Completion failure = scene.Take(scene.initiator, 1);
  EXPECT_EQ(failure.error, ErrorCode::kUnreachable);
  EXPECT_EQ(failure.provider_error, 15);
}

// The fabric below never has the last post of the batch, which would ring for the others.
TEST(CompletionFaultsTest, BatchWhoseLastPostIsKeptBackIsServed) {
  FaultRule rule = FaultRule::Of(Fault::kDroppedPeer);
  rule.when.nth = 3;
  FaultyScene scene(PlanOf({rule}));
  auto* batch = scene.initiator.endpoint->power<MoreToCome>();
  ASSERT_NE(batch, nullptr);
  batch->SetMoreToCome(true);
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_EQ(scene.Write(2), ErrorCode::kOk);
  batch->SetMoreToCome(false);
  EXPECT_EQ(scene.Write(3), ErrorCode::kOk);
  EXPECT_EQ(scene.Take(scene.initiator, 3).error, ErrorCode::kPeerUnresponsive);
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
  EXPECT_TRUE(scene.Take(scene.initiator, 2).ok());
}

// Other rules leave a batch as it is: it waits for its last post.
TEST(CompletionFaultsTest, BatchWaitsForItsLastPostUnderOtherRules) {
  FaultyScene scene(PlanOf({FaultRule::Of(Fault::kShortRead)}));
  auto* batch = scene.initiator.endpoint->power<MoreToCome>();
  ASSERT_NE(batch, nullptr);
  batch->SetMoreToCome(true);
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  scene.Run();
  EXPECT_TRUE(scene.initiator.completions.empty());
  batch->SetMoreToCome(false);
  EXPECT_EQ(scene.Write(2), ErrorCode::kOk);
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
}

// What a dropped peer leaves waiting has no more room than the send queue.
TEST(CompletionFaultsTest, DroppedOperationsFillTheSendQueue) {
  FaultyScene scene(PlanOf({FaultRule::Of(Fault::kDroppedPeer)}));
  const std::size_t depth = scene.initiator.endpoint->limits().send_queue_depth;
  for (std::size_t i = 0; i < depth; ++i) ASSERT_EQ(scene.Write(i), ErrorCode::kOk) << i;
  EXPECT_EQ(scene.Write(depth), ErrorCode::kAgain);
  scene.Run([&] { return scene.initiator.completions.size() == depth; });
  EXPECT_EQ(scene.initiator.completions.size(), depth);
  EXPECT_EQ(scene.Write(depth), ErrorCode::kOk);
  EXPECT_EQ(scene.Take(scene.initiator, depth).error, ErrorCode::kUnreachable);
}

TEST(CompletionFaultsTest, NothingOfAClosedEndpointIsSeen) {
  FaultyScene scene(PlanOf({FaultRule::Of(Fault::kUnreachable)}));
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(scene.Write(i), ErrorCode::kOk);
  ASSERT_TRUE(scene.initiator.endpoint->Close().ok());
  scene.Run();
  EXPECT_TRUE(scene.initiator.completions.empty());
}

// Whatever fails, each operation that was accepted ends once, and none that was not.
TEST(CompletionFaultsTest, EveryAcceptedOperationEndsOnce) {
  std::vector<FaultRule> rules;
  for (const Fault fault : StatusFaults()) rules.push_back(FaultRule::Of(fault));
  for (const Fault fault : {Fault::kSendQueueFull, Fault::kDelayedCompletion,
                            Fault::kHeldCompletion, Fault::kShortRead, Fault::kAgainThenAccepted}) {
    rules.push_back(FaultRule::Of(fault));
  }
  for (FaultRule& rule : rules) rule.when.probability = 0.05;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FaultyScene scene(PlanOf(rules), false, seed);
    std::map<std::uint64_t, int> ends;
    std::uint64_t accepted = 0, failed = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
      const bool read = i % 3 == 0;
      const ErrorCode error =
          read ? scene.initiator.endpoint->Read(scene.ReadOf(Context{i})) : scene.Write(i);
      if (error == ErrorCode::kOk) {
        ends[i] = 0;
        ++accepted;
      }
    }
    scene.Run();
    for (const Completion& completion : scene.initiator.completions) {
      const auto found = ends.find(static_cast<std::uint64_t>(completion.context.value()));
      ASSERT_NE(found, ends.end()) << "seed " << seed;
      ++found->second;
      failed += completion.ok() ? 0 : 1;
    }
    for (const auto& [context, count] : ends) {
      EXPECT_EQ(count, 1) << "operation " << context << ", seed " << seed;
    }
    EXPECT_LT(accepted, 300u);
    EXPECT_GT(failed, 20u);
    EXPECT_LT(failed, accepted);
  }
}

}  // namespace
}  // namespace drydock::fabric::faults
