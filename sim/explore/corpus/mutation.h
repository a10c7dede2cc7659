// Fault plans made from those of earlier runs.

#ifndef DRYDOCK_SIM_EXPLORE_CORPUS_MUTATION_H_
#define DRYDOCK_SIM_EXPLORE_CORPUS_MUTATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/dice.h"

namespace drydock::sim::explore {

// A rule that fired so often at most is told by its firings; one that fired more often has no
// firings that matter one by one.
inline constexpr std::size_t kMostPinned = 4;
// Of a mutated plan.
inline constexpr std::size_t kMostRules = 12;

// The plan whose rules act on the events of the same numbers as `plan`'s did in the run, whatever
// the seed: for each firing of a rule one that acts on the event of that number. Their other draws,
// as of a delay, are new. Rules that never fired are gone; those that fired more than kMostPinned
// times are as before.
fabric::faults::FaultPlan Pin(const fabric::faults::FaultPlan& plan,
                              const std::vector<fabric::faults::FiringId>& firings);

// `plan` with one to eight small changes: a rule less, some rules of `other` more, the same fault
// once more and later, a fault earlier or later. Its names are unique, it has kMostRules at most,
// and no fault has two rules without a number. Valid where both plans are.
fabric::faults::FaultPlan Mutate(const fabric::faults::FaultPlan& plan,
                                 const fabric::faults::FaultPlan& other, Dice& dice);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CORPUS_MUTATION_H_
