// Receives that take the messages of one sender.

#include <cstdint>

#include "drydock/fabric/tagged_messages.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::Peer;
using fabric::TaggedMessages;

const Needs kNeeds("DirectedContract", {Capability::kDirectedReceive});

class DirectedContract : public ContractTest {
 protected:
  void Prepare() override {
    OpenThird();
    third_.peer = third_.peers->Insert(target_.endpoint->address()).value();
    third_at_target_ = target_.peers->Insert(third_.endpoint->address()).value();
    Fill(Bytes(initiator_, 0, 100), 1);
    Fill(Bytes(third_, 0, 100), 2);
  }

  // The target takes a message of `source` into 100 bytes at 100 * context.
  ErrorCode RecvFrom(Peer source, std::uint64_t context) {
    fabric::RecvRequest request = RecvOf(100 * context, 100, Context{context});
    request.source = source;
    return Post([&] { return target_.endpoint->Recv(request); });
  }
  ErrorCode SendOfThird(std::uint64_t context) {
    const fabric::SendRequest request{
        .buffer = third_.Local(0, 100), .peer = third_.peer, .context = Context{context}};
    return Post([&] { return third_.endpoint->Send(request); });
  }
  // The receive with this context has the initiator's message (1) or the third's (2).
  void ExpectFrom(std::uint64_t context, std::uint8_t who) {
    EXPECT_EQ(Take(target_, context).length_bytes, 100u);
    EXPECT_TRUE(Holds(Bytes(target_, 100 * context, 100), who)) << context;
  }

  Peer third_at_target_{};
};

TEST_F(DirectedContract, ReceiveTakesOnlyMessagesOfItsSource) {
  ASSERT_EQ(RecvFrom(target_.peer, 1), ErrorCode::kOk);
  ASSERT_EQ(SendOfThird(2), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  ASSERT_EQ(Send(0, 100, 3), ErrorCode::kOk);
  ExpectFrom(1, 1);
  ASSERT_EQ(RecvFrom(third_at_target_, 4), ErrorCode::kOk);
  ExpectFrom(4, 2);
}

TEST_F(DirectedContract, EachSourceHasItsOwnReceives) {
  for (std::uint64_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(RecvFrom(target_.peer, i), ErrorCode::kOk);
    ASSERT_EQ(RecvFrom(third_at_target_, i + 5), ErrorCode::kOk);
  }
  for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_EQ(SendOfThird(i), ErrorCode::kOk);
  for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_EQ(Send(0, 100, i), ErrorCode::kOk);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    ExpectFrom(i, 1);
    ExpectFrom(i + 5, 2);
  }
}

// A receive from any peer that was posted first comes first, and the other way round.
TEST_F(DirectedContract, OldestReceiveThatFitsTakesTheMessage) {
  ASSERT_EQ(RecvFrom(third_at_target_, 1), ErrorCode::kOk);
  ASSERT_EQ(Recv(200, 100, 2), ErrorCode::kOk);
  ASSERT_EQ(RecvFrom(target_.peer, 3), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 100, 4), ErrorCode::kOk);
  ExpectFrom(2, 1);
  ASSERT_EQ(Send(0, 100, 5), ErrorCode::kOk);
  ExpectFrom(3, 1);
  ASSERT_EQ(SendOfThird(6), ErrorCode::kOk);
  ExpectFrom(1, 2);
}

TEST_F(DirectedContract, MessagesThatWaitAreFoundBySource) {
  ASSERT_EQ(SendOfThird(1), ErrorCode::kOk);
  PumpQuietly();
  ASSERT_EQ(Send(0, 100, 2), ErrorCode::kOk);
  PumpQuietly();
  ASSERT_EQ(RecvFrom(target_.peer, 3), ErrorCode::kOk);
  ExpectFrom(3, 1);
  ASSERT_EQ(RecvFrom(third_at_target_, 4), ErrorCode::kOk);
  ExpectFrom(4, 2);
}

const Needs kTagged("DirectedContract.SourceAndTagMustBothFit", {Capability::kTaggedMessages});
TEST_F(DirectedContract, SourceAndTagMustBothFit) {
  const auto receive = [&](Peer source, std::uint64_t tag, std::uint64_t context) {
    const fabric::TaggedRecvRequest request{.buffer = target_.Local(100 * context, 100),
                                            .tag = tag,
                                            .source = source,
                                            .context = Context{context}};
    return Post([&] { return target_.endpoint->power<TaggedMessages>()->RecvTagged(request); });
  };
  const auto send = [&](Side& side, std::uint64_t tag, std::uint64_t context) {
    const fabric::TaggedSendRequest request{
        .buffer = side.Local(0, 100), .peer = side.peer, .tag = tag, .context = Context{context}};
    return Post([&] { return side.endpoint->power<TaggedMessages>()->SendTagged(request); });
  };
  ASSERT_EQ(receive(target_.peer, 7, 1), ErrorCode::kOk);
  ASSERT_EQ(receive(third_at_target_, 8, 2), ErrorCode::kOk);
  ASSERT_EQ(send(third_, 7, 10), ErrorCode::kOk);
  ASSERT_EQ(send(initiator_, 8, 11), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  ASSERT_EQ(send(initiator_, 7, 12), ErrorCode::kOk);
  ASSERT_EQ(send(third_, 8, 13), ErrorCode::kOk);
  ExpectFrom(1, 1);
  ExpectFrom(2, 2);
}

// An address that the vector does not have is no source, either. (libfabric 1.17's shm takes a
// stranger for its first peer.)
const Needs kStranger("DirectedContract.StrangerMeetsNoDirectedReceive",
                      {Capability::kSourceAddress});
TEST_F(DirectedContract, StrangerMeetsNoDirectedReceive) {
  EXPECT_THAT(target_.peers->Remove(third_at_target_), testing_matchers::IsOk());
  ASSERT_EQ(RecvFrom(target_.peer, 1), ErrorCode::kOk);
  ASSERT_EQ(SendOfThird(2), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  ASSERT_EQ(Send(0, 100, 3), ErrorCode::kOk);
  ExpectFrom(1, 1);
}

TEST_F(DirectedContract, UnknownSourceIsRefused) {
  fabric::RecvRequest request = RecvOf(0, 100, Context{1});
  request.source = Peer{4711};
  EXPECT_EQ(target_.endpoint->Recv(request), ErrorCode::kUnknownPeer);
  request.source = target_.peer;
  EXPECT_THAT(target_.peers->Remove(target_.peer), testing_matchers::IsOk());
  EXPECT_EQ(target_.endpoint->Recv(request), ErrorCode::kUnknownPeer);
}

}  // namespace
}  // namespace drydock::contract
