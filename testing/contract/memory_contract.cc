// Memory protection: the target's registrations decide which bytes an initiator may reach.
//
// Where an initiator is not told (no kRemoteErrors), the protection is the same: no byte moves, no
// immediate appears.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Access;
using fabric::ErrorCode;
using fabric::RemoteBuffer;

class MemoryContract : public ContractTest {
 protected:
  static constexpr std::uint64_t kRefused = 1000;

  // Writes to where the target must refuse it. A range that wraps around the end of the address
  // space may be refused when it is posted: where a region begins at 0, those before it do.
  void ExpectWriteRefused(RemoteBuffer to, std::size_t length) {
    Fill(Bytes(initiator_, 0, length), 9);
    const ErrorCode posted = Write(0, length, to, kRefused, 5);
    if (posted != ErrorCode::kOk) {
      EXPECT_EQ(posted, ErrorCode::kRemoteAccess);
    } else if (Has(Trait::kRemoteErrors)) {
      EXPECT_EQ(Take(initiator_, kRefused).error, ErrorCode::kRemoteAccess);
    }
    PumpQuietly();
    EXPECT_TRUE(target_.completions.empty());
    EXPECT_TRUE(Untouched(target_.memory));
    initiator_.completions.clear();
  }

  // `region` as peers name it, moved by `bytes`, which may be negative or wrap around.
  static RemoteBuffer Moved(const fabric::MemoryRegion& region, std::uint64_t bytes) {
    RemoteBuffer moved = region.remote();
    moved.address += bytes;
    return moved;
  }
};

TEST_F(MemoryContract, KeyThatWasNeverGivenIsRefused) {
  RemoteBuffer guess = target_.Remote(0);
  guess.key ^= 0x155;
  ExpectWriteRefused(guess, 100);
}

TEST_F(MemoryContract, RangePastTheEndIsRefused) {
  auto region = Register(target_, 1000, 5000, Access::kAll);
  ExpectWriteRefused(Moved(*region, 5000), 1);
  ExpectWriteRefused(Moved(*region, 4999), 2);
}

TEST_F(MemoryContract, RangeBeforeTheStartIsRefused) {
  auto region = Register(target_, 1000, 5000, Access::kAll);
  ExpectWriteRefused(Moved(*region, std::uint64_t{0} - 1), 1);
  ExpectWriteRefused(Moved(*region, std::uint64_t{0} - 10), 20);
}

TEST_F(MemoryContract, FarAwayRangeIsRefused) {
  RemoteBuffer far = target_.Remote(0);
  far.address += std::uint64_t{1} << 40;
  ExpectWriteRefused(far, 100);
}

// Address plus length is small again: no check may be fooled by that.
TEST_F(MemoryContract, RangeThatWrapsAroundIsRefused) {
  RemoteBuffer far = target_.Remote(0);
  far.address = std::numeric_limits<std::uint64_t>::max() - 10;
  ExpectWriteRefused(far, 100);
}

// Of a long write whose end is outside, a beginning may land; nothing outside of the region may.
TEST_F(MemoryContract, LongWritePastTheEndStaysInside) {
  auto region = Register(target_, 100000, 100000, Access::kAll);
  Fill(Bytes(initiator_, 0, 200000), 9);
  ASSERT_EQ(Write(0, 200000, region->remote(), kRefused, 5), ErrorCode::kOk);
  if (Has(Trait::kRemoteErrors)) {
    EXPECT_EQ(Take(initiator_, kRefused).error, ErrorCode::kRemoteAccess);
  }
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(Untouched(Bytes(target_, 0, 100000)));
  EXPECT_TRUE(Untouched(Bytes(target_, 200000, kMemoryBytes - 200000)));
}

TEST_F(MemoryContract, WriteNeedsTheRightToWrite) {
  auto region = Register(target_, 0, 5000, Access::kLocal | Access::kRemoteRead);
  ExpectWriteRefused(region->remote(), 100);
}

TEST_F(MemoryContract, ClosedRegionIsRefused) {
  auto region = Register(target_, 0, 5000, Access::kAll);
  const RemoteBuffer gone = region->remote();
  EXPECT_THAT(region->Close(), testing_matchers::IsOk());
  ExpectWriteRefused(gone, 100);
}

