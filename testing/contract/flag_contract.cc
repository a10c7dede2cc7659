// The fields of a completion: context, kind, immediate and lengths.

#include <cstdint>
#include <limits>
#include <optional>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;

class FlagContract : public ContractTest {};

// All 64 bits are the caller's: no value is special.
TEST_F(FlagContract, ContextComesBackBitForBit) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t context : {std::uint64_t{0}, kMost, kMost << 32, std::uint64_t{1}}) {
    ASSERT_EQ(Recv(0, 8, context), ErrorCode::kOk);
    ASSERT_EQ(Send(0, 8, context), ErrorCode::kOk);
    EXPECT_TRUE(Take(target_, context).ok());
    EXPECT_TRUE(Take(initiator_, context).ok());
    ASSERT_EQ(Write(0, 8, target_.Remote(0), context), ErrorCode::kOk);
    EXPECT_EQ(Take(initiator_, context).kind, OperationKind::kWrite);
    ASSERT_EQ(Read(0, 8, target_.Remote(0), context), ErrorCode::kOk);
    EXPECT_EQ(Take(initiator_, context).kind, OperationKind::kRead);
  }
}

// Two requests may have one context; each still has its completion.
TEST_F(FlagContract, ContextNeedNotBeUnique) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Write(0, 8, target_.Remote(0), 5), ErrorCode::kOk);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Take(initiator_, 5).ok());
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(FlagContract, InitiatorsCompletionsTellNoLength) {
  ASSERT_EQ(Recv(0, 100, 9), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 100, 1, 11), ErrorCode::kOk);
  ASSERT_EQ(Write(0, 100, target_.Remote(0), 2, 12), ErrorCode::kOk);
  ASSERT_EQ(Read(0, 100, target_.Remote(0), 3), ErrorCode::kOk);
  for (std::uint64_t context = 1; context <= 3; ++context) {
    const Completion done = Take(initiator_, context);
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(done.length_bytes, 0u) << Name(done.kind);
    EXPECT_EQ(done.immediate, std::nullopt) << Name(done.kind);
    EXPECT_EQ(done.provider_error, 0) << Name(done.kind);
  }
}

TEST_F(FlagContract, KindIsThatOfTheOperation) {
  ASSERT_EQ(Recv(0, 100, 4), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 100, 1, 11), ErrorCode::kOk);
  ASSERT_EQ(Write(0, 100, target_.Remote(0), 2, 12), ErrorCode::kOk);
  ASSERT_EQ(Read(0, 100, target_.Remote(0), 3), ErrorCode::kOk);
  EXPECT_EQ(Take(initiator_, 1).kind, OperationKind::kSend);
  EXPECT_EQ(Take(initiator_, 2).kind, OperationKind::kWrite);
  EXPECT_EQ(Take(initiator_, 3).kind, OperationKind::kRead);
  EXPECT_EQ(Take(target_, 4).kind, OperationKind::kReceive);
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 12u);
}

// Zero is an immediate, too.
TEST_F(FlagContract, EveryImmediateValueRoundTrips) {
  for (const std::uint32_t immediate : {0u, 1u, 0x80000000u, 0xffffffffu}) {
    ASSERT_EQ(Recv(0, 100, 2), ErrorCode::kOk);
    ASSERT_EQ(Send(0, 100, 1, immediate), ErrorCode::kOk);
    EXPECT_EQ(Take(target_, 2).immediate, immediate);
    EXPECT_TRUE(Take(initiator_, 1).ok());
    ASSERT_EQ(Write(0, 100, target_.Remote(0), 3, immediate), ErrorCode::kOk);
    EXPECT_EQ(TakeRemoteWrite(target_).immediate, immediate);
    EXPECT_TRUE(Take(initiator_, 3).ok());
  }
}

TEST_F(FlagContract, MessageWithoutImmediateHasNone) {
  // One with an immediate first: a stale value must not show through.
  for (const std::optional<std::uint32_t> immediate :
       {std::optional<std::uint32_t>(6), std::optional<std::uint32_t>()}) {
    ASSERT_EQ(Recv(0, 100, 2), ErrorCode::kOk);
    ASSERT_EQ(Send(0, 100, 1, immediate), ErrorCode::kOk);
    EXPECT_EQ(Take(target_, 2).immediate, immediate);
    EXPECT_TRUE(Take(initiator_, 1).ok());
  }
}

TEST_F(FlagContract, RemoteWriteTellsItsLengthWherePromised) {
  for (const std::size_t length : {0u, 1u, 20000u}) {
    ASSERT_EQ(Write(0, length, target_.Remote(0), 1, 7), ErrorCode::kOk);
    const Completion seen = TakeRemoteWrite(target_);
    EXPECT_EQ(seen.length_bytes, Has(Trait::kRemoteWriteLength) ? length : 0u);
    EXPECT_TRUE(Take(initiator_, 1).ok());
  }
}

// Where it consumes no receive, a posted one stays for the next message; elsewhere its context is
// the receive's.
TEST_F(FlagContract, RemoteWriteHasNoContextOfItsOwn) {
  ASSERT_EQ(Recv(0, 100, 5), ErrorCode::kOk);
  ASSERT_EQ(Write(0, 50, target_.Remote(1000), 1, 7), ErrorCode::kOk);
  const Completion seen = TakeRemoteWrite(target_);
  EXPECT_EQ(seen.immediate, 7u);
  if (!Has(Capability::kUnsolicitedImmediate)) {
    EXPECT_EQ(seen.context, Context{5});
    ASSERT_EQ(Recv(0, 100, 5), ErrorCode::kOk);
  } else {
    EXPECT_EQ(seen.context, std::nullopt);
  }
  ASSERT_EQ(Send(0, 100, 2), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 5).kind, OperationKind::kReceive);
}

}  // namespace
}  // namespace drydock::contract
