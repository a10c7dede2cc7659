// The plainest strategy: each time any step that is possible, with equal odds.

#ifndef SIM_EXPLORE_STRATEGY_WALK_H_
#define SIM_EXPLORE_STRATEGY_WALK_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/events/scheduler.h"
#include "sim/random.h"

namespace sim::explore {

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

}  // namespace sim::explore

#endif  // SIM_EXPLORE_STRATEGY_WALK_H_
