// Messages: sends, and the receives that take them.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;

class MessageContract : public ContractTest {};

TEST_F(MessageContract, MessageArrivesInThePostedReceive) {
  Fill(Bytes(initiator_, 50, kMessageBytes), 7);
  ASSERT_EQ(Recv(300, kMessageBytes, 2), ErrorCode::kOk);
  ASSERT_EQ(Send(50, kMessageBytes, 1), ErrorCode::kOk);
  const Completion received = Take(target_, 2);
  EXPECT_TRUE(received.ok());
  EXPECT_EQ(received.kind, OperationKind::kReceive);
  EXPECT_EQ(received.length_bytes, kMessageBytes);
  EXPECT_TRUE(Holds(Bytes(target_, 300, kMessageBytes), 7));
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

TEST_F(MessageContract, ShortMessageLeavesTheRestAlone) {
  for (const std::size_t length : {1u, 31u, 32u, 33u, 1000u}) {
    std::fill(target_.memory.begin(), target_.memory.end(), std::byte{0});
    Fill(Bytes(initiator_, 0, length), 5);
    ASSERT_EQ(Recv(100, kMessageBytes, length), ErrorCode::kOk);
    ASSERT_EQ(Send(0, length, length), ErrorCode::kOk);
    EXPECT_EQ(Take(target_, length).length_bytes, length);
    EXPECT_TRUE(Holds(Bytes(target_, 100, length), 5)) << length;
    EXPECT_TRUE(Untouched(Bytes(target_, 0, 100))) << length;
    EXPECT_TRUE(Untouched(Bytes(target_, 100 + length, kMessageBytes))) << length;
    EXPECT_TRUE(Take(initiator_, length).ok());
  }
}

TEST_F(MessageContract, EmptyMessageIsAMessage) {
  ASSERT_EQ(Recv(0, kMessageBytes, 2), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 0, 1, 9), ErrorCode::kOk);
  const Completion received = Take(target_, 2);
  EXPECT_TRUE(received.ok());
  EXPECT_EQ(received.length_bytes, 0u);
  EXPECT_EQ(received.immediate, 9u);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_TRUE(Untouched(target_.memory));
}

TEST_F(MessageContract, EachMessageArrivesExactlyOnce) {
  constexpr std::size_t kMessages = 300, kStride = 3000;
  const auto length_of = [](std::size_t i) { return 4 + i * 8; };
  std::vector<int> seen(kMessages, 0);
  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(Recv(i * kStride, kStride, i), ErrorCode::kOk);
    Fill(Bytes(initiator_, i * kStride, length_of(i)), static_cast<std::uint8_t>(i));
    ASSERT_EQ(Send(i * kStride, length_of(i), i, i), ErrorCode::kOk);
  }
  for (std::size_t i = 0; i < kMessages; ++i) {
    const Completion received = Take(target_, i);
    const std::size_t message = received.immediate.value_or(0);
    ++seen[message];
    EXPECT_EQ(received.length_bytes, length_of(message));
    EXPECT_TRUE(
        Holds(Bytes(target_, i * kStride, length_of(message)), static_cast<std::uint8_t>(message)))
        << message;
  }
  EXPECT_EQ(seen, std::vector<int>(kMessages, 1));
}

TEST_F(MessageContract, MessageWaitsForItsReceive) {
  Fill(Bytes(initiator_, 0, 1000), 3);
  ASSERT_EQ(Send(0, 1000, 1), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(Untouched(target_.memory));
  ASSERT_EQ(Recv(0, 1000, 2), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 2).length_bytes, 1000u);
  EXPECT_TRUE(Holds(Bytes(target_, 0, 1000), 3));
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

// Messages that wait are lost as little as others, and each takes one receive.
TEST_F(MessageContract, ManyMessagesWaitForTheirReceives) {
  constexpr std::uint64_t kMessages = 20;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(Send(i, 1, i, static_cast<std::uint32_t>(i)), ErrorCode::kOk);
  }
  PumpQuietly();
  std::vector<std::uint32_t> immediates;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(Recv(i, 1, i), ErrorCode::kOk);
    immediates.push_back(Take(target_, i).immediate.value_or(kMessages));
  }
  std::vector<std::uint32_t> expected(kMessages);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_THAT(immediates, ::testing::UnorderedElementsAreArray(expected));
}

TEST_F(MessageContract, ReceiveTakesAMessageFromAnyPeer) {
  OpenThird();
  third_.peer = third_.peers->Insert(target_.endpoint->address()).value();
  ASSERT_TRUE(target_.peers->Insert(third_.endpoint->address()).ok());
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(Recv(100, 100, 2), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 10, 3), ErrorCode::kOk);
  const fabric::SendRequest other{
      .buffer = third_.Local(0, 20), .peer = third_.peer, .context = Context{4}};
  ASSERT_EQ(Post([&] { return third_.endpoint->Send(other); }), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).length_bytes + Take(target_, 2).length_bytes, 30u);
  EXPECT_TRUE(Take(third_, 4).ok());
}

TEST_F(MessageContract, MessageGoesToThePeerThatItNames) {
  fabric::SendRequest request = SendOf(0, 10, Context{1});
  request.peer = OpenThird();
  ASSERT_EQ(Recv(0, 100, 2), ErrorCode::kOk);
  const fabric::RecvRequest receive{.buffer = third_.Local(0, 100), .context = Context{2}};
  ASSERT_EQ(Post([&] { return third_.endpoint->Recv(receive); }), ErrorCode::kOk);
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Send(request); }), ErrorCode::kOk);
  EXPECT_EQ(Take(third_, 2).length_bytes, 10u);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

// Receives are taken oldest first: with ordered messages, the i-th message is in the i-th receive.
TEST_F(MessageContract, MessagesKeepTheirOrderWherePromised) {
  constexpr std::uint32_t kMessages = 50;
  std::vector<std::uint32_t> arrived, expected(kMessages);
  for (std::uint32_t i = 0; i < kMessages; ++i) ASSERT_EQ(Recv(i * 8, 8, i), ErrorCode::kOk);
  for (std::uint32_t i = 0; i < kMessages; ++i) ASSERT_EQ(Send(0, i % 8, i, i), ErrorCode::kOk);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    arrived.push_back(Take(target_, i).immediate.value_or(kMessages));
  }
  std::iota(expected.begin(), expected.end(), 0u);
  if (Has(Capability::kSendOrder)) {
    EXPECT_EQ(arrived, expected);
  } else {
    EXPECT_THAT(arrived, ::testing::UnorderedElementsAreArray(expected));
  }
}

}  // namespace
}  // namespace drydock::contract
