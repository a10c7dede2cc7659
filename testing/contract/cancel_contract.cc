// Taking back a posted receive.

#include <cstdint>
#include <optional>

#include "drydock/fabric/cancel.h"
#include "drydock/fabric/tagged_messages.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Cancel;
using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;
using fabric::TaggedMessages;

const Needs kNeeds("CancelContract", {Capability::kCancel});

class CancelContract : public ContractTest {
 protected:
  static ErrorCode CancelAt(Side& side, std::uint64_t context) {
    return side.endpoint->power<Cancel>()->CancelReceive(Context{context});
  }
};

TEST_F(CancelContract, CancelledReceiveEndsOnce) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(target_, 1), ErrorCode::kOk);
  const Completion ended = Take(target_, 1);
  EXPECT_EQ(ended.error, ErrorCode::kCanceled);
  EXPECT_EQ(ended.kind, OperationKind::kReceive);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

// The buffer is the program's again: the message goes where the next receive says.
TEST_F(CancelContract, MessageGoesToTheNextReceive) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(Recv(100, 100, 2), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(target_, 1), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).error, ErrorCode::kCanceled);
  Fill(Bytes(initiator_, 0, 100), 5);
  ASSERT_EQ(Send(0, 100, 3), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 2).ok());
  EXPECT_TRUE(Untouched(Bytes(target_, 0, 100)));
  EXPECT_TRUE(Holds(Bytes(target_, 100, 100), 5));
}

TEST_F(CancelContract, OnlyTheNamedReceiveIsCancelled) {
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_EQ(Recv(i * 100, 100, i), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(target_, 2), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 2).error, ErrorCode::kCanceled);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(Send(0, 10, i), ErrorCode::kOk);
  for (const std::uint64_t i : {0u, 1u, 3u, 4u}) EXPECT_TRUE(Take(target_, i).ok()) << i;
}

// Of two receives of one context, each call ends one; and then there is none.
TEST_F(CancelContract, NoReceiveIsTakenBackTwice) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(Recv(100, 100, 1), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(target_, 1), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(target_, 1), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(target_, 1), ErrorCode::kInvalidArgument);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Take(target_, 1).error, ErrorCode::kCanceled);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

// Every slot of the queue can be taken back, again and again.
TEST_F(CancelContract, ReceivesCanBeCancelledForLong) {
  const std::size_t rounds = 2 * limits().receive_queue_depth + 1;
  for (std::size_t i = 0; i < rounds; ++i) {
    ASSERT_EQ(Recv(0, 100, i), ErrorCode::kOk) << i;
    ASSERT_EQ(CancelAt(target_, i), ErrorCode::kOk) << i;
    ASSERT_EQ(Take(target_, i).error, ErrorCode::kCanceled) << i;
  }
}

TEST_F(CancelContract, NobodysContextIsRefused) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(target_, 2), ErrorCode::kInvalidArgument);
  ASSERT_EQ(Send(0, 10, 3), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 1).ok());
  EXPECT_EQ(CancelAt(target_, 1), ErrorCode::kInvalidArgument);  // it has its message
}

TEST_F(CancelContract, ReceiveWithoutContextCannotBeNamed) {
  const fabric::RecvRequest silent = RecvOf(0, 100, std::nullopt);
  ASSERT_EQ(Post([&] { return target_.endpoint->Recv(silent); }), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(target_, 0), ErrorCode::kInvalidArgument);
  Fill(Bytes(initiator_, 0, 100), 5);
  ASSERT_EQ(Send(0, 100, 3), ErrorCode::kOk);
  EXPECT_TRUE(PumpUntil([&] { return Holds(Bytes(target_, 0, 100), 5); }));
}

TEST_F(CancelContract, SendsCannotBeTakenBack) {
  ASSERT_EQ(Send(0, 10, 1), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(initiator_, 1), ErrorCode::kInvalidArgument);
  ASSERT_EQ(Recv(0, 100, 2), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 2).ok());
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

// A message that has come and was not read yet: the receive keeps it.
TEST_F(CancelContract, MessageThatCameFirstIsNotLost) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, 100), 5);
  ASSERT_EQ(Send(0, 100, 2), ErrorCode::kOk);
  Take(initiator_, 2);
  const ErrorCode asked = CancelAt(target_, 1);
  const Completion ended = Take(target_, 1);
  if (ended.ok()) {
    EXPECT_TRUE(Holds(Bytes(target_, 0, 100), 5));
  } else {
    EXPECT_EQ(ended.error, ErrorCode::kCanceled);
    EXPECT_EQ(asked, ErrorCode::kOk);
    ASSERT_EQ(Recv(200, 100, 3), ErrorCode::kOk);
    EXPECT_TRUE(Take(target_, 3).ok());
    EXPECT_TRUE(Holds(Bytes(target_, 200, 100), 5));
  }
}

const Needs kTagged("CancelContract.TaggedReceiveCanBeCancelled", {Capability::kTaggedMessages});
TEST_F(CancelContract, TaggedReceiveCanBeCancelled) {
  const auto receive = [&](std::uint64_t context) {
    const fabric::TaggedRecvRequest request{
        .buffer = target_.Local(100 * context, 100), .tag = 9, .context = Context{context}};
    return Post([&] { return target_.endpoint->power<TaggedMessages>()->RecvTagged(request); });
  };
  ASSERT_EQ(receive(1), ErrorCode::kOk);
  ASSERT_EQ(receive(2), ErrorCode::kOk);
  EXPECT_EQ(CancelAt(target_, 1), ErrorCode::kOk);
  const Completion ended = Take(target_, 1);
  EXPECT_EQ(ended.error, ErrorCode::kCanceled);
  EXPECT_EQ(ended.kind, OperationKind::kTaggedReceive);
  const fabric::TaggedSendRequest send{
      .buffer = initiator_.Local(0, 10), .peer = initiator_.peer, .tag = 9, .context = Context{3}};
  ASSERT_EQ(Post([&] { return initiator_.endpoint->power<TaggedMessages>()->SendTagged(send); }),
            ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 2).ok());
}

const Needs kMulti("CancelContract.MultiReceiveCanBeCancelled", {Capability::kMultiReceive});
TEST_F(CancelContract, MultiReceiveCanBeCancelled) {
  fabric::RecvRequest request = RecvOf(0, 100000, Context{1});
  request.multi = true;
  ASSERT_EQ(Post([&] { return target_.endpoint->Recv(request); }), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 10, 2), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 1).ok());
  EXPECT_EQ(CancelAt(target_, 1), ErrorCode::kOk);
  const Completion ended = Take(target_, 1);
  EXPECT_EQ(ended.error, ErrorCode::kCanceled);
  EXPECT_TRUE(ended.buffer_released);
  ASSERT_EQ(Recv(200000, 100, 3), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 10, 4), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 3).ok());
}

TEST_F(CancelContract, ClosedEndpointCancelsNothing) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  Cancel* power = target_.endpoint->power<Cancel>();
  EXPECT_THAT(target_.endpoint->Close(), testing_matchers::IsOk());
  EXPECT_EQ(power->CancelReceive(Context{1}), ErrorCode::kClosed);
}

}  // namespace
}  // namespace drydock::contract
