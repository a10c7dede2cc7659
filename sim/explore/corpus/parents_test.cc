#include "drydock/sim/explore/corpus/parents.h"

#include <cstdint>

#include "drydock/fabric/coverage/report.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/verdict.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using fabric::faults::FaultPlan;

constexpr std::uint64_t kSeeds = 400;

FaultPlan SwarmOf(std::uint64_t seed) { return Swarm().plan(seed); }

std::uint64_t Mutated(Parents parents) {
  std::uint64_t mutated = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    mutated += parents.PlanOf(seed, SwarmOf(seed)) == SwarmOf(seed) ? 0 : 1;
  }
  return mutated;
}

TEST(ParentsTest, WithoutAnySeedsHaveTheirOwnPlans) { EXPECT_EQ(Mutated(Parents()), 0u); }

TEST(ParentsTest, ThreeSeedsInFourHaveAMutatedPlan) {
  Parents parents;
  ASSERT_TRUE(parents.IsNew(SeedResult()));
  parents.Keep(SwarmOf(7));
  EXPECT_EQ(Mutated(parents), kSeeds * 3 / 4);
}

TEST(ParentsTest, FailureIsNoParent) {
  Parents parents;
  SeedResult failed;
  failed.verdict = Verdict::kWrongData;
  EXPECT_FALSE(parents.IsNew(failed));
  EXPECT_EQ(parents.features(), 0u);
}

}  // namespace
}  // namespace drydock::sim::explore
