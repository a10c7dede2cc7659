#include "drydock/sim/world/freed_memory.h"

#include <malloc.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/harness/sanitizer.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBlocks = 100;
constexpr std::size_t kPagesOfBlock = 25;

// Takes 10 MiB in blocks that have no mapping of their own, touches each page, frees them.
void TakeAndFree() {
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::make_unique<std::byte[]>(kPagesOfBlock * kPage));
    for (std::size_t page = 0; page < kPagesOfBlock; ++page) blocks.back()[page * kPage] = {};
  }
}

long PageFaults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// Whether so many bytes have a mapping of their own, which goes when they are freed.
bool IsMapped(std::size_t bytes) {
  const std::size_t before = mallinfo2().hblks;
  const std::unique_ptr<void, decltype(&std::free)> memory(std::malloc(bytes), &std::free);
  EXPECT_NE(memory, nullptr);
  return mallinfo2().hblks > before;
}

// Comes first: what the other test does lasts.
TEST(FreedMemoryTest, GoesInAProcessWhoseWorldsAreGuests) {
  if (harness::kSanitized) GTEST_SKIP() << "a sanitizer has a heap of its own";
  constexpr std::size_t kMiB = 1 << 20;
  for (int i = 0; i < 3; ++i) World(1, **FindProfile("p5"), {.guest = true});
  // Less than in the other test: glibc's limit follows what is freed.
  EXPECT_TRUE(IsMapped(4 * kMiB));
}

TEST(FreedMemoryTest, StaysWithTheProcessFromTheSecondWorldOn) {
  if (harness::kSanitized) GTEST_SKIP() << "a sanitizer has a heap of its own";
  constexpr std::size_t kMiB = 1 << 20;
  KeepFreedMemoryFromTheSecondWorld();
  EXPECT_TRUE(IsMapped(8 * kMiB));  // glibc's own way
  KeepFreedMemoryFromTheSecondWorld();
  EXPECT_FALSE(IsMapped(16 * kMiB));
  TakeAndFree();
  const long before = PageFaults();
  TakeAndFree();
  EXPECT_LT(PageFaults() - before, static_cast<long>(kBlocks * kPagesOfBlock / 10));
}

}  // namespace
}  // namespace drydock::sim