// A peer that kept the key of an earlier registration must not reach the later one.
TEST_F(MemoryContract, OldKeyDoesNotOpenANewRegion) {
  for (int round = 0; round < 5; ++round) {
    auto region = Register(target_, 0, 5000, Access::kAll);
    const RemoteBuffer old = region->remote();
    region->Close().IgnoreError();
    region = Register(target_, 0, 5000, Access::kAll);
    EXPECT_NE(region->remote().key, old.key);
    ExpectWriteRefused(old, 100);
  }
}

TEST_F(MemoryContract, OneMemoryCanHaveTwoSetsOfRights) {
  auto writable = Register(target_, 0, 5000, Access::kRemoteWrite);
  auto readable = Register(target_, 0, 5000, Access::kRemoteRead);
  ExpectWriteRefused(readable->remote(), 100);
  ASSERT_EQ(Write(0, 100, writable->remote(), 1, 1), ErrorCode::kOk);
  EXPECT_TRUE(TakeRemoteWrite(target_).ok());
  ASSERT_EQ(Read(200, 100, readable->remote(), 2), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 2).ok());
  EXPECT_TRUE(Holds(Bytes(initiator_, 200, 100), 9));
}

// Closing one of two registrations of the same memory leaves the other alone.
TEST_F(MemoryContract, OtherRegistrationsOutliveAClosedOne) {
  auto first = Register(target_, 0, 5000, Access::kAll);
  auto second = Register(target_, 0, 5000, Access::kAll);
  EXPECT_NE(first->remote().key, second->remote().key);
  first.reset();
  Fill(Bytes(initiator_, 0, 5000), 2);
  ASSERT_EQ(Write(0, 5000, second->remote(), 1, 1), ErrorCode::kOk);
  EXPECT_TRUE(TakeRemoteWrite(target_).ok());
  EXPECT_TRUE(Holds(Bytes(target_, 0, 5000), 2));
}

// The key says which region, also where regions touch.
TEST_F(MemoryContract, KeyOpensNoNeighbouringRegion) {
  auto left = Register(target_, 0, 4096, Access::kAll);
  auto right = Register(target_, 4096, 4096, Access::kAll);
  ExpectWriteRefused(Moved(*left, 4096), 100);
  ExpectWriteRefused(Moved(*left, 4090), 12);
  ExpectWriteRefused(Moved(*right, std::uint64_t{0} - 6), 12);
}

// Keys of two domains have nothing to do with each other, on one NIC as elsewhere.
TEST_F(MemoryContract, KeyOfAnotherDomainOpensNothingThere) {
  OpenThird();
  Fill(Bytes(initiator_, 0, 100), 9);
  ASSERT_EQ(Write(0, 100, third_.Remote(5000), kRefused, 5), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(Untouched(third_.memory));
  EXPECT_TRUE(third_.completions.empty());
}

// Elsewhere a refusal may end the connection, and with it other requests under way: there it is
// enough that a later write works, as below.
const Needs kIsolation("MemoryContract.RefusedWriteLeavesItsNeighboursAlone",
                       {Trait::kFailureIsolation});
TEST_F(MemoryContract, RefusedWriteLeavesItsNeighboursAlone) {
  RemoteBuffer guess = target_.Remote(0);
  guess.key ^= 0x155;
  Fill(Bytes(initiator_, 0, 50000), 9);
  for (std::uint64_t i = 0; i < 30; ++i) {
    const RemoteBuffer to = i % 3 == 1 ? guess : target_.Remote(0);
    ASSERT_EQ(Write(0, 50000, to, i, 1), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(Take(initiator_, i).ok(), i % 3 != 1) << i;
    if (i % 3 != 1) {
      EXPECT_TRUE(TakeRemoteWrite(target_).ok());
    }
  }
}

TEST_F(MemoryContract, GoodWriteWorksAfterARefusedOne) {
  RemoteBuffer guess = target_.Remote(0);
  guess.key ^= 0x155;
  ExpectWriteRefused(guess, 100);
  ASSERT_EQ(Write(0, 100, target_.Remote(0), 1, 1), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 1u);
  EXPECT_TRUE(Holds(Bytes(target_, 0, 100), 9));
}

}  // namespace
}  // namespace drydock::contract
