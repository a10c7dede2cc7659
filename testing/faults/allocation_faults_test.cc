// What a plan costs operations that none of its rules concerns: nothing from the heap. This program
// replaces the global operator new to count.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "drydock/testing/faults/faulty_scene.h"
#include "gtest/gtest.h"

namespace {

std::uint64_t allocations = 0;

void* Counted(std::size_t size) {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

// All forms, so that what one gives the other takes back.
void* operator new(std::size_t size) {
  void* memory = Counted(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return Counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return Counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace drydock::fabric::faults {
namespace {

using namespace std::chrono_literals;

// Of 200 writes and their completions, in a run that is the same whatever the plan.
std::uint64_t AllocationsUnder(const FaultPlan& plan) {
  FaultyScene scene(plan);
  std::array<Completion, 16> entries;
  const std::uint64_t before = allocations;
  for (std::uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(scene.Write(i), ErrorCode::kOk);
    scene.world.timeline().RunFor(100us);
    scene.initiator.queue->Read(entries);
  }
  return allocations - before;
}

TEST(AllocationTest, WhatNoRuleConcernsAllocatesNothing) {
  const FaultPlan plan =
      PlanOf({FaultRule::Of(Fault::kReceiverNotReady), FaultRule::Of(Fault::kReceiveQueueFull)});
  EXPECT_EQ(AllocationsUnder(plan), AllocationsUnder(PlanOf({})));
}

// Slots are made once, and used again.
TEST(AllocationTest, TrackedOperationsUseTheirSlotsAgain) {
  FaultRule rule = FaultRule::Of(Fault::kRemoteAbort);
  rule.when.peers = {99};
  const std::uint64_t tracked = AllocationsUnder(PlanOf({rule}));
  EXPECT_GT(tracked, AllocationsUnder(PlanOf({})));  // the count sees what is there
  EXPECT_LT(tracked, AllocationsUnder(PlanOf({})) + 20);
}

// Retrying into a full queue leaves nothing behind, however long.
TEST(AllocationTest, RefusedPostsLeaveNothingBehind) {
  FaultRule rule = FaultRule::Of(Fault::kRemoteAbort);
  rule.when.peers = {99};
  FaultyScene scene(PlanOf({rule}));
  std::uint64_t accepted = 0;
  while (scene.Write(accepted) == ErrorCode::kOk) ++accepted;
  // The simulator's checks notice a program that only retries, and say so once.
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(scene.Write(0), ErrorCode::kAgain);
  const std::uint64_t before = allocations;
  for (int i = 0; i < 10000; ++i) static_cast<void>(scene.Write(0));
  EXPECT_EQ(allocations, before);
  scene.Run();
  EXPECT_EQ(scene.initiator.completions.size(), accepted);
}

}  // namespace
}  // namespace drydock::fabric::faults
