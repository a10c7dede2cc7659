// Opening and closing, in order and out of order.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

class LifetimeContract : public ContractTest {
 protected:
  static auto IsRefused() { return StatusIs(absl::StatusCode::kFailedPrecondition); }

  void ExpectWritesWork(std::uint64_t context) {
    ASSERT_EQ(Write(0, 8, target_.Remote(0), context, 4), ErrorCode::kOk);
    EXPECT_EQ(TakeRemoteWrite(target_).immediate, 4u);
    EXPECT_TRUE(Take(initiator_, context).ok());
  }
};

TEST_F(LifetimeContract, EverythingClosesInOrder) {
  OpenThird();
  EXPECT_THAT(third_.endpoint->Close(), IsOk());
  EXPECT_THAT(third_.region->Close(), IsOk());
  EXPECT_THAT(third_.peers->Close(), IsOk());
  EXPECT_THAT(third_.queue->Close(), IsOk());
  EXPECT_THAT(third_.domain->Close(), IsOk());
}

TEST_F(LifetimeContract, ClosingTwiceIsHarmless) {
  OpenThird();
  for (int i = 0; i < 2; ++i) EXPECT_THAT(third_.endpoint->Close(), IsOk());
  for (int i = 0; i < 2; ++i) EXPECT_THAT(third_.region->Close(), IsOk());
  for (int i = 0; i < 2; ++i) EXPECT_THAT(third_.peers->Close(), IsOk());
  for (int i = 0; i < 2; ++i) EXPECT_THAT(third_.queue->Close(), IsOk());
  for (int i = 0; i < 2; ++i) EXPECT_THAT(third_.domain->Close(), IsOk());
}

TEST_F(LifetimeContract, QueueInUseIsBusy) {
  OpenThird();
  EXPECT_THAT(third_.queue->Close(), IsRefused());
  EXPECT_THAT(third_.endpoint->Close(), IsOk());
  EXPECT_THAT(third_.queue->Close(), IsOk());
}

TEST_F(LifetimeContract, AddressVectorInUseIsBusy) {
  OpenThird();
  EXPECT_THAT(third_.peers->Close(), IsRefused());
  third_.endpoint.reset();  // the same as Close
  EXPECT_THAT(third_.peers->Close(), IsOk());
}

// Any one thing that is open keeps its domain busy.
TEST_F(LifetimeContract, DomainInUseIsBusy) {
  OpenThird();
  EXPECT_THAT(third_.domain->Close(), IsRefused());
  third_.endpoint.reset();
  EXPECT_THAT(third_.domain->Close(), IsRefused());
  third_.peers.reset();
  third_.queue.reset();
  EXPECT_THAT(third_.domain->Close(), IsRefused());  // the region
  third_.region.reset();
  third_.peers = third_.domain->OpenAddressVector().value();
  EXPECT_THAT(third_.domain->Close(), IsRefused());
  third_.peers.reset();
  third_.queue = third_.domain->OpenCompletionQueue({}).value();
  EXPECT_THAT(third_.domain->Close(), IsRefused());
  third_.queue.reset();
  EXPECT_THAT(third_.domain->Close(), IsOk());
}

TEST_F(LifetimeContract, RefusedCloseChangesNothing) {
  for (Side* side : {&initiator_, &target_}) {
    EXPECT_THAT(side->queue->Close(), IsRefused());
    EXPECT_THAT(side->peers->Close(), IsRefused());
    EXPECT_THAT(side->domain->Close(), IsRefused());
  }
  ExpectWritesWork(1);
  EXPECT_TRUE(target_.domain->OpenAddressVector().ok());
}

// All 120 orders: each handle keeps alive what it needs.
TEST_F(LifetimeContract, HandlesMayGoInAnyOrder) {
  std::array<int, 5> order = {0, 1, 2, 3, 4};
  do {
    Side side(backend_->memory());
    Open(backend_->target(), side);
    for (const int handle : order) {
      if (handle == 0) side.domain.reset();
      if (handle == 1) side.queue.reset();
      if (handle == 2) side.peers.reset();
      if (handle == 3) side.region.reset();
      if (handle == 4) side.endpoint.reset();
    }
  } while (std::next_permutation(order.begin(), order.end()));
  ExpectWritesWork(1);
}

