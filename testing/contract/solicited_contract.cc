// Endpoints whose receives take the immediates of peers' writes.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
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

  // Endpoints beside both sides' whose receives take no immediates.
  struct Pair {
    std::unique_ptr<fabric::Endpoint> initiator;
    std::unique_ptr<fabric::Endpoint> target;
    fabric::Peer target_peer;
  };
  absl::StatusOr<Pair> OpenOthers() {
    auto initiator = initiator_.domain->OpenEndpoint(PartsOf(initiator_));
    if (!initiator.ok()) return initiator.status();
    auto target = target_.domain->OpenEndpoint(PartsOf(target_));
    if (!target.ok()) return target.status();
    const absl::StatusOr<fabric::Peer> peer = initiator_.peers->Insert((*target)->address());
    if (!peer.ok()) return peer.status();
    const absl::StatusOr<fabric::Peer> back = target_.peers->Insert((*initiator)->address());
    if (!back.ok()) return back.status();
    return Pair{*std::move(initiator), *std::move(target), *peer};
  }

  // Writes eight bytes with an immediate to the beginning of the target's memory.
  ErrorCode Announce(fabric::Endpoint& from, fabric::Peer to, std::uint64_t context,
                     std::uint32_t immediate) {
    fabric::WriteRequest request = WriteOf(0, 8, target_.Remote(0), Context{context});
    request.peer = to;
    request.immediate = immediate;
    return Post([&] { return from.Write(request); });
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
TEST_F(SolicitedContract, NeighboursOnAQueueMayDiffer) {
  if (!Has(Capability::kUnsolicitedImmediate)) {
    EXPECT_FALSE(target_.domain->OpenEndpoint(PartsOf(target_)).ok());
    return;
  }
  ASSERT_OK_AND_ASSIGN(const Pair others, OpenOthers());
  ASSERT_EQ(Recv(5000, 100, 7), ErrorCode::kOk);
  ASSERT_EQ(Announce(*others.initiator, others.target_peer, 1, 5), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(target_).context, std::nullopt);
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 2, 6), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 7).immediate, 6u);
}

// The device has unsolicited immediates at both ends of a write or at neither.
TEST_F(SolicitedContract, EndpointsThatDifferRefuseImmediates) {
  if (!Has(Capability::kUnsolicitedImmediate)) {
    EXPECT_FALSE(target_.domain->OpenEndpoint(PartsOf(target_)).ok());
    return;
  }
  ASSERT_OK_AND_ASSIGN(const Pair others, OpenOthers());
  ASSERT_EQ(Recv(5000, 100, 7), ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, 8), 3);
  ASSERT_EQ(Announce(*others.initiator, initiator_.peer, 1, 5), ErrorCode::kOk);
  EXPECT_EQ(Take(initiator_, 1).error, ErrorCode::kFeatureMismatch);
  ASSERT_EQ(Announce(*initiator_.endpoint, others.target_peer, 2, 6), ErrorCode::kOk);
  EXPECT_EQ(Take(initiator_, 2).error, ErrorCode::kFeatureMismatch);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(Untouched(Bytes(target_, 0, 8)));
  ASSERT_EQ(Send(0, 50, 3), ErrorCode::kOk);  // takes the receive
  EXPECT_TRUE(Take(target_, 7).ok());
  EXPECT_TRUE(Take(initiator_, 3).ok());
}

}  // namespace
}  // namespace drydock::contract
