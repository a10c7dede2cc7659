#include "drydock/coro/frame_pool.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>

#include "gtest/gtest.h"

namespace {

// Of this program, from operator new, as the replacements below count it.
std::atomic<long> living_blocks{0};

}  // namespace

void* operator new(std::size_t bytes) {
  void* const block = std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  living_blocks.fetch_add(1, std::memory_order_relaxed);
  return block;
}
void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  living_blocks.fetch_sub(1, std::memory_order_relaxed);
  std::free(block);
}
void operator delete(void* block, std::size_t /*bytes*/) noexcept { operator delete(block); }

namespace drydock::coro {
namespace {

constexpr std::size_t kFrames = 10;
constexpr std::size_t kBytes = 200;

using Frames = std::array<void*, kFrames>;

void Allocate(Frames& frames) {
  for (void*& frame : frames) frame = FramePool::Allocate(kBytes);
}
void Release(const Frames& frames) {
  for (void* frame : frames) FramePool::Release(frame, kBytes);
}

TEST(FramePoolTest, AFrameThatWasFreedLastIsUsedFirst) {
  if (!FramePool::kKeeps) GTEST_SKIP() << "AddressSanitizer";
  void* const first = FramePool::Allocate(kBytes);
  void* const second = FramePool::Allocate(kBytes);
  FramePool::Release(first, kBytes);
  FramePool::Release(second, kBytes - 1);  // of the same class
  EXPECT_EQ(FramePool::Allocate(kBytes), second);
  EXPECT_EQ(FramePool::Allocate(kBytes), first);
  FramePool::Release(first, kBytes);
  FramePool::Release(second, kBytes);
}

TEST(FramePoolTest, ALargeFrameIsNotKept) {
  const long before = living_blocks.load();
  const std::uint64_t large = FramePool::counters().large;
  void* const frame = FramePool::Allocate(FramePool::kMostBytes + 1);
  EXPECT_EQ(living_blocks.load(), before + 1);
  EXPECT_EQ(FramePool::counters().large, large + 1);
  FramePool::Release(frame, FramePool::kMostBytes + 1);
  EXPECT_EQ(living_blocks.load(), before);
}

TEST(FramePoolTest, AThreadThatEndsGivesBackWhatItKeeps) {
  const long before = living_blocks.load();
  std::thread([] {
    Frames frames;
    Allocate(frames);
    Release(frames);
  }).join();
  EXPECT_EQ(living_blocks.load(), before);
}

}  // namespace
}  // namespace drydock::coro
