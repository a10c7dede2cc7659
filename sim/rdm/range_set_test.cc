#include "drydock/sim/rdm/range_set.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

TEST(RangeSetTest, CountsBytes) {
  RangeSet set;
  EXPECT_TRUE(set.Add(10, 5));
  EXPECT_TRUE(set.Add(0, 10));
  EXPECT_TRUE(set.Add(100, 1));
  EXPECT_EQ(set.total(), 16u);
}

TEST(RangeSetTest, NoByteCountsTwice) {
  RangeSet set;
  ASSERT_TRUE(set.Add(10, 10));
  for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {10, 10}, {10, 1}, {19, 1}, {5, 6}, {19, 100}, {0, 100}, {12, 3}}) {
    EXPECT_FALSE(set.Add(offset, length)) << offset << " " << length;
  }
  EXPECT_EQ(set.total(), 10u);
  EXPECT_TRUE(set.Add(0, 10));
  EXPECT_TRUE(set.Add(20, 10));
  EXPECT_FALSE(set.Add(0, 1));
  EXPECT_FALSE(set.Add(29, 1));
  EXPECT_EQ(set.total(), 30u);
}

TEST(RangeSetTest, EmptyRangesAreNothing) {
  RangeSet set;
  EXPECT_TRUE(set.Add(5, 0));
  EXPECT_TRUE(set.Add(0, 10));
  EXPECT_TRUE(set.Add(5, 0));
  EXPECT_EQ(set.total(), 10u);
}

TEST(RangeSetTest, RangesAtTheEndOfAllNumbers) {
  RangeSet set;
  EXPECT_TRUE(set.Add(UINT64_MAX - 10, 10));
  EXPECT_FALSE(set.Add(UINT64_MAX - 1, 1));
  EXPECT_TRUE(set.Add(0, 1));
  EXPECT_EQ(set.total(), 11u);
}

// Against the plainest implementation there is.
TEST(RangeSetTest, AgreesWithAnArrayOfFlags) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    RangeSet set;
    std::vector<bool> flags(64, false);
    std::uint32_t state = seed;
    std::uint64_t total = 0;
    for (int round = 0; round < 100; ++round) {
      state = state * 1664525 + 1013904223;
      const std::uint64_t offset = state >> 26, length = (state >> 20) % (65 - offset) % 8;
      bool free = true;
      for (std::uint64_t i = offset; i < offset + length; ++i) free = free && !flags[i];
      ASSERT_EQ(set.Add(offset, length), free) << "seed " << seed << " round " << round;
      if (!free) continue;
      for (std::uint64_t i = offset; i < offset + length; ++i) flags[i] = true;
      total += length;
      ASSERT_EQ(set.total(), total);
    }
  }
}

}  // namespace
}  // namespace drydock::sim::rdm
