// The plainest strategy: each time any step that is possible, with equal odds.

#ifndef DRYDOCK_SIM_EXPLORE_STRATEGY_WALK_H_
#define DRYDOCK_SIM_EXPLORE_STRATEGY_WALK_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/random.h"

namespace drydock::sim::explore {

class WalkScheduler final : public Scheduler {
 public:
  explicit WalkScheduler(std::uint64_t seed) : draws_(seed, Subsystem::kScheduler, 0, 0) {}

  std::size_t Pick(std::span<const Step> ready, coro::Duration) override {
    ++picks_;
    return draws_.NextBelow(ready.size());
  }

  // Steps that were picked: how long the program is.
  std::size_t picks() const { return picks_; }

 private:
  RandomStream draws_;
  std::size_t picks_ = 0;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_STRATEGY_WALK_H_
