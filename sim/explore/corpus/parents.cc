#include "drydock/sim/explore/corpus/parents.h"

#include <string>

#include "drydock/sim/explore/corpus/mutation.h"
#include "drydock/sim/explore/dice.h"

namespace drydock::sim::explore {
namespace {

using fabric::faults::FaultPlan;

// Of the draws of a seed's mutations: beyond those of families and faults.
constexpr std::uint64_t kMutation = 1 << 20;

}  // namespace

FaultPlan Parents::PlanOf(std::uint64_t seed, const FaultPlan& swarm) {
  if (plans_.empty() || seed % 4 == 0) return swarm;
  Dice dice(seed, kMutation);
  const FaultPlan& parent = plans_[novelty_.Pick(dice)];
  const FaultPlan& other = dice.OneIn(2) ? swarm : plans_[novelty_.Pick(dice)];
  FaultPlan plan = Mutate(parent, other, dice);
  plan.about = "mutated for seed " + std::to_string(seed);
  return plan;
}

}  // namespace drydock::sim::explore
