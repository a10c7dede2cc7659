// Messages that are too long: for the receive that they meet, or for the fabric.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "drydock/fabric/error_data.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;

class MessageLimitContract : public ContractTest {
 protected:
  static constexpr std::uint64_t kSent = 1, kReceived = 2;

  // Sends `length` bytes to a receive of fewer, at 100; returns the completion of the side that
  // must be told.
  Completion SendOverlong(std::size_t length, std::size_t room) {
    Fill(Bytes(initiator_, 0, length), 7);
    EXPECT_EQ(Recv(100, room, kReceived), ErrorCode::kOk);
    EXPECT_EQ(Send(0, length, kSent), ErrorCode::kOk);
    return Has(Trait::kSourceTruncation) ? Take(initiator_, kSent) : Take(target_, kReceived);
  }
};

TEST_F(MessageLimitContract, OverlongMessageIsToldToOneSide) {
  const Completion told = SendOverlong(1000, 999);
  EXPECT_EQ(told.error, ErrorCode::kTruncated);
  PumpQuietly();
  if (Has(Trait::kSourceTruncation)) {
    EXPECT_EQ(told.kind, OperationKind::kSend);
    EXPECT_TRUE(target_.completions.empty());  // the receive stays posted
  } else {
    EXPECT_EQ(told.kind, OperationKind::kReceive);
    EXPECT_TRUE(Take(initiator_, kSent).ok());
  }
}

// Longer than providers send at once: the target takes such a message in pieces, or fetches it.
const Needs kLong("MessageLimitContract.LongMessageIsCutAsAShortOneIs",
                  {Capability::kLongMessages, Trait::kLongTruncation});
TEST_F(MessageLimitContract, LongMessageIsCutAsAShortOneIs) {
  for (const std::size_t length : {5000u, 70000u, 500000u}) {
    EXPECT_EQ(SendOverlong(length, 3000).error, ErrorCode::kTruncated) << length;
    PumpQuietly();
    EXPECT_TRUE(Untouched(Bytes(target_, 0, 100))) << length;
    EXPECT_TRUE(Untouched(Bytes(target_, 3100, kMemoryBytes - 3100))) << length;
    initiator_.completions.clear();
  }
}

// The rules of fi_cq_readerr: without room the bytes are lent, with room they are copied and cut.
TEST_F(MessageLimitContract, AFailuresDataIsLentOrCopied) {
  const Completion told = SendOverlong(1000, 999);
  Side& side = Has(Trait::kSourceTruncation) ? initiator_ : target_;
  auto* details = side.queue->power<fabric::ErrorDetails>();
  ASSERT_NE(details, nullptr);
  std::array<std::byte, 1100> room;  // for all that any of the backends has
  room.fill(std::byte{0xa5});
  fabric::ErrorData lent{.data = room.data(), .size_bytes = 0};
  details->ReadErrorData(told, lent);
  EXPECT_NE(lent.data, room.data());
  fabric::ErrorData copied{.data = room.data(), .size_bytes = 8};
  details->ReadErrorData(told, copied);
  EXPECT_EQ(copied.data, room.data());
  EXPECT_EQ(copied.size_bytes, std::min<std::size_t>(lent.size_bytes, 8));
  EXPECT_TRUE(std::equal(room.begin(), room.begin() + copied.size_bytes, lent.data));
  EXPECT_TRUE(std::all_of(room.begin() + copied.size_bytes, room.end(),
                          [](std::byte byte) { return byte == std::byte{0xa5}; }));
  details->ReadErrorData(told, lent = {});
  fabric::ErrorData whole{.data = room.data(), .size_bytes = room.size()};
  const std::string all(reinterpret_cast<const char*>(lent.data), lent.size_bytes);
  details->ReadErrorData(told, whole);
  EXPECT_EQ(all, std::string(reinterpret_cast<const char*>(whole.data), whole.size_bytes));
}

TEST_F(MessageLimitContract, NoBytePastTheReceiveChanges) {
  for (const std::size_t room : {1u, 40u, 1000u}) {
    SendOverlong(kMessageBytes, room);
    PumpQuietly();
    EXPECT_TRUE(Untouched(Bytes(target_, 0, 100))) << room;
    EXPECT_TRUE(Untouched(Bytes(target_, 100 + room, kMemoryBytes - 100 - room))) << room;
    if (Has(Trait::kSourceTruncation)) {  // the receive is still posted: use it up
      ASSERT_EQ(Send(0, 0, 3), ErrorCode::kOk);
      EXPECT_TRUE(Take(target_, kReceived).ok());
    }
    initiator_.completions.clear();
  }
}

// One truncated message must not spoil those that follow it; tcp makes a new connection first, and
// loses messages that were sent behind the truncated one.
TEST_F(MessageLimitContract, NextMessageArrivesAllTheSame) {
  EXPECT_EQ(SendOverlong(1000, 500).error, ErrorCode::kTruncated);
  PumpQuietly();
  const bool posted = Has(Trait::kSourceTruncation);
  if (!posted) {
    ASSERT_EQ(Recv(100, 500, kReceived), ErrorCode::kOk);
  }
  Fill(Bytes(initiator_, 2000, 500), 9);
  ASSERT_EQ(Send(2000, 500, 3), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, kReceived).length_bytes, 500u);
  EXPECT_TRUE(Holds(Bytes(target_, 100, 500), 9));
  EXPECT_TRUE(Take(initiator_, 3).ok());
}

TEST_F(MessageLimitContract, EmptyReceiveTakesOnlyEmptyMessages) {
  ASSERT_EQ(Recv(0, 0, kReceived), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 0, 3), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, kReceived).ok());
  EXPECT_TRUE(Take(initiator_, 3).ok());
  EXPECT_EQ(SendOverlong(1, 0).error, ErrorCode::kTruncated);
  PumpQuietly();
  EXPECT_TRUE(Untouched(target_.memory));
}

TEST_F(MessageLimitContract, LongestMessageArrives) {
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>(limits().max_message_bytes, kMemoryBytes));
  Fill(Bytes(initiator_, 0, most), 3);
  ASSERT_EQ(Recv(0, most, kReceived), ErrorCode::kOk);
  ASSERT_EQ(Send(0, most, kSent), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, kReceived).length_bytes, most);
  EXPECT_TRUE(Holds(Bytes(target_, 0, most), 3));
  EXPECT_TRUE(Take(initiator_, kSent).ok());
  EXPECT_EQ(Has(Capability::kLongMessages), most > limits().mtu_bytes);
}

// Either at once, or by the NIC. A limit beyond the memory that there is cannot be broken: the
// message then arrives.
TEST_F(MessageLimitContract, MessageOverTheLimitIsRefused) {
  const bool breakable = limits().max_message_bytes < kMemoryBytes;
  const std::size_t length = breakable ? limits().max_message_bytes + 1 : kMemoryBytes;
  ASSERT_EQ(Recv(0, kMemoryBytes, kReceived), ErrorCode::kOk);
  ErrorCode error = Send(0, length, kSent);
  if (error == ErrorCode::kOk) error = Take(initiator_, kSent).error;
  EXPECT_EQ(error, breakable ? ErrorCode::kMessageTooLong : ErrorCode::kOk);
  if (!breakable) {
    EXPECT_EQ(Take(target_, kReceived).length_bytes, length);
  }
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

}  // namespace
}  // namespace drydock::contract
