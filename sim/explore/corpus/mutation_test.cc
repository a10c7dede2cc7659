#include "drydock/sim/explore/corpus/mutation.h"

#include <cstdint>
#include <set>
#include <string>

#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::drydock::testing_matchers::IsOk;
using fabric::faults::Fault;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;
using fabric::faults::Legality;

FaultPlan PlanOf(std::vector<FaultRule> rules) {
  FaultPlan plan;
  plan.mode = Legality::kAdversarial;
  plan.rules = std::move(rules);
  return plan;
}

FaultRule Rare(Fault fault) {
  FaultRule rule = FaultRule::Of(fault);
  rule.when.probability = 0.01;
  rule.when.max = 3;
  rule.when.operations = {fabric::OperationKind::kWrite};
  return rule;
}

FaultRule Nth(Fault fault, std::uint64_t nth) {
  FaultRule rule = FaultRule::Of(fault);
  rule.when.nth = nth;
  return rule;
}

TEST(PinTest, EachFiringBecomesARuleOfItsOwn) {
  const FaultPlan pinned =
      Pin(PlanOf({Rare(Fault::kFlushed), Rare(Fault::kPostRefused)}), {{0, 7}, {0, 9}, {1, 2}});
  ASSERT_EQ(pinned.rules.size(), 3u);
  EXPECT_EQ(pinned.rules[0].fault, Fault::kFlushed);
  EXPECT_EQ(pinned.rules[0].name, "flushed");
  EXPECT_EQ(pinned.rules[0].when.nth, 7u);
  EXPECT_EQ(pinned.rules[1].name, "flushed-2");
  EXPECT_EQ(pinned.rules[1].when.nth, 9u);
  EXPECT_EQ(pinned.rules[2].fault, Fault::kPostRefused);
  EXPECT_EQ(pinned.rules[2].when.nth, 2u);
  // What is counted stays; when it fires is the number alone.
  EXPECT_EQ(pinned.rules[0].when.operations, Rare(Fault::kFlushed).when.operations);
  EXPECT_FALSE(pinned.rules[0].when.probability.has_value());
  EXPECT_THAT(Validate(pinned), IsOk());
}

TEST(PinTest, RuleThatNeverFiredIsGone) {
  EXPECT_TRUE(Pin(PlanOf({Rare(Fault::kFlushed)}), {}).rules.empty());
}

TEST(PinTest, RuleThatFiredOftenStays) {
  FaultPlan plan = PlanOf({Rare(Fault::kFlushed)});
  plan.rules[0].when.max.reset();
  std::vector<fabric::faults::FiringId> firings;
  for (std::uint64_t i = 1; i <= kMostPinned + 1; ++i) firings.push_back({0, i});
  EXPECT_EQ(Pin(plan, firings).rules, plan.rules);
}

TEST(PinTest, NumberThatOnlyAFileCanSayIsCut) {
  FaultPlan pinned = Pin(PlanOf({Rare(Fault::kFlushed)}), {{0, UINT64_MAX}});
  const FaultPlan none = PlanOf({});
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Dice dice(seed, /*subject=*/1);
    EXPECT_THAT(Validate(Mutate(pinned, none, dice)), IsOk()) << "seed " << seed;
  }
}

// Whatever the swarm draws and whatever comes of it after many mutations, one after the other.
TEST(MutateTest, PlansAreValidAndSmall) {
  FaultPlan plan;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Dice dice(seed, /*subject=*/1);
    plan = Mutate(plan, Swarm().plan(seed), dice);
    ASSERT_LE(plan.rules.size(), kMostRules);
    ASSERT_THAT(CheckPlan(plan), IsOk()) << "seed " << seed;
    std::set<Fault> without_number;
    for (const FaultRule& rule : plan.rules) {
      if (rule.when.nth.has_value()) continue;
      EXPECT_TRUE(without_number.insert(rule.fault).second) << rule.name << ", seed " << seed;
    }
  }
}

TEST(MutateTest, DoesEachOfItsChanges) {
  const FaultPlan plan = PlanOf({Nth(Fault::kFlushed, 20)});
  const FaultPlan other = PlanOf({Nth(Fault::kPostRefused, 5)});
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Dice dice(seed, /*subject=*/1);
    const FaultPlan mutated = Mutate(plan, other, dice);
    int flushed = 0;
    for (const FaultRule& rule : mutated.rules) {
      flushed += rule.fault == Fault::kFlushed ? 1 : 0;
      if (rule.fault == Fault::kPostRefused) seen.insert("more");
      if (rule.fault == Fault::kFlushed && *rule.when.nth < 20) seen.insert("earlier");
      if (rule.fault == Fault::kFlushed && *rule.when.nth > 20) seen.insert("later");
    }
    if (flushed == 0) seen.insert("less");
    if (flushed > 1) seen.insert("once more");
  }
  EXPECT_THAT(seen, ::testing::ElementsAre("earlier", "later", "less", "more", "once more"));
}

TEST(MutateTest, IsAFunctionOfItsDice) {
  const FaultPlan plan = Swarm().plan(5);
  Dice one(3, 1), same(3, 1);
  EXPECT_EQ(Mutate(plan, plan, one), Mutate(plan, plan, same));
}

}  // namespace
}  // namespace drydock::sim::explore
