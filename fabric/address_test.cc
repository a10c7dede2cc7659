#include "drydock/fabric/address.h"

#include <cstdint>
#include <string>
#include <vector>

#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(AddressTest, HexFormRoundTrips) {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 32; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 9));
  ASSERT_OK_AND_ASSIGN(const Address address, Address::FromBytes(bytes));
  EXPECT_EQ(address.size(), Address::kEfaBytes);
  EXPECT_EQ(address.ToHex().size(), 64u);
  ASSERT_OK_AND_ASSIGN(const Address parsed, Address::Parse(address.ToHex()));
  EXPECT_EQ(parsed, address);
}

TEST(AddressTest, ParsesBothCasesAndPrintsLower) {
  ASSERT_OK_AND_ASSIGN(const Address address, Address::Parse("fE80aB"));
  EXPECT_THAT(address.bytes(), ElementsAre(0xfe, 0x80, 0xab));
  EXPECT_EQ(address.ToHex(), "fe80ab");
}

TEST(AddressTest, RefusesWhatIsNotHexAndSaysWhere) {
  EXPECT_THAT(Address::Parse(""), StatusIs(kInvalid, HasSubstr("empty")));
  EXPECT_THAT(Address::Parse("fe8"), StatusIs(kInvalid, HasSubstr("3 hexadecimal digits")));
  EXPECT_THAT(Address::Parse("fe8g"), StatusIs(kInvalid, HasSubstr("'g' at position 3")));
  EXPECT_THAT(Address::Parse("0xfe"), StatusIs(kInvalid, HasSubstr("'x' at position 1")));
  EXPECT_THAT(Address::Parse(" fe80"), StatusIs(kInvalid, HasSubstr("position 0")));
  EXPECT_THAT(Address::Parse("fe80\n"), StatusIs(kInvalid, HasSubstr("byte 10 at position 4")));
  EXPECT_THAT(Address::Parse("-1"), StatusIs(kInvalid, HasSubstr("'-' at position 0")));
  EXPECT_THAT(Address::Parse(std::string("fe\0fe", 5)), StatusIs(kInvalid, HasSubstr("byte 0")));
}

TEST(AddressTest, RefusesWhatIsTooLong) {
  EXPECT_THAT(Address::Parse(std::string(2 * Address::kMaxBytes, 'a')), IsOk());
  EXPECT_THAT(Address::Parse(std::string(2 * Address::kMaxBytes + 2, 'a')),
              StatusIs(kInvalid, HasSubstr("at most 256")));
  EXPECT_THAT(Address::FromBytes(std::vector<std::uint8_t>(Address::kMaxBytes + 1)),
              StatusIs(kInvalid, HasSubstr("129 bytes")));
  EXPECT_THAT(Address::FromBytes({}), StatusIs(kInvalid, HasSubstr("empty")));
}

TEST(AddressTest, EqualityComparesLengthAndBytes) {
  EXPECT_EQ(Address(), Address());
  EXPECT_NE(*Address::Parse("00"), Address());
  EXPECT_NE(*Address::Parse("00"), *Address::Parse("0000"));
  EXPECT_NE(*Address::Parse("0001"), *Address::Parse("0002"));
}

}  // namespace
}  // namespace drydock::fabric
