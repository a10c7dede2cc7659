// Keys, rights and limits of one NIC's memory table.

#include "drydock/sim/memory/memory_table.h"

#include <cstdint>
#include <set>
#include <vector>

#include "drydock/sim/profile/profile.h"
#include "drydock/sim/random.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using fabric::Access;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_matchers::StatusIs;

constexpr ProtectionDomain kDomain = 3;

class MemoryTableTest : public ::testing::Test {
 protected:
  static RandomStream Keys() { return {1, Subsystem::kKeys, 0, 0}; }
  static std::byte* At(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }
  MemoryTable::Keys Register(std::uint64_t address, std::size_t length,
                             Access access = Access::kAll) {
    return table_.Register(kDomain, At(address), length, access).value();
  }
  bool Local(const MemoryTable::Keys& keys, std::uint64_t address, std::uint64_t length,
             Access wanted = Access::kSend) const {
    return table_.AllowsLocal(kDomain, keys.local, address, length, wanted);
  }
  bool Remote(const MemoryTable::Keys& keys, std::uint64_t address, std::uint64_t length,
              Access wanted = Access::kRemoteWrite) const {
    return table_.AllowsRemote(kDomain, keys.remote, address, length, wanted);
  }

  DeviceAttributes device_;
  MemoryTable table_{device_, Keys()};
};

TEST_F(MemoryTableTest, RangeHasToLieWithinTheRegion) {
  const MemoryTable::Keys keys = Register(10000, 100);
  for (const auto& [address, length, allowed] :
       std::vector<std::tuple<std::uint64_t, std::uint64_t, bool>>{
           {10000, 100, true},
           {10000, 101, false},
           {9999, 1, false},
           {9999, 101, false},
           {10099, 1, true},
           {10099, 2, false},
           {10100, 0, true},   // nothing, at the end
           {10101, 0, false},  // nothing, outside
           {0, 0, false},
           {UINT64_MAX, 1, false},
           {UINT64_MAX - 50, 100, false},    // wraps around
           {10050, UINT64_MAX, false},       // wraps around
           {10050, UINT64_MAX - 49, false},  // wraps around to the beginning
       }) {
    EXPECT_EQ(Local(keys, address, length), allowed) << address << " + " << length;
    EXPECT_EQ(Remote(keys, address, length), allowed) << address << " + " << length;
  }
}

TEST_F(MemoryTableTest, RegionMayBeAnywhere) {
  const MemoryTable::Keys low = Register(0, 10);
  EXPECT_TRUE(Local(low, 0, 10));
  const MemoryTable::Keys high = Register(UINT64_MAX - 10, 10);
  EXPECT_TRUE(Local(high, UINT64_MAX - 10, 10));
  EXPECT_FALSE(Local(high, UINT64_MAX - 10, 11));
  EXPECT_THAT(table_.Register(kDomain, At(UINT64_MAX - 10), 11, Access::kAll),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("11 bytes")));
}

constexpr Access kRights[] = {Access::kSend, Access::kReceive,     Access::kWrite,
                              Access::kRead, Access::kRemoteWrite, Access::kRemoteRead};

TEST_F(MemoryTableTest, PeersRightsAreTheirOwn) {
  for (const Access granted : kRights) {
    const MemoryTable::Keys keys = Register(4096, 64, granted);
    for (const Access wanted : {Access::kRemoteWrite, Access::kRemoteRead}) {
      EXPECT_EQ(Remote(keys, 4096, 64, wanted), granted == wanted);
    }
  }
}

TEST_F(MemoryTableTest, AnythingMayBeASource) {
  for (const Access granted : kRights) {
    const MemoryTable::Keys keys = Register(4096, 64, granted);
    EXPECT_TRUE(Local(keys, 4096, 64, Access::kSend));
    EXPECT_TRUE(Local(keys, 4096, 64, Access::kWrite));
  }
}

