// Counter-based randomness: the same words everywhere, independent streams, even spread.

#include "drydock/sim/random.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

// SplitMix64 seeded with 1234567 begins with these words (its author's test vector, as found in
// rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64): Mix is its finaliser.
TEST(MixTest, IsTheFinaliserOfSplitMix64) {
  const std::uint64_t golden = 0x9e3779b97f4a7c15ull;
  std::uint64_t state = 1234567;
  for (const std::uint64_t expected :
       {6457827717110365317ull, 3203168211198807973ull, 9817491932198370423ull,
        4593380528125082431ull, 16408922859458223821ull}) {
    state += golden;
    EXPECT_EQ(Mix(state), expected);
  }
}

TEST(MixTest, EveryInputBitChangesAboutHalfOfTheOutput) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    int changed = 0;
    for (std::uint64_t x = 1; x <= 200; ++x) {
      changed += std::popcount(Mix(x * 0x12345) ^ Mix((x * 0x12345) ^ std::uint64_t{1} << bit));
    }
    EXPECT_NEAR(changed / 200.0, 32.0, 2.0) << bit;
  }
}

// These words must never change: recorded seeds would mean other runs.
TEST(RandomStreamTest, KnownWords) {
  static_assert(RandomStream(1, Subsystem::kWire, 2, 3).At(4) ==
                RandomStream(1, Subsystem::kWire, 2, 3).At(4));
  const RandomStream stream(1, Subsystem::kNicIdentity, 0, 0);
  EXPECT_EQ(stream.At(0), 8814488383533802592u);
  EXPECT_EQ(stream.At(1), 9582401712094282849u);
  EXPECT_EQ(RandomStream(2, Subsystem::kPlacement, 3, 4).At(5), 6825857205046681073u);
}

TEST(RandomStreamTest, NextCountsThroughAt) {
  RandomStream stream(1, Subsystem::kWire, 2, 3);
  const RandomStream same(1, Subsystem::kWire, 2, 3);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(stream.Next(), same.At(i));
}

TEST(RandomStreamTest, CopiesGoOnByThemselves) {
  RandomStream stream(1, Subsystem::kWire, 2, 3);
  stream.Next();
  RandomStream copy = stream;
  const std::uint64_t word = stream.Next();
  stream.Next();
  EXPECT_EQ(copy.Next(), word);
}

TEST(RandomStreamTest, EveryPartOfTheKeyMatters) {
  std::set<std::uint64_t> words;
  std::size_t count = 0;
  for (const std::uint64_t seed : {0u, 1u, 2u}) {
    for (const Subsystem subsystem :
         {Subsystem::kNicIdentity, Subsystem::kEngine, Subsystem::kWire, Subsystem::kDriver,
          Subsystem::kPath, Subsystem::kPlacement, Subsystem::kKeys}) {
      for (const std::uint64_t entity : {0u, 1u, 2u}) {
        for (const std::uint64_t purpose : {0u, 1u, 2u}) {
          for (const std::uint64_t counter : {0u, 1u, 2u}) {
            words.insert(RandomStream(seed, subsystem, entity, purpose).At(counter));
            ++count;
          }
        }
      }
    }
  }
  EXPECT_EQ(words.size(), count);
}

TEST(RandomStreamTest, BelowStaysBelowAndSpreadsEvenly) {
  RandomStream stream(1, Subsystem::kWire, 0, 0);
  for (const std::uint64_t bound : {1u, 2u, 3u, 7u, 16u, 100u}) {
    std::vector<int> counts(bound);
    constexpr int kDraws = 100000;
    for (int i = 0; i < kDraws; ++i) ++counts[stream.NextBelow(bound)];
    const double mean = static_cast<double>(kDraws) / static_cast<double>(bound);
    double chi_squared = 0;
    for (const int count : counts) chi_squared += (count - mean) * (count - mean) / mean;
    // Far out in the tail of the distribution with bound - 1 degrees of freedom.
    const double degrees = static_cast<double>(bound) - 1;
    EXPECT_LE(chi_squared, degrees + 5 * std::sqrt(2 * degrees) + 1) << bound;
  }
}

TEST(RandomStreamTest, BelowTakesTheWholeRange) {
  EXPECT_EQ(Below(0, 10), 0u);
  EXPECT_EQ(Below(UINT64_MAX, 10), 9u);
  EXPECT_EQ(Below(UINT64_MAX, 1), 0u);
  EXPECT_EQ(Below(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
  EXPECT_EQ(Below(std::uint64_t{1} << 63, 10), 5u);
}

}  // namespace
}  // namespace drydock::sim
