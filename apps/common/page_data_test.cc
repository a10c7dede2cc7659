#include "drydock/apps/common/page_data.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "drydock/coro/keyed_bytes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::testing::ElementsAre;

TEST(ScatteredPagesTest, AreDistinctAndDependOnTheSeed) {
  const std::vector<std::uint32_t> pages = ScatteredPages(8, 16, 1);
  EXPECT_EQ(std::set<std::uint32_t>(pages.begin(), pages.end()).size(), 8u);
  EXPECT_LT(*std::max_element(pages.begin(), pages.end()), 16u);
  EXPECT_EQ(pages, ScatteredPages(8, 16, 1));
  EXPECT_NE(pages, ScatteredPages(8, 16, 2));
  EXPECT_FALSE(std::is_sorted(pages.begin(), pages.end()));
}

class VerificationTest : public ::testing::Test {
 protected:
  VerificationTest() {
    for (std::size_t region = 0; region < kRegionCount; ++region) {
      memory_[region].resize(16 * 64);
      std::vector<std::byte> data(64 * list_.page_indices.size());
      coro::FillKeyed(data, list_.data_seed + region);
      for (std::size_t k = 0; k < list_.page_indices.size(); ++k) {
        std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(64 * k), 64,
                    memory_[region].begin() + 64 * list_.page_indices[k]);
      }
    }
  }

  Verification Check() { return Verify(list_, {memory_[0], memory_[1]}); }

  PageList list_{.data_seed = 42, .page_bytes = 64, .page_indices = {9, 0, 3}};
  std::array<std::vector<std::byte>, kRegionCount> memory_;
};

TEST_F(VerificationTest, RightDataIsCorrect) {
  EXPECT_TRUE(Check().correct());
  EXPECT_EQ(Check().pages, 6u);
  EXPECT_EQ(Describe(Check()), "Data is correct");
}

TEST_F(VerificationTest, OneWrongBitNamesItsPage) {
  memory_[1][64 * 3 + 63] ^= std::byte{0x80};
  const Verification result = Check();
  EXPECT_EQ(result.wrong(), 1u);
  EXPECT_THAT(result.wrong_pages[1], ElementsAre(3));
  EXPECT_EQ(Describe(result), "Data is wrong: 1 of 6 pages\n  region 1: page 3");
}

TEST_F(VerificationTest, PagesAreListedInTheOrderOfTheRequest) {
  for (auto& region : memory_) std::fill(region.begin(), region.end(), std::byte{0});
  EXPECT_EQ(Describe(Check()),
            "Data is wrong: 6 of 6 pages\n  region 0: pages "
            "9, 0, 3\n  region 1: pages 9, 0, 3");
}

TEST_F(VerificationTest, PagesThatWereNotAskedForDoNotMatter) {
  memory_[0][64 * 5] = std::byte{1};
  EXPECT_TRUE(Check().correct());
}

TEST(DescribePagesTest, ListsSixteenAndCountsTheRest) {
  std::vector<std::uint32_t> pages = {7};
  EXPECT_EQ(DescribePages(pages), "7");
  for (std::uint32_t page = 0; page < 15; ++page) pages.push_back(page);
  EXPECT_EQ(DescribePages(pages), "7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14");
  pages.push_back(15);
  EXPECT_EQ(DescribePages(pages), "7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 and 1 more");
}

}  // namespace
}  // namespace drydock::apps
