// Completions that name the sender.

#include <cstdint>

#include "drydock/fabric/tagged_messages.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::kNoPeer;
using fabric::Peer;
using fabric::TaggedMessages;

const Needs kNeeds("SourceContract", {Capability::kSourceAddress});

class SourceContract : public ContractTest {
 protected:
  fabric::CompletionQueueOptions QueueOptions() override { return {.source_addresses = true}; }

  void Prepare() override {
    OpenThird();
    third_.peer = third_.peers->Insert(target_.endpoint->address()).value();
    third_at_target_ = target_.peers->Insert(third_.endpoint->address()).value();
  }

  ErrorCode SendOfThird(std::uint64_t context) {
    const fabric::SendRequest request{
        .buffer = third_.Local(0, 10), .peer = third_.peer, .context = Context{context}};
    return Post([&] { return third_.endpoint->Send(request); });
  }

  Peer third_at_target_{};
};

TEST_F(SourceContract, ReceiveNamesItsSender) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 10, 2), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).source, target_.peer);
}

TEST_F(SourceContract, SendersAreToldApart) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    const bool third = i % 3 == 0;
    ASSERT_EQ(Recv(0, 100, i), ErrorCode::kOk);
    ASSERT_EQ(third ? SendOfThird(i) : Send(0, 10, i), ErrorCode::kOk);
    EXPECT_EQ(Take(target_, i).source, third ? third_at_target_ : target_.peer) << i;
  }
}

// The name is good for an answer.
TEST_F(SourceContract, SenderCanBeAnswered) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(SendOfThird(2), ErrorCode::kOk);
  const fabric::RecvRequest receive{.buffer = third_.Local(100, 100), .context = Context{3}};
  ASSERT_EQ(Post([&] { return third_.endpoint->Recv(receive); }), ErrorCode::kOk);
  const fabric::SendRequest answer{
      .buffer = target_.Local(0, 20), .peer = Take(target_, 1).source, .context = Context{4}};
  ASSERT_EQ(Post([&] { return target_.endpoint->Send(answer); }), ErrorCode::kOk);
  EXPECT_EQ(Take(third_, 3).length_bytes, 20u);
}

TEST_F(SourceContract, RemovedSenderIsNobody) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(SendOfThird(2), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).source, third_at_target_);
  EXPECT_THAT(target_.peers->Remove(third_at_target_), testing_matchers::IsOk());
  ASSERT_EQ(Recv(0, 100, 3), ErrorCode::kOk);
  if (SendOfThird(4) == ErrorCode::kOk) {
    PumpQuietly();
    for (const Completion& completion : target_.completions) {
      EXPECT_EQ(completion.source, kNoPeer);
    }
  }
}

TEST_F(SourceContract, OwnRequestsHaveNoSource) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 10, 2), ErrorCode::kOk);
  ASSERT_EQ(Write(0, 10, target_.Remote(0), 3), ErrorCode::kOk);
  ASSERT_EQ(Read(0, 10, target_.Remote(0), 4), ErrorCode::kOk);
  for (std::uint64_t context = 2; context <= 4; ++context) {
    EXPECT_EQ(Take(initiator_, context).source, kNoPeer);
  }
}

const Needs kTagged("SourceContract.TaggedReceiveNamesItsSender", {Capability::kTaggedMessages});
TEST_F(SourceContract, TaggedReceiveNamesItsSender) {
  const fabric::TaggedRecvRequest receive{
      .buffer = target_.Local(0, 100), .tag = 5, .context = Context{1}};
  const fabric::TaggedSendRequest send{
      .buffer = third_.Local(0, 10), .peer = third_.peer, .tag = 5, .context = Context{2}};
  ASSERT_EQ(Post([&] { return target_.endpoint->power<TaggedMessages>()->RecvTagged(receive); }),
            ErrorCode::kOk);
  ASSERT_EQ(Post([&] { return third_.endpoint->power<TaggedMessages>()->SendTagged(send); }),
            ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).source, third_at_target_);
}

}  // namespace
}  // namespace drydock::contract
