// Peers: which ones an endpoint can reach, and the fate of requests to those that are gone.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::Peer;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

class PeerContract : public ContractTest {
 protected:
  // Every operation towards `peer` is refused when it is posted.
  void ExpectUnknown(Peer peer) {
    fabric::SendRequest send = SendOf(0, 8, Context{1});
    fabric::WriteRequest write = WriteOf(0, 8, target_.Remote(0), Context{2});
    fabric::ReadRequest read = ReadOf(0, 8, target_.Remote(0), Context{3});
    send.peer = write.peer = read.peer = peer;
    EXPECT_EQ(initiator_.endpoint->Send(send), ErrorCode::kUnknownPeer);
    EXPECT_EQ(initiator_.endpoint->Write(write), ErrorCode::kUnknownPeer);
    EXPECT_EQ(initiator_.endpoint->Read(read), ErrorCode::kUnknownPeer);
    EXPECT_THAT(initiator_.peers->Lookup(peer), StatusIs(absl::StatusCode::kNotFound));
    EXPECT_THAT(initiator_.peers->Remove(peer), StatusIs(absl::StatusCode::kNotFound));
  }
};

TEST_F(PeerContract, RemovedPeerIsUnknown) {
  EXPECT_THAT(initiator_.peers->Remove(initiator_.peer), IsOk());
  ExpectUnknown(initiator_.peer);
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

// A stale handle must not name a peer that was inserted after its own was removed.
TEST_F(PeerContract, StaleHandleNamesNobodyLater) {
  const Peer stale = initiator_.peer;
  EXPECT_THAT(initiator_.peers->Remove(stale), IsOk());
  ASSERT_OK_AND_ASSIGN(initiator_.peer, initiator_.peers->Insert(target_.endpoint->address()));
  ExpectUnknown(stale);
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 4, 4), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 4u);
}

TEST_F(PeerContract, InventedPeersAreUnknown) {
  const auto known = static_cast<std::uint64_t>(initiator_.peer);
  for (const std::uint64_t bits : {~std::uint64_t{0}, known + 1, known ^ std::uint64_t{1} << 32,
                                   known ^ std::uint64_t{1} << 63, std::uint64_t{12345}}) {
    ExpectUnknown(Peer{bits});
  }
}

// A default Peer, too: a program that forgot to insert has one.
TEST_F(PeerContract, VectorThatWasEmptiedKnowsNobody) {
  EXPECT_THAT(initiator_.peers->Remove(initiator_.peer), IsOk());
  for (std::uint64_t bits = 0; bits < 10; ++bits) {
    EXPECT_THAT(initiator_.peers->Lookup(Peer{bits}).status(),
                StatusIs(absl::StatusCode::kNotFound));
    EXPECT_THAT(initiator_.peers->Remove(Peer{bits}), StatusIs(absl::StatusCode::kNotFound));
  }
}

TEST_F(PeerContract, RemovingOnePeerLeavesTheOthers) {
  const Peer other = OpenThird();
  EXPECT_THAT(initiator_.peers->Remove(other), IsOk());
  ExpectUnknown(other);
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 4, 4), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 4u);
}

// An address that leads nowhere must not lend its name to the next one.
TEST_F(PeerContract, NobodyIsNotMistakenForALaterPeer) {
  ASSERT_OK_AND_ASSIGN(const Peer nobody, initiator_.peers->Insert(backend_->NobodysAddress()));
  const Peer third = OpenThird();
  EXPECT_NE(nobody, third);
  fabric::SendRequest request = SendOf(0, 8, Context{1});
  request.peer = nobody;
  const fabric::RecvRequest receive{.buffer = third_.Local(0, 8), .context = Context{2}};
  ASSERT_EQ(Post([&] { return third_.endpoint->Recv(receive); }), ErrorCode::kOk);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const ErrorCode posted = initiator_.endpoint->Send(request);
    EXPECT_TRUE(posted == ErrorCode::kOk || posted == ErrorCode::kAgain ||
                posted == ErrorCode::kUnknownPeer);
    Pump();
  }
  PumpQuietly();
  EXPECT_TRUE(third_.completions.empty());
}

TEST_F(PeerContract, PeersOfTwoVectorsAreNotShared) {
  ASSERT_OK_AND_ASSIGN(auto vector, initiator_.domain->OpenAddressVector());
  EXPECT_THAT(vector->Lookup(initiator_.peer), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(const Peer peer, vector->Insert(target_.endpoint->address()));
  EXPECT_THAT(vector->Remove(peer), IsOk());
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 4, 4), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 4u);
}

TEST_F(PeerContract, PeersCanComeAndGoForLong) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_THAT(initiator_.peers->Remove(initiator_.peer), IsOk());
    ASSERT_OK_AND_ASSIGN(initiator_.peer, initiator_.peers->Insert(target_.endpoint->address()));
  }
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 4, 4), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 4u);
}

TEST_F(PeerContract, RequestInFlightOutlivesItsRemovedPeer) {
  Connect();
  ASSERT_EQ(Write(0, 100000, target_.Remote(0), 5), ErrorCode::kOk);
  EXPECT_THAT(initiator_.peers->Remove(initiator_.peer), IsOk());
  Take(initiator_, 5);  // in one way or the other
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

// Without virtual time one cannot wait until a network gives up: a few attempts must not come to
// any good.
TEST_F(PeerContract, NobodyIsNeverReached) {
  fabric::SendRequest request = SendOf(0, 8, Context{6});
  ASSERT_OK_AND_ASSIGN(request.peer, initiator_.peers->Insert(backend_->NobodysAddress()));
  ErrorCode error = ErrorCode::kAgain;
  for (int attempt = 0; attempt < 20 && error == ErrorCode::kAgain; ++attempt) {
    error = initiator_.endpoint->Send(request);
    Pump();
  }
  if (Has(Trait::kUnreachableErrors)) {
    EXPECT_EQ(Take(initiator_, 6).error, ErrorCode::kUnreachable);
  }
  PumpQuietly();
  for (const Completion& completion : initiator_.completions) EXPECT_FALSE(completion.ok());
}

// On EFA the NIC answers only initiators for which the target has an address handle, which one
// removal gives back however often the initiator was inserted.
TEST_F(PeerContract, TargetMustKnowTheInitiatorWhereTold) {
  fabric::WriteRequest request = WriteOf(0, 8, {}, Context{7});
  request.peer = OpenThird();
  request.target = third_.Remote(0);
  EXPECT_THAT(third_.peers->Insert(initiator_.endpoint->address()), IsOk());
  EXPECT_THAT(third_.peers->Remove(third_.peer), IsOk());
  Fill(Bytes(initiator_, 0, 8), 3);
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Write(request); }), ErrorCode::kOk);
  const Completion done = Take(initiator_, 7);
  const bool needed = Has(Capability::kMutualInsertion);
  EXPECT_EQ(done.error, needed ? ErrorCode::kUnknownPeer : ErrorCode::kOk);
  if (needed) {
    PumpQuietly();
    EXPECT_TRUE(Untouched(third_.memory));
  } else {
    EXPECT_TRUE(PumpUntil([&] { return Holds(Bytes(third_, 0, 8), 3); }));
  }
}

}  // namespace
}  // namespace drydock::contract
