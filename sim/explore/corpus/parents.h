// The runs whose fault plans are mutated, and the plans that come of them.

#ifndef DRYDOCK_SIM_EXPLORE_CORPUS_PARENTS_H_
#define DRYDOCK_SIM_EXPLORE_CORPUS_PARENTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/corpus/novelty.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

// Not thread-safe. A function of what it is told, on every machine.
class Parents {
 public:
  // Takes in a run. True: it has shown something new, and is to be Keep's next.
  bool IsNew(const SeedResult& result) {
    return !IsFailure(result.verdict) && novelty_.Add(result);
  }
  // The plan of the run that was new last, pinned.
  void Keep(fabric::faults::FaultPlan pinned) { plans_.push_back(std::move(pinned)); }

  std::size_t features() const { return novelty_.features(); }

  // The plan of a seed: of three seeds in four a mutated one, if there are parents; else `swarm`,
  // its own.
  fabric::faults::FaultPlan PlanOf(std::uint64_t seed, const fabric::faults::FaultPlan& swarm);

 private:
  Novelty novelty_;
  std::vector<fabric::faults::FaultPlan> plans_;  // by the number of the kept run
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CORPUS_PARENTS_H_
