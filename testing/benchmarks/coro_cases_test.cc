// The cases that coro is measured by do what their names say, as often as they are asked to.

#include "drydock/testing/benchmarks/coro_cases.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "drydock/testing/benchmarks/allocation_counter.h"
#include "drydock/testing/benchmarks/coro_limits.h"
#include "drydock/testing/benchmarks/memory_fabric.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::bench {
namespace {

using ::drydock::testing_matchers::IsOk;

std::vector<Case> AllCases() {
  std::vector<Case> cases = MakeLimits();
  for (Case& ours : MakeCoroCases()) cases.push_back(std::move(ours));
  return cases;
}

TEST(CoroCasesTest, AreWhatTheySay) { EXPECT_THAT(VerifyCoroCases(), IsOk()); }

TEST(CoroCasesTest, RunAgainAndAgain) {
  for (const Case& measured : AllCases()) {
    for (int i = 0; i < 3; ++i)
      EXPECT_THAT(measured.run(2 * measured.granule), IsOk()) << measured.name;
  }
}

TEST(CoroCasesTest, HaveDifferentNames) {
  std::set<std::string> names;
  for (const Case& measured : AllCases()) {
    EXPECT_TRUE(names.insert(measured.name).second) << measured.name;
  }
}

// What the loop is measured on completes each write once, in order.
TEST(MemoryFabricTest, CompletesEachWriteOnce) {
  MemoryQueue queue;
  MemoryEndpoint endpoint(queue);
  fabric::WriteRequest write;
  for (std::uint64_t i = 0; i < MemoryQueue::kDepth; ++i) {
    write.context = fabric::Context{i};
    ASSERT_EQ(endpoint.Write(write), fabric::ErrorCode::kOk);
  }
  EXPECT_EQ(endpoint.Write(write), fabric::ErrorCode::kAgain);
  std::vector<fabric::Completion> completions(MemoryQueue::kDepth + 1);
  ASSERT_EQ(queue.Read(completions).count, MemoryQueue::kDepth);
  for (std::uint64_t i = 0; i < MemoryQueue::kDepth; ++i) {
    EXPECT_TRUE(completions[i].ok());
    EXPECT_EQ(completions[i].context, fabric::Context{i});
  }
  EXPECT_EQ(queue.Read(completions).count, 0u);
}

TEST(AllocationCounterTest, SeesWhatIsTakenFromTheHeap) {
  const Allocations before = AllocationsSoFar();
  auto number = std::make_unique<std::uint64_t>(1);
  auto array = std::make_unique<char[]>(1000);
  const Allocations after = AllocationsSoFar();
  EXPECT_EQ(after.count - before.count, 2u);
  EXPECT_EQ(after.bytes - before.bytes, 1008u);
  EXPECT_EQ(*number, array[0] + 1u);
}

}  // namespace
}  // namespace drydock::bench
