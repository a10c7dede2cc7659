#include "drydock/gpu/host_device/host_memory.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace drydock::gpu {
namespace {

std::shared_ptr<HostMemory> Allocate(std::size_t length_bytes) {
  return HostMemory::Make(length_bytes, std::chrono::microseconds(2)).value();
}

const std::byte* AddressOf(const HostMemory& memory, std::size_t offset = 0) {
  return reinterpret_cast<const std::byte*>(memory.address()) + offset;
}

TEST(FindTest, FindsTheMemoryThatHoldsTheWholeRange) {
  const std::shared_ptr<HostMemory> memory = Allocate(4096);
  EXPECT_EQ(HostMemory::Find(AddressOf(*memory), 4096), memory);
  EXPECT_EQ(HostMemory::Find(AddressOf(*memory, 4095), 1), memory);
  EXPECT_EQ(HostMemory::Find(AddressOf(*memory, 4095), 2), nullptr);
  EXPECT_EQ(HostMemory::Find(AddressOf(*memory, 4097), 1), nullptr);
}

TEST(FindTest, FindsNothingWhereMemoryWasFreed) {
  std::shared_ptr<HostMemory> memory = Allocate(4096);
  const std::byte* const address = AddressOf(*memory);
  memory.reset();
  EXPECT_EQ(HostMemory::Find(address, 1), nullptr);
}

// The owner lets go while other threads look at the memory and find that it is too short: then a
// search has the last reference. It must not hold the lock when it drops it, or it waits for
// itself, and this test for ever.
TEST(FindTest, MemoryMayBeFreedWhileItIsLookedAt) {
  std::atomic<const std::byte*> address = nullptr;
  std::atomic<bool> over = false;
  const auto search = [&] {
    while (!over) EXPECT_EQ(HostMemory::Find(address, std::size_t{1} << 40), nullptr);
  };
  std::thread one(search), another(search);
  for (int round = 0; round < 10000; ++round) {
    const std::shared_ptr<HostMemory> memory = Allocate(4096);
    address = AddressOf(*memory);
  }
  over = true;
  one.join();
  another.join();
}

}  // namespace
}  // namespace drydock::gpu
