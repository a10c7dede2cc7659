// Closing things while requests that use them are in flight.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Access;
using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using testing_matchers::IsOk;

class ClosingContract : public ContractTest {};

// After Close the memory is the program's again, for anything.
TEST_F(ClosingContract, NothingLandsInAClosedEndpoint) {
  Connect();
  Fill(target_.memory, 9);
  ASSERT_EQ(Read(0, 500000, target_.Remote(0), 1), ErrorCode::kOk);
  EXPECT_THAT(initiator_.endpoint->Close(), IsOk());
  Fill(Bytes(initiator_, 0, 500000), 50);
  PumpQuietly();
  EXPECT_TRUE(Holds(Bytes(initiator_, 0, 500000), 50));
}

TEST_F(ClosingContract, PostedReceivesEndWithTheirEndpoint) {
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_EQ(Recv(i * 8, 8, i), ErrorCode::kOk);
  EXPECT_THAT(target_.endpoint->Close(), IsOk());
  PumpQuietly();
  for (const Completion& completion : target_.completions) {
    EXPECT_EQ(completion.error, ErrorCode::kCanceled);
  }
  EXPECT_THAT(target_.queue->Close(), IsOk());
}

// A long message is fetched by its target, or sent in pieces: both stop.
const Needs kLong("ClosingContract.LongMessageMayBeUnderWay",
                  {Trait::kCloseInFlight, Capability::kLongMessages});
TEST_F(ClosingContract, LongMessageMayBeUnderWay) {
  Connect();
  Fill(Bytes(initiator_, 0, 500000), 9);
  ASSERT_EQ(Recv(0, 500000, 2), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 500000, 1), ErrorCode::kOk);
  EXPECT_THAT(initiator_.endpoint->Close(), IsOk());
  PumpQuietly();
  EXPECT_TRUE(Untouched(Bytes(target_, 500000, kMemoryBytes - 500000)));
  for (const Completion& completion : target_.completions) {
    EXPECT_TRUE(!completion.ok() || Holds(Bytes(target_, 0, 500000), 9));
  }
}

// Each request in flight ends once or silently, and never as something that it was not.
TEST_F(ClosingContract, NoRequestEndsTwice) {
  Connect();
  for (std::uint64_t i = 0; i < 30; ++i) {
    ASSERT_EQ(Write(0, 10000, target_.Remote(0), i), ErrorCode::kOk);
  }
  EXPECT_THAT(initiator_.endpoint->Close(), IsOk());
  PumpQuietly();
  std::map<std::uint64_t, int> ends;
  for (const Completion& completion : initiator_.completions) {
    EXPECT_TRUE(completion.ok() || completion.error == ErrorCode::kCanceled);
    ASSERT_TRUE(completion.context.has_value());
    EXPECT_EQ(++ends[static_cast<std::uint64_t>(*completion.context)], 1);
  }
  EXPECT_TRUE(ends.empty() || ends.rbegin()->first < 30);
}

// Where a write that has begun is written to its end, it still ends within its region, and its
// bytes are those that were sent.
TEST_F(ClosingContract, NothingLandsInAClosedRegionWherePromised) {
  constexpr std::size_t kLength = kMemoryBytes / 2;
  auto region = Register(target_, 0, kLength, Access::kRemoteWrite);
  Connect();
  Fill(initiator_.memory, 9);
  ASSERT_EQ(Write(0, kLength, region->remote(), 1, 1), ErrorCode::kOk);
  EXPECT_TRUE(PumpUntil([&] { return !Untouched(target_.memory); }));
  EXPECT_THAT(region->Close(), IsOk());
  const std::vector<std::byte> then(target_.memory.begin(), target_.memory.end());
  if (!Has(Trait::kRevocation)) {
    EXPECT_TRUE(PumpUntil([&] { return Holds(Bytes(target_, 0, kLength), 9); }));
  }
  PumpQuietly();
  if (Has(Trait::kRevocation)) {
    EXPECT_TRUE(std::ranges::equal(then, target_.memory));
  }
  EXPECT_TRUE(Untouched(Bytes(target_, kLength, kLength)));
  for (const Completion& done : initiator_.completions) {
    EXPECT_TRUE(done.ok() || done.error == ErrorCode::kRemoteAccess);
  }
}

TEST_F(ClosingContract, SourceRegionMayCloseInFlight) {
  auto region = Register(initiator_, 0, kMemoryBytes, Access::kWrite);
  Connect();
  fabric::WriteRequest request = WriteOf(0, kMemoryBytes, target_.Remote(0), Context{1});
  request.source = region->Local();
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Write(request); }), ErrorCode::kOk);
  EXPECT_THAT(region->Close(), IsOk());
  const Completion done = Take(initiator_, 1);
  EXPECT_TRUE(done.ok() || done.error == ErrorCode::kLocalAccess);
}

// Elsewhere a request to a closed endpoint waits for it, maybe for ever: there it is enough that
// our own is closed.
TEST_F(ClosingContract, ClosedPeerIsNoticedWherePromised) {
  if (Has(Trait::kClosedPeerErrors)) {
    EXPECT_THAT(target_.endpoint->Close(), IsOk());
    ASSERT_EQ(Send(0, 8, 1), ErrorCode::kOk);
    ASSERT_EQ(Write(0, 8, target_.Remote(0), 2, 2), ErrorCode::kOk);
    ASSERT_EQ(Read(0, 8, target_.Remote(0), 3), ErrorCode::kOk);
    for (std::uint64_t i = 1; i <= 3; ++i) {
      EXPECT_EQ(Take(initiator_, i).error, ErrorCode::kBadDestination);
    }
    EXPECT_TRUE(Untouched(target_.memory));
  } else {
    EXPECT_THAT(initiator_.endpoint->Close(), IsOk());
    EXPECT_EQ(Send(0, 8, 1), ErrorCode::kClosed);
  }
}

// A queue's next endpoint gets no completions of the requests of the one before.
TEST_F(ClosingContract, NextEndpointOnAQueueStartsClean) {
  Connect();
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(Write(0, 10000, target_.Remote(0), i), ErrorCode::kOk);
  }
  initiator_.completions.clear();  // a post that had to wait has read some
  initiator_.endpoint.reset();
  initiator_.endpoint = OpenAnother(initiator_);
  ASSERT_TRUE(target_.peers->Insert(initiator_.endpoint->address()).ok());
  for (std::uint64_t i = 100; i < 110; ++i) {
    ASSERT_EQ(Write(0, 10, target_.Remote(0), i), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, i).ok());
  }
  for (const Completion& late : initiator_.completions) {
    EXPECT_EQ(late.error, ErrorCode::kCanceled);
  }
}

}  // namespace
}  // namespace drydock::contract
