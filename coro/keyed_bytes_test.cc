#include "drydock/coro/keyed_bytes.h"

#include <algorithm>
#include <array>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using ::testing::Each;

// The first numbers of seed 1234567, as published implementations of SplitMix64 give them.
TEST(KeyedBytesTest, AreSplitMix64LeastSignificantByteFirstAndOdd) {
  constexpr std::array<std::uint64_t, 5> kPublished = {6457827717110365317u, 3203168211198807973u,
                                                       9817491932198370423u, 4593380528125082431u,
                                                       16408922859458223821u};
  std::vector<std::byte> bytes(8 * kPublished.size());
  FillKeyed(bytes, 1234567);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(bytes[i], static_cast<std::byte>(kPublished[i / 8] >> (8 * (i % 8)) | 1)) << i;
  }
}

TEST(KeyedBytesTest, FewerAreAPrefixAndNothingBehindThemIsTouched) {
  std::vector<std::byte> longer(64);
  FillKeyed(longer, 3);
  for (std::size_t length = 0; length <= longer.size(); ++length) {
    std::vector<std::byte> bytes(longer.size());
    FillKeyed(std::span(bytes).first(length), 3);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + length, longer.begin())) << length;
    EXPECT_THAT(std::span(bytes).subspan(length), Each(std::byte{})) << length;
  }
}

TEST(KeyedBytesTest, EveryBitIsLookedAt) {
  for (const std::size_t length : {1, 7, 8, 9, 24, 31}) {
    std::vector<std::byte> bytes(length);
    FillKeyed(bytes, 7);
    EXPECT_TRUE(HoldsKeyed(bytes, 7)) << length;
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_FALSE(HoldsKeyed(bytes, 7)) << length << " bytes, bit " << bit;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
  EXPECT_TRUE(HoldsKeyed({}, 7));
}

TEST(KeyedBytesTest, AnotherKeyIsOtherBytes) {
  std::vector<std::byte> bytes(8);
  FillKeyed(bytes, 7);
  EXPECT_FALSE(HoldsKeyed(bytes, 8));
}

}  // namespace
}  // namespace drydock::coro