TEST_F(MemoryTableTest, WhateverIsWrittenHasTheOneRightToBeWritten) {
  for (const Access granted : kRights) {
    const MemoryTable::Keys keys = Register(4096, 64, granted);
    const bool written =
        granted == Access::kReceive || granted == Access::kRead || granted == Access::kRemoteWrite;
    EXPECT_EQ(Local(keys, 4096, 64, Access::kReceive), written);
    EXPECT_EQ(Local(keys, 4096, 64, Access::kRead), written);
  }
}

TEST_F(MemoryTableTest, DomainsAreApart) {
  const MemoryTable::Keys keys = Register(4096, 64);
  EXPECT_FALSE(table_.AllowsLocal(kDomain + 1, keys.local, 4096, 64, Access::kSend));
  EXPECT_FALSE(table_.AllowsRemote(kDomain + 1, keys.remote, 4096, 64, Access::kRemoteWrite));
  EXPECT_FALSE(table_.AllowsRemote(0, keys.remote, 4096, 64, Access::kRemoteWrite));
}

TEST_F(MemoryTableTest, KeysHaveTheWidthOfTheDevices) {
  for (int i = 0; i < 1000; ++i) {
    const MemoryTable::Keys keys = Register(4096, 64);
    EXPECT_LT(keys.local, 1u << 24);
    if (i % 3 == 0) table_.Deregister(keys.remote);
  }
}

TEST_F(MemoryTableTest, OnlyTheWholeKeyOpens) {
  const MemoryTable::Keys keys = Register(4096, 64);
  for (unsigned bit = 0; bit < 32; ++bit) {
    EXPECT_FALSE(table_.AllowsLocal(kDomain, keys.local ^ 1u << bit, 4096, 64, Access::kSend))
        << bit;
    EXPECT_FALSE(
        table_.AllowsRemote(kDomain, keys.remote ^ 1u << bit, 4096, 64, Access::kRemoteWrite))
        << bit;
  }
  EXPECT_FALSE(table_.AllowsLocal(kDomain, 0, 4096, 64, Access::kSend));
  EXPECT_FALSE(table_.AllowsRemote(kDomain, 0, 4096, 64, Access::kRemoteWrite));
}

TEST_F(MemoryTableTest, KeyOfAClosedRegionDoesNotOpenTheNextOne) {
  MemoryTable::Keys old = Register(4096, 64);
  std::set<std::uint32_t> seen = {old.remote};
  for (int i = 0; i < 60; ++i) {  // all generations of a local key but a few
    table_.Deregister(old.remote);
    EXPECT_FALSE(Local(old, 4096, 64));
    EXPECT_FALSE(Remote(old, 4096, 64));
    const MemoryTable::Keys next = Register(4096, 64);
    EXPECT_TRUE(Local(next, 4096, 64));
    EXPECT_TRUE(Remote(next, 4096, 64));
    EXPECT_FALSE(Local(old, 4096, 64));
    EXPECT_FALSE(Remote(old, 4096, 64));
    EXPECT_TRUE(seen.insert(next.remote).second);
    old = next;
  }
  EXPECT_EQ(table_.live(), 1u);
}

TEST_F(MemoryTableTest, RevokedRegionOpensNothingAndStaysThere) {
  const MemoryTable::Keys keys = Register(4096, 64);
  const MemoryTable::Keys other = Register(8192, 64);
  table_.Revoke(keys.remote);
  EXPECT_FALSE(Local(keys, 4096, 64));
  EXPECT_FALSE(Remote(keys, 4096, 64));
  EXPECT_TRUE(Remote(other, 8192, 64));
  EXPECT_EQ(table_.live(), 2u);
  table_.Deregister(keys.remote);  // its owner does not know
  EXPECT_EQ(table_.live(), 1u);
}

