// SipHash-2-4-128 against the vectors of its reference code (vectors.h, vectors_sip128).

#include "drydock/sim/hosts/sockets/mac.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

Key Counting() {
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  return key;
}

Mac Bytes(const std::array<std::uint8_t, 16>& values) {
  Mac mac;
  for (std::size_t i = 0; i < mac.size(); ++i) mac[i] = static_cast<std::byte>(values[i]);
  return mac;
}

TEST(MacTest, IsThatOfTheReference) {
  EXPECT_EQ(MacOf(Counting(), {}), Bytes({0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d,
                                          0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93}));
  const std::byte zero{0};
  EXPECT_EQ(MacOf(Counting(), {&zero, 1}), Bytes({0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44,
                                                  0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}));
}

TEST(MacTest, EveryBitOfKeyAndBytesMatters) {
  std::vector<std::byte> bytes(33, std::byte{0x5a});
  const Mac whole = MacOf(Counting(), bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(IsSame(MacOf(Counting(), bytes), whole)) << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
  for (std::size_t bit = 0; bit < 128; ++bit) {
    Key key = Counting();
    key[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(IsSame(MacOf(key, bytes), whole)) << bit;
  }
  EXPECT_TRUE(IsSame(MacOf(Counting(), bytes), whole));
}

}  // namespace
}  // namespace drydock::sim
