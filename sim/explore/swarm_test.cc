// The common properties of a swarm's plans, over many seeds.

#include "drydock/sim/explore/swarm.h"

#include <map>
#include <set>
#include <string>

#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::drydock::testing_matchers::IsOk;
using fabric::faults::Appliers;
using fabric::faults::Fault;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;
using fabric::faults::FaultSet;
using fabric::faults::Layer;
using fabric::faults::Legality;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;

constexpr std::uint64_t kSeeds = 2000;

Appliers DecoratorOnly() {
  Appliers appliers;
  appliers.decorator = FaultsOf(Layer::kDecorator);
  return appliers;
}

Appliers Everything() {
  Appliers appliers = DecoratorOnly();
  appliers.device = FaultsOf(Layer::kDevice);
  return appliers;
}

// In how many of the seeds a family has a rule.
std::map<Family, std::uint64_t> SeedsWith(const Appliers& appliers) {
  std::map<Family, std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    std::set<Family> families;
    for (const FaultRule& rule : SwarmPlan(seed, appliers).rules) {
      families.insert(FamilyOf(rule.fault).value());
    }
    for (const Family family : families) ++seeds[family];
  }
  return seeds;
}

TEST(SwarmTest, EachFamilyIsOffInAboutHalfOfTheSeeds) {
  const auto seeds = SeedsWith(Everything());
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    const std::uint64_t off = kSeeds - (seeds.count(family) > 0 ? seeds.at(family) : 0);
    EXPECT_THAT(off, AllOf(Ge(kSeeds * 40 / 100), Le(kSeeds * 60 / 100))) << Name(family);
  }
}

TEST(SwarmTest, FamiliesThatNobodyAppliesAreAbsent) {
  const auto seeds = SeedsWith(DecoratorOnly());
  EXPECT_EQ(seeds.count(Family::kPlacement), 0u);
  EXPECT_EQ(seeds.count(Family::kCapacities), 0u);
  for (const Family family :
       {Family::kPosts, Family::kOpening, Family::kStatus, Family::kCompletions, Family::kPeers}) {
    EXPECT_THAT(kSeeds - seeds.at(family), AllOf(Ge(kSeeds * 40 / 100), Le(kSeeds * 60 / 100)))
        << Name(family);
  }
}

TEST(SwarmTest, EveryPlanIsOneThatARunCanHave) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_THAT(CheckPlan(SwarmPlan(seed, AppliedFaults())), IsOk()) << "seed " << seed;
    const FaultPlan all = SwarmPlan(seed, Everything());
    EXPECT_THAT(fabric::faults::FaultEngine::Create(all, seed, Everything()).status(), IsOk())
        << "seed " << seed;
  }
}

TEST(SwarmTest, NoRuleIsIllegalAndNoneHasToFire) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const FaultRule& rule : SwarmPlan(seed, Everything()).rules) {
      EXPECT_NE(Describe(rule.fault).legality, Legality::kIllegal) << "seed " << seed;
      EXPECT_EQ(rule.expect_fired.min, 0u) << "seed " << seed;
    }
  }
}

// Of everything that is applied and belongs to a family, each comes up some time.
TEST(SwarmTest, EveryFaultComesUp) {
  FaultSet missing;
  for (const auto& info : fabric::faults::Catalogue()) {
    missing[static_cast<std::size_t>(info.fault)] = FamilyOf(info.fault).has_value();
  }
  EXPECT_GT(missing.count(), 50u);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const FaultRule& rule : SwarmPlan(seed, Everything()).rules) {
      missing[static_cast<std::size_t>(rule.fault)] = false;
    }
  }
  EXPECT_TRUE(missing.none()) << missing;
}

TEST(SwarmTest, PlanIsAFunctionOfItsSeed) {
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    EXPECT_EQ(SwarmPlan(seed, Everything()), SwarmPlan(seed, Everything()));
    EXPECT_NE(SwarmPlan(seed, Everything()), SwarmPlan(seed + 1, Everything()));
    sizes.insert(SwarmPlan(seed, Everything()).rules.size());
  }
  EXPECT_GT(sizes.size(), 3u);
}

// A layer that applies more must not turn the seeds that were found before into others' worlds:
// the rules of families that it does not touch stay as they are.
TEST(SwarmTest, OtherFamiliesDoNotMoveWhenALayerAppliesMore) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto few = SwarmPlan(seed, DecoratorOnly()).rules;
    const auto many = SwarmPlan(seed, Everything()).rules;
    for (const FaultRule& rule : few) {
      if (FamilyOf(rule.fault) == Family::kPeers) continue;  // of which the device applies more
      EXPECT_THAT(many, ::testing::Contains(rule)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace drydock::sim::explore
