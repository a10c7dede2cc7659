// Keys, bounds and rights, at both ends.

#include "drydock/sim/device/rights.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using fabric::Access;
using fabric::OperationKind;
using sim::EfaStatus;
using sim::Operation;
using sim::ReceiveWork;
using Lines = std::vector<std::string>;

struct RightsTest : testing::Test {
  Operation& Start(OperationKind kind = OperationKind::kWrite) {
    return bench.Start(kind, from, to, 100);
  }
  bool Local(const Operation& operation, std::uint64_t offset, std::uint64_t length) {
    return sim::LocalIsValid(bench.around, operation, {offset, length});
  }
  bool Remote(const Operation& operation, std::uint64_t offset, std::uint64_t length) {
    return sim::RemoteIsValid(bench.around, b.state, to, operation, {offset, length});
  }
  bool Receive(const ReceiveWork& receive) {
    return sim::ReceiveIsValid(bench.around, b.state, to, receive);
  }

  Bench bench;
  BenchNic& a = bench.AddNic();
  BenchNic& b = bench.AddNic();
  sim::QueuePair& from = a.OpenQueuePair();
  sim::QueuePair& to = b.OpenQueuePair();
};

TEST_F(RightsTest, EachKindNeedsItsOwnRight) {
  EXPECT_EQ(sim::LocalRight(OperationKind::kSend), Access::kSend);
  EXPECT_EQ(sim::LocalRight(OperationKind::kWrite), Access::kWrite);
  EXPECT_EQ(sim::LocalRight(OperationKind::kRead), Access::kRead);
  EXPECT_EQ(sim::RemoteRight(OperationKind::kWrite), Access::kRemoteWrite);
  EXPECT_EQ(sim::RemoteRight(OperationKind::kRead), Access::kRemoteRead);
}

TEST_F(RightsTest, OneLocalSegmentMustLieInItsRegionForTheRangeInQuestion) {
  BenchMemory& memory = a.Register(100);
  Operation& operation = Start();
  operation.segments[0] = memory.At(40, 100);  // its end is outside
  EXPECT_TRUE(Local(operation, 0, 60));
  EXPECT_TRUE(bench.told.Take().empty());
  EXPECT_FALSE(Local(operation, 0, 61));
  EXPECT_FALSE(Local(operation, 60, 1));
  EXPECT_EQ(bench.told.Count(absl::StrCat("key ", memory.keys.local, " of a refused")), 2u);
}

TEST_F(RightsTest, LocalMemoryNeedsARightOnlyToBeWritten) {
  BenchMemory& source = a.Register(100, Access::kRemoteRead);
  BenchMemory& target = a.Register(100, Access::kRemoteWrite);
  for (const OperationKind kind :
       {OperationKind::kSend, OperationKind::kWrite, OperationKind::kRead}) {
    Operation& operation = Start(kind);
    operation.segments[0] = source.At(0, 100);
    EXPECT_EQ(Local(operation, 0, 100), kind != OperationKind::kRead);
    operation.segments[0] = target.At(0, 100);
    EXPECT_TRUE(Local(operation, 0, 100));
  }
}

TEST_F(RightsTest, LocalKeyOfAnotherDomainSaysNothing) {
  Operation& operation = Start();
  EXPECT_TRUE(Local(operation, 0, 100));
  operation.domain = kDomain + 1;
  EXPECT_FALSE(Local(operation, 0, 100));
}

TEST_F(RightsTest, WhatWasValidAtTheFetchIsLookedAtAgainOnceSomethingWasWithdrawn) {
  BenchMemory& other = a.Register(100);
  BenchMemory& named = a.Register(100);
  Operation& operation = Start();
  operation.segments[0] = named.At(0, 100);
  const auto still = [&] { return sim::LocalIsStillValid(bench.around, operation, {0, 100}); };
  operation.withdrawals = a.state.memory.withdrawals();
  EXPECT_TRUE(still());
  a.state.memory.Deregister(other.keys.remote);
  EXPECT_TRUE(still());
  a.state.memory.Revoke(named.keys.remote);
  EXPECT_FALSE(still());
  Operation& unseen = Start();
  unseen.segments[0] = named.At(0, 100);
  EXPECT_FALSE(sim::LocalIsStillValid(bench.around, unseen, {0, 100}));  // it was never looked at
}

TEST_F(RightsTest, RevokedMemoryIsNoLongerStillValid) {
  BenchMemory& memory = a.Register(100);
  Operation& operation = Start();
  operation.segments[0] = memory.At(0, 100);
  operation.withdrawals = a.state.memory.withdrawals();
  a.state.memory.Revoke(memory.keys.remote);
  EXPECT_FALSE(sim::LocalIsStillValid(bench.around, operation, {0, 100}));
}

TEST_F(RightsTest, OfTwoSegmentsThoseAreLookedAtThatHoldTheRange) {
  Operation& operation = Start(OperationKind::kSend);
  operation.segment_count = 2;
  operation.segments[0] = a.memory.At(0, 50);
  operation.segments[1] = a.memory.At(100, 50);
  EXPECT_TRUE(Local(operation, 0, 100));
  operation.segments[1].lkey ^= 1;
  EXPECT_TRUE(Local(operation, 0, 50));
  EXPECT_TRUE(bench.told.Take().empty());
  EXPECT_FALSE(Local(operation, 0, 51));
  EXPECT_FALSE(Local(operation, 60, 10));
  operation.segments[1].lkey ^= 1;
  operation.segments[0].lkey ^= 1;
  EXPECT_FALSE(Local(operation, 0, 100));
  EXPECT_TRUE(Local(operation, 50, 50));
}

