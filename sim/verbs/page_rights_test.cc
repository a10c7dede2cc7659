// How large a process's pages are.

#include "drydock/sim/verbs/page_rights.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

// Lines of proc(5): two mappings of huge pages beside each other, then one of small ones, a hole,
// and one more.
constexpr char kMappings[] =
    "40000000-40200000 rw-p 00000000 00:0f 4242   /anon_hugepage (deleted)\n"
    "Size:               2048 kB\n"
    "KernelPageSize:     2048 kB\n"
    "MMUPageSize:        2048 kB\n"
    "40200000-80200000 rw-s 00000000 00:30 77     /dev/hugepages1G/pool\n"
    "Size:            1048576 kB\n"
    "KernelPageSize:  1048576 kB\n"
    "80200000-80204000 rw-p 00000000 00:00 0      [heap]\n"
    "Size:                 16 kB\n"
    "KernelPageSize:        4 kB\n"
    "AnonHugePages:      2048 kB\n"
    "80205000-80206000 r--p 00000000 00:00 0\n"
    "KernelPageSize:        4 kB\n";

std::uint64_t Of(std::uint64_t begin, std::uint64_t end) {
  std::istringstream mappings(kMappings);
  return PageBytesIn(mappings, begin, end - begin);
}

TEST(PageBytesTest, SmallestPageOfTheRange) {
  EXPECT_EQ(Of(0x40000000, 0x40200000), 2u << 20);
  EXPECT_EQ(Of(0x40001000, 0x40002000), 2u << 20);
  EXPECT_EQ(Of(0x40200000, 0x80200000), 1u << 30);
  EXPECT_EQ(Of(0x40000000, 0x80200000), 2u << 20);
  EXPECT_EQ(Of(0x40200000, 0x80200001), 4096u);
  EXPECT_EQ(Of(0x80200000, 0x80204000), 4096u);
}

TEST(PageBytesTest, RangeWithAHoleIsNotKnown) {
  EXPECT_EQ(Of(0x3fffffff, 0x40200000), 0u);
  EXPECT_EQ(Of(0x80203000, 0x80206000), 0u);
  EXPECT_EQ(Of(0x80205000, 0x80207000), 0u);
  EXPECT_EQ(Of(0x90000000, 0x90001000), 0u);
}

TEST(PageBytesTest, OrdinaryMemoryIsNoFilesAndNeedsNoLook) {
  const auto may_have = [](std::uint64_t begin, std::uint64_t end) {
    std::istringstream mappings(
        "40000000-40200000 rw-p 00000000 00:0f 4242   /anon_hugepage (deleted)\n"
        "40200000-80200000 rw-s 00000000 00:30 77     /dev/hugepages1G/pool\n"
        "80200000-80204000 rw-p 00000000 00:00 0      [heap]\n"
        "80204000-80206000 rw-p 00000000 00:00 0\n"
        "90000000-90200000 rw-s 00000000 00:0f 0      /SYSV00000000 (deleted)\n");
    return MayHaveHugePages(mappings, begin, end - begin);
  };
  EXPECT_TRUE(may_have(0x40000000, 0x80200000));
  EXPECT_TRUE(may_have(0x90000000, 0x90200000));
  EXPECT_FALSE(may_have(0x40200000, 0x80200001));
  EXPECT_FALSE(may_have(0x80203000, 0x80206000));
}

TEST(PageBytesTest, OwnMemoryIsLookedAtWhereItIsLarge) {
  const std::vector<std::byte> memory(80 << 20);
  EXPECT_EQ(PageBytesOf(memory.data(), memory.size()),
            static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(PageBytesOf(memory.data(), 1 << 20), 0u);
}

}  // namespace
}  // namespace drydock::sim::verbs
