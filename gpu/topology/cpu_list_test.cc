#include "drydock/gpu/topology/cpu_list.h"

#include <numeric>
#include <string>
#include <vector>

#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::topology {
namespace {

using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

CpuList Range(int first, int last) {
  CpuList cpus(static_cast<std::size_t>(last - first + 1));
  std::iota(cpus.begin(), cpus.end(), first);
  return cpus;
}

TEST(CpuListTest, ListsAreWrittenAndRead) {
  EXPECT_EQ(FormatCpuList({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(FormatCpuList({}), "");
  EXPECT_THAT(ParseCpuList("0-3,8,10-11"), IsOkAndHolds(CpuList{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_THAT(ParseCpuList("8,2-3,3"), IsOkAndHolds(CpuList{2, 3, 8}));
  EXPECT_THAT(ParseCpuList(""), IsOkAndHolds(CpuList{}));
}

TEST(CpuListTest, WhatIsNoListIsRefused) {
  for (const char* text : {"a", "-1", "3-1", "1-", "1-2-3", "65536", "0-99999999999"}) {
    EXPECT_THAT(ParseCpuList(text), StatusIs(kInvalid, HasSubstr("no list of CPUs"))) << text;
  }
}

// The second one is what hwloc 2.10 wrote on a p6-b300.48xlarge: a word without CPUs is empty.
TEST(CpuListTest, MasksAreWrittenAndRead) {
  EXPECT_THAT(ParseCpuMask("0x0000ffff,0xffffffff"), IsOkAndHolds(Range(0, 47)));
  const absl::StatusOr<CpuList> holes =
      ParseCpuMask("0x0000ffff,0xffffffff,,0x0000ffff,0xffffffff");
  ASSERT_TRUE(holes.ok()) << holes.status();
  EXPECT_EQ(FormatCpuList(*holes), "0-47,96-143");
  EXPECT_THAT(ParseCpuMask("0x1,,,0x0"), IsOkAndHolds(CpuList{96}));
  EXPECT_EQ(FormatCpuMask({0, 33}), "0x00000002,0x00000001");
  EXPECT_EQ(FormatCpuMask({}), "0x00000000");
  EXPECT_THAT(ParseCpuMask(FormatCpuMask(*holes)), IsOkAndHolds(*holes));
}

TEST(CpuListTest, WhatIsNoMaskIsRefused) {
  for (const char* text : {"0xf...f", "0xf...f,0x0", "ff", "0x", "0x123456789", "0xg", "0x-1"}) {
    EXPECT_THAT(ParseCpuMask(text), StatusIs(kInvalid, HasSubstr("no mask of CPUs"))) << text;
  }
  EXPECT_THAT(ParseCpuMask(std::string(100000, ',')), StatusIs(kInvalid));
}

// p5.48xlarge: three CPUs for each NIC of a NUMA node.
TEST(SplitCpusTest, PartsAreEvenAndInOrder) {
  const std::vector<CpuList> shares = SplitCpus(Range(48, 95), 16);
  ASSERT_EQ(shares.size(), 16u);
  EXPECT_THAT(shares.front(), ElementsAre(48, 49, 50));
  EXPECT_THAT(shares.back(), ElementsAre(93, 94, 95));
  EXPECT_THAT(SplitCpus({0, 1, 2, 3, 4}, 2), ElementsAre(CpuList{0, 1, 2}, CpuList{3, 4}));
}

// p5en.48xlarge: CPU 96 is the second thread of the core of CPU 0.
TEST(SplitCpusTest, ThreadsOfACoreStayTogether) {
  const absl::StatusOr<CpuList> cpus = ParseCpuList("0-47,96-143");
  ASSERT_TRUE(cpus.ok());
  const std::vector<CpuList> shares = SplitCpus(*cpus, 8);
  EXPECT_EQ(FormatCpuList(shares[0]), "0-5,96-101");
  EXPECT_EQ(FormatCpuList(shares[7]), "42-47,138-143");
}

// A machine whose NUMA nodes have the even and the odd numbers.
TEST(SplitCpusTest, NumbersByTurnsAreSharedAsEvenly) {
  EXPECT_THAT(SplitCpus({0, 2, 4, 6}, 2), ElementsAre(CpuList{0, 2}, CpuList{4, 6}));
  EXPECT_THAT(SplitCpus({0, 1, 8, 9}, 4),
              ElementsAre(CpuList{0}, CpuList{1}, CpuList{8}, CpuList{9}));
  EXPECT_THAT(SplitCpus({0, 4, 5, 6, 7}, 2), ElementsAre(CpuList{0, 4, 5}, CpuList{6, 7}));
}

TEST(SplitCpusTest, FewCpusAreSharedByMany) {
  const std::vector<CpuList> shares = SplitCpus({4, 5}, 4);
  ASSERT_EQ(shares.size(), 4u);
  for (const CpuList& share : shares) EXPECT_EQ(share.size(), 1u);
  EXPECT_THAT(SplitCpus({}, 2), ElementsAre(IsEmpty(), IsEmpty()));
  EXPECT_THAT(SplitCpus({1}, 0), IsEmpty());
}

}  // namespace
}  // namespace drydock::gpu::topology
