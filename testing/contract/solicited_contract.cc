// Endpoints whose receives take the immediates of peers' writes.

#include <cstdint>

#include "testing/contract/contract_test.h"

namespace contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;

const Needs kNeeds("SolicitedContract", {Capability::kSolicitedImmediate});

class SolicitedContract : public ContractTest {
 protected:
  fabric::EndpointOptions Options(Side& side) override {
    fabric::EndpointOptions options = PartsOf(side);
    options.receives_take_immediates = true;
    return options;
  }
};

// The receive's context comes back, and its buffer is left alone.
TEST_F(SolicitedContract, ImmediateTakesAReceive) {
  ASSERT_EQ(Recv(5000, 100, 7), ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, 200), 3);
  ASSERT_EQ(Write(0, 200, target_.Remote(0), 1, 42), ErrorCode::kOk);
  const Completion done = Take(target_, 7);
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(done.kind, OperationKind::kRemoteWrite);
  EXPECT_EQ(done.immediate, 42u);
  EXPECT_TRUE(Holds(Bytes(target_, 0, 200), 3));
  EXPECT_TRUE(Untouched(Bytes(target_, 5000, 100)));
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

TEST_F(SolicitedContract, ImmediateWaitsForAReceive) {
  ASSERT_EQ(Write(0, 200, target_.Remote(0), 1, 42), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(initiator_.completions.empty());
  ASSERT_EQ(Recv(5000, 100, 7), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 7).immediate, 42u);
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

TEST_F(SolicitedContract, EachImmediateTakesOne) {
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_EQ(Recv(5000, 100, i), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 9; ++i) {
    ASSERT_EQ(Write(0, 8, target_.Remote(i * 8), i, static_cast<std::uint32_t>(i)), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < 9; ++i)
    EXPECT_EQ(Take(target_, i).kind, OperationKind::kRemoteWrite);
  ASSERT_EQ(Send(0, 50, 20), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 9).kind, OperationKind::kReceive);
}

TEST_F(SolicitedContract, WriteWithoutImmediateTakesNone) {
  ASSERT_EQ(Recv(5000, 100, 7), ErrorCode::kOk);
  ASSERT_EQ(Write(0, 200, target_.Remote(0), 1), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  ASSERT_EQ(Send(0, 50, 2), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 7).kind, OperationKind::kReceive);
}

// Endpoints of one queue may differ: whether a receive was taken is told by its context.
TEST_F(SolicitedContract, NeighbourOnTheQueueMayTakeNone) {
  if (!Has(Capability::kUnsolicitedImmediate)) {
    EXPECT_FALSE(target_.domain->OpenEndpoint(PartsOf(target_)).ok());
    return;
  }
  ASSERT_OK_AND_ASSIGN(auto neighbour, target_.domain->OpenEndpoint(PartsOf(target_)));
  ASSERT_EQ(Recv(5000, 100, 7), ErrorCode::kOk);
  initiator_.peer = initiator_.peers->Insert(neighbour->address()).value();
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 1, 5), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(target_).context, std::nullopt);
  initiator_.peer = initiator_.peers->Insert(target_.endpoint->address()).value();
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 2, 6), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 7).immediate, 6u);
}

}  // namespace
}  // namespace contract