TEST_F(MemoryTableTest, RegionsAreIndependent) {
  std::vector<MemoryTable::Keys> keys;
  for (std::uint64_t i = 0; i < 100; ++i) keys.push_back(Register(4096 * (i + 1), 4096));
  for (std::uint64_t i = 0; i < 100; i += 2) table_.Deregister(keys[i].remote);
  EXPECT_EQ(table_.live(), 50u);
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Local(keys[i], 4096 * (i + 1), 4096), i % 2 == 1) << i;
    EXPECT_FALSE(Local(keys[i], 4096 * (i + 2), 1)) << i;
  }
}

TEST_F(MemoryTableTest, CountsPagesAndGivesThemBack) {
  device_.max_total_pages = 10;
  device_.max_remote_write_pages = 4;
  const MemoryTable::Keys five = Register(4096, 5 * 4096, Access::kLocal);
  EXPECT_THAT(table_.Register(kDomain, At(4096), 6 * 4096, Access::kLocal),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("6 pages are over the 5")));
  EXPECT_THAT(table_.Register(kDomain, At(4096), 5 * 4096, Access::kAll),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("5 pages are over the 4")));
  EXPECT_EQ(table_.live(), 1u);
  table_.Deregister(five.remote);
  // Two bytes on two pages.
  Register(4095, 2, Access::kLocal);
  EXPECT_THAT(table_.Register(kDomain, At(4096), 9 * 4096, Access::kLocal),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("9 pages are over the 8")));
  Register(4096, 8 * 4096, Access::kLocal);
}

TEST_F(MemoryTableTest, CountsPagesOfTheirOwnSize) {
  device_.max_total_pages = 10;
  device_.max_remote_write_pages = 4;
  constexpr std::uint64_t kHuge = 2 << 20;
  const auto huge = [&](std::uint64_t address, std::uint64_t length, Access access) {
    return table_.Register(kDomain, At(address), length, access, kHuge);
  };
  EXPECT_THAT(
      huge(kHuge, 4 * kHuge + 1, Access::kAll),
      StatusIs(absl::StatusCode::kResourceExhausted,
               AllOf(HasSubstr("5 pages are over the 4"), HasSubstr("each has 2097152 bytes"))));
  EXPECT_THAT(huge(kHuge + 1, 4 * kHuge, Access::kAll),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("5 pages")));
  const MemoryTable::Keys four = huge(kHuge, 4 * kHuge, Access::kAll).value();
  EXPECT_THAT(table_.Register(kDomain, At(4096), 7 * 4096, Access::kLocal),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("7 pages are over the 6")));
  table_.Deregister(four.remote);  // gives back four, and not two thousand
  EXPECT_THAT(
      table_.Register(kDomain, At(4096), 11 * 4096, Access::kLocal),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("11 pages are over the 10")));
  EXPECT_TRUE(table_.Register(kDomain, At(4096), 10 * 4096, Access::kLocal).ok());
}

TEST_F(MemoryTableTest, HasSoManyKeys) {
  device_.max_mr = 3;
  std::vector<MemoryTable::Keys> keys;
  for (int i = 0; i < 3; ++i) keys.push_back(Register(4096, 64));
  EXPECT_THAT(table_.Register(kDomain, At(4096), 64, Access::kAll),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("3")));
  table_.Deregister(keys[1].remote);
  Register(4096, 64);
}

TEST_F(MemoryTableTest, SecondDeregistrationIsABug) {
  const MemoryTable::Keys keys = Register(4096, 64);
  table_.Deregister(keys.remote);
  EXPECT_DEATH(table_.Deregister(keys.remote), "deregistering memory twice");
}

TEST_F(MemoryTableTest, OtherStreamsGiveOtherKeys) {
  MemoryTable other(device_, RandomStream(1, Subsystem::kKeys, 1, 0));
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const MemoryTable::Keys ours = Register(4096, 64);
    const MemoryTable::Keys theirs = other.Register(kDomain, At(4096), 64, Access::kAll).value();
    same += ours.remote == theirs.remote ? 1 : 0;
    same += ours.local == ours.remote ? 1 : 0;
  }
  EXPECT_LE(same, 8);
}

}  // namespace
}  // namespace drydock::sim
