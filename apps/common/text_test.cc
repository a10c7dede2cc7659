// Units, tables and wire numbers: how figures look, on a terminal and in a message.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/apps/common/text_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/common/wire.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOkAndHolds;

TEST(UnitsTest, BytesAreBinary) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(8192), "8 KiB");
  EXPECT_EQ(FormatBytes(8928), "8.7 KiB");
  EXPECT_EQ(FormatBytes(16u << 20), "16 MiB");
  EXPECT_EQ(FormatBytes(3ull << 29), "1.5 GiB");
  EXPECT_EQ(FormatBytes(~0ull), "16777216.0 TiB");
}

TEST(UnitsTest, DurationsPickTheirUnit) {
  EXPECT_EQ(FormatDuration(0ns), "0 ns");
  EXPECT_EQ(FormatDuration(999ns), "999 ns");
  EXPECT_EQ(FormatDuration(1350us), "1.35 ms");
  EXPECT_EQ(FormatDuration(2s), "2 s");
  EXPECT_EQ(FormatDuration(12'340ns), "12.3 us");
  EXPECT_EQ(FormatDuration(850ms), "850 ms");
}

// A value that rounds up to a thousand takes the next unit, and the largest unit has no end.
TEST(UnitsTest, DurationsNeverUseExponents) {
  EXPECT_EQ(FormatDuration(999'499ns), "999 us");
  EXPECT_EQ(FormatDuration(999'900ns), "1 ms");
  EXPECT_EQ(FormatDuration(9'996us), "10 ms");
  EXPECT_EQ(FormatDuration(86400s), "86400 s");
}

TEST(UnitsTest, OneIsNoPlural) {
  EXPECT_EQ(FormatCount(0, "NIC"), "0 NICs");
  EXPECT_EQ(FormatCount(1, "NIC"), "1 NIC");
  EXPECT_EQ(FormatCount(2, "NUMA node"), "2 NUMA nodes");
}

TEST(UnitsTest, RatesAreDecimal) {
  EXPECT_EQ(FormatRate(12'500'000, 1ms), "12.5 GB/s (100 Gbit/s)");
  EXPECT_EQ(FormatRate(389'000'000, 1ms), "389 GB/s (3112 Gbit/s)");
  EXPECT_EQ(FormatRate(2, 25us), "80 kB/s (640 kbit/s)");
  EXPECT_EQ(FormatRate(3, 2s), "1.5 B/s (12 bit/s)");
  EXPECT_EQ(FormatRate(1, 0ns), "");
}

TEST(TextTableTest, AlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(FormatTable({{"NIC", "depth"}, {"rdmap79s0", "64"}, {"lo", "8192"}}),
            "NIC        depth\n"
            "---------  -----\n"
            "rdmap79s0     64\n"
            "lo          8192\n");
}

TEST(WireTest, NumbersRoundTripInLittleEndian) {
  WireWriter writer;
  writer.Number<std::uint8_t>(0xfe);
  writer.Number<std::uint16_t>(0x1234);
  writer.Number<std::uint32_t>(0xdeadbeef);
  writer.Number<std::uint64_t>(0x0123456789abcdef);
  const std::vector<std::byte> bytes = writer.Take();
  ASSERT_EQ(bytes.size(), 15u);
  EXPECT_EQ(bytes[1], std::byte{0x34});
  WireReader reader(bytes);
  EXPECT_EQ(reader.Number<std::uint8_t>(), 0xfe);
  EXPECT_EQ(reader.Number<std::uint16_t>(), 0x1234);
  EXPECT_EQ(reader.Number<std::uint32_t>(), 0xdeadbeefu);
  EXPECT_EQ(reader.Number<std::uint64_t>(), 0x0123456789abcdefull);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(WireTest, ReadingPastTheEndIsNoticedAndHarmless) {
  const std::vector<std::byte> bytes(3, std::byte{0xff});
  WireReader reader(bytes);
  EXPECT_EQ(reader.Number<std::uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Number<std::uint8_t>(), 0u);
  EXPECT_TRUE(reader.Part().empty());
}

TEST(WireTest, PartsRoundTrip) {
  WireWriter writer;
  writer.Part("two");
  writer.Part(std::vector<std::byte>{std::byte{7}});
  writer.Part("");
  const std::vector<std::byte> bytes = writer.Take();
  WireReader reader(bytes);
  EXPECT_EQ(reader.Text(), "two");
  EXPECT_THAT(reader.Part(), ::testing::ElementsAre(std::byte{7}));
  EXPECT_EQ(reader.Text(), "");
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(WireTest, APartThatIsCutOffIsEmpty) {
  WireWriter writer;
  writer.Part("three");
  const std::vector<std::byte> bytes = writer.Take();
  WireReader reader(std::span(bytes).first(bytes.size() - 1));
  EXPECT_EQ(reader.Text(), "");
  EXPECT_FALSE(reader.ok());
}

TEST(SizeTest, IsReadAsPeopleWriteIt) {
  EXPECT_THAT(ParseBytes("4096"), IsOkAndHolds(4096u));
  EXPECT_THAT(ParseBytes("1B"), IsOkAndHolds(1u));
  EXPECT_THAT(ParseBytes("64KiB"), IsOkAndHolds(65536u));
  EXPECT_THAT(ParseBytes(" 1.5 MiB"), IsOkAndHolds(3u << 19));
  EXPECT_THAT(ParseBytes("2kB"), IsOkAndHolds(2000u));
  for (const char* bad : {"", "KiB", "-1", "0", "1.5", "1e99", "nan", "4 K", "4096x"}) {
    EXPECT_FALSE(ParseBytes(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace drydock::apps
