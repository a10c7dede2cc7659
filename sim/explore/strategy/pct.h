// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010):
// finds a bug that needs few orderings however long the program is.
//
// Every operation gets a random priority when it is first seen, and the possible step of the
// highest one happens. At depth - 1 steps, drawn beforehand, the operation whose turn it is falls
// below all others. A bug that needs `depth` orderings among n operations of k steps in all is
// found by one run with a probability of at least 1 / (n k^(depth-1)); a walk finds it with one
// that falls exponentially with the steps that one operation must wait.

#ifndef DRYDOCK_SIM_EXPLORE_STRATEGY_PCT_H_
#define DRYDOCK_SIM_EXPLORE_STRATEGY_PCT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/random.h"

namespace drydock::sim::explore {

class PctScheduler final : public Scheduler {
 public:
  // `steps`: how many a run has, about. REQUIRES: neither is 0.
  PctScheduler(std::uint64_t seed, std::size_t depth, std::size_t steps);

  std::size_t Pick(std::span<const Step> ready, coro::Duration now) override;

 private:
  std::uint64_t& PriorityOf(std::uint64_t operation);
  std::size_t Highest(std::span<const Step> ready);

  RandomStream priorities_;
  std::vector<std::size_t> changes_;                 // numbers of steps
  std::map<std::uint64_t, std::uint64_t> priority_;  // of operations that were seen
  std::size_t step_ = 0;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_STRATEGY_PCT_H_