TEST_F(RightsTest, KeyThatIsRefusedIsToldWhicheverSegmentHasIt) {
  for (const std::size_t wrong : {0, 1}) {
    Operation& operation = Start(OperationKind::kSend);
    operation.segment_count = 2;
    operation.segments[0] = a.memory.At(0, 50);
    operation.segments[1] = a.memory.At(50, 50);
    operation.segments[wrong].lkey = 77;
    EXPECT_FALSE(Local(operation, 0, 100));
    EXPECT_EQ(bench.told.Take(), Lines{"key 77 of a refused"});  // and of the other one nothing
  }
}

TEST_F(RightsTest, NoKeyIsNeededForInlineBytesForNoneAndForAnotherProcess) {
  Operation& operation = Start();
  operation.segments[0].lkey ^= 1;
  EXPECT_FALSE(Local(operation, 0, 100));
  operation.is_inline = true;
  EXPECT_TRUE(Local(operation, 0, 100));
  operation.is_inline = false;
  operation.length = 0;
  EXPECT_TRUE(Local(operation, 0, 0));
  operation.length = 100;
  a.state.elsewhere = true;
  EXPECT_TRUE(Local(operation, 0, 100));
}

TEST_F(RightsTest, RemoteRangeMustLieInTheTargetsRegion) {
  BenchMemory& memory = b.Register(100);
  Operation& operation = Start();
  operation.remote_key = memory.keys.remote;
  operation.remote_address = memory.address() + 40;
  EXPECT_TRUE(Remote(operation, 0, 60));
  EXPECT_TRUE(bench.told.Take().empty());
  EXPECT_FALSE(Remote(operation, 50, 11));
  EXPECT_EQ(bench.told.Take(),
            Lines{absl::StrCat("remote key ", memory.keys.remote, " of a refused")});
}

TEST_F(RightsTest, RemoteMemoryNeedsTheRightOfTheKind) {
  BenchMemory& readable = b.Register(100, Access::kRemoteRead);
  BenchMemory& writable = b.Register(100, Access::kRemoteWrite);
  for (const OperationKind kind : {OperationKind::kWrite, OperationKind::kRead}) {
    Operation& operation = Start(kind);
    operation.remote_key = readable.keys.remote;
    operation.remote_address = readable.address();
    EXPECT_EQ(Remote(operation, 0, 100), kind == OperationKind::kRead);
    operation.remote_key = writable.keys.remote;
    operation.remote_address = writable.address();
    EXPECT_EQ(Remote(operation, 0, 100), kind == OperationKind::kWrite);
  }
}

TEST_F(RightsTest, ReadSourceNeedsTheQueuePairAndTheKey) {
  Operation& operation = Start(OperationKind::kRead);
  const auto check = [&] { return sim::CheckReadSource(bench.around, operation, {0, 100}); };
  EXPECT_EQ(check(), EfaStatus::kOk);
  b.state.memory.Revoke(b.memory.keys.remote);
  EXPECT_EQ(check(), EfaStatus::kRemoteBadAddress);
  to.state = sim::QueuePairState::kError;  // it sends nothing any more
  EXPECT_EQ(check(), EfaStatus::kRemoteBadQueuePair);
  to.state = sim::QueuePairState::kReadyToSend;
  ++operation.target_serial;
  EXPECT_EQ(check(), EfaStatus::kRemoteBadQueuePair);
  b.state.elsewhere = true;  // looked at before the data left
  EXPECT_EQ(check(), EfaStatus::kOk);
}

TEST_F(RightsTest, ReceiveNeedsTheRightForEveryByteOfEverySegment) {
  BenchMemory& silent = b.Register(100, Access::kSend);
  ReceiveWork receive;
  receive.segment_count = 2;
  receive.segments[0] = b.memory.At(0, 100);
  receive.segments[1] = b.memory.At(200, 100);
  EXPECT_TRUE(Receive(receive));
  EXPECT_TRUE(bench.told.Take().empty());
  receive.segments[1] = silent.At(0, 100);
  EXPECT_FALSE(Receive(receive));
  EXPECT_EQ(bench.told.Take(), Lines{absl::StrCat("key ", silent.keys.local, " of b refused")});
  receive.segments[1] = b.memory.At(BenchNic::kMemoryBytes - 99, 100);
  EXPECT_FALSE(Receive(receive));
}

TEST_F(RightsTest, KeyOfAnEmptyReceiveSegmentIsNotLookedAt) {
  ReceiveWork receive;
  receive.segment_count = 1;
  receive.segments[0] = {0, 0, 12345};
  EXPECT_TRUE(Receive(receive));
  receive.segments[0].length = 1;
  EXPECT_FALSE(Receive(receive));
}

TEST_F(RightsTest, MalformedReceiveIsRefusedWithoutAKey) {
  ReceiveWork receive;
  receive.malformed = true;
  EXPECT_FALSE(Receive(receive));
  EXPECT_TRUE(bench.told.Take().empty());
}

}  // namespace
}  // namespace drydock::sim_testing