// A domain's handle is needed for opening only; a program that has keys and peers needs no handle
// of their region and vector.
TEST_F(LifetimeContract, EndpointOutlivesOtherHandles) {
  initiator_.domain.reset();
  target_.domain.reset();
  fabric::WriteRequest request = WriteOf(0, 8, target_.Remote(0), Context{1});
  initiator_.peers.reset();
  target_.peers.reset();
  Fill(Bytes(initiator_, 0, 8), 5);
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Write(request); }), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_TRUE(PumpUntil([&] { return Holds(Bytes(target_, 0, 8), 5); }));
}

TEST_F(LifetimeContract, RegionOutlivesItsDomainsHandle) {
  OpenThird();
  Close(third_);
  Open(backend_->target(), third_);
  third_.endpoint.reset();
  third_.queue.reset();
  third_.peers.reset();
  third_.domain.reset();
  EXPECT_EQ(third_.region->length_bytes(), kMemoryBytes);
  EXPECT_THAT(third_.region->Close(), IsOk());
}

TEST_F(LifetimeContract, ClosedDomainOpensNothing) {
  ASSERT_OK_AND_ASSIGN(auto domain, backend_->target().OpenDomain(0));
  ASSERT_THAT(domain->Close(), IsOk());
  EXPECT_THAT(domain->OpenCompletionQueue({}), IsRefused());
  EXPECT_THAT(domain->OpenAddressVector(), IsRefused());
  EXPECT_THAT(domain->OpenEndpoint({}), IsRefused());
  EXPECT_THAT(domain->RegisterMemory({.data = target_.memory.data(), .length_bytes = 100}),
              IsRefused());
}

TEST_F(LifetimeContract, ClosedEndpointPostsNothing) {
  EXPECT_THAT(initiator_.endpoint->Close(), IsOk());
  const fabric::RecvRequest receive{.buffer = initiator_.Local(0, 8), .context = Context{4}};
  EXPECT_EQ(initiator_.endpoint->Send(SendOf(0, 8, Context{1})), ErrorCode::kClosed);
  EXPECT_EQ(initiator_.endpoint->Write(WriteOf(0, 8, target_.Remote(0), Context{2})),
            ErrorCode::kClosed);
  EXPECT_EQ(initiator_.endpoint->Read(ReadOf(0, 8, target_.Remote(0), Context{3})),
            ErrorCode::kClosed);
  EXPECT_EQ(initiator_.endpoint->Recv(receive), ErrorCode::kClosed);
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(LifetimeContract, ClosedQueueReadsNothing) {
  ASSERT_OK_AND_ASSIGN(auto queue, target_.domain->OpenCompletionQueue({}));
  ASSERT_THAT(queue->Close(), IsOk());
  std::array<Completion, 4> entries;
  const fabric::ReadResult result = queue->Read(entries);
  EXPECT_EQ(result.count, 0u);
  EXPECT_EQ(result.error, ErrorCode::kClosed);
}

TEST_F(LifetimeContract, ClosedAddressVectorKnowsNothing) {
  ASSERT_OK_AND_ASSIGN(auto vector, target_.domain->OpenAddressVector());
  ASSERT_OK_AND_ASSIGN(const fabric::Peer peer, vector->Insert(target_.endpoint->address()));
  ASSERT_THAT(vector->Close(), IsOk());
  EXPECT_THAT(vector->Insert(target_.endpoint->address()).status(), IsRefused());
  EXPECT_THAT(vector->Lookup(peer).status(), IsRefused());
  EXPECT_THAT(vector->Remove(peer), IsRefused());
}

}  // namespace
}  // namespace drydock::contract
