// A schedule that is given as a list of choices, to repeat a run of an exhaustive search.

#ifndef DRYDOCK_SIM_EXPLORE_STRATEGY_ORDER_H_
#define DRYDOCK_SIM_EXPLORE_STRATEGY_ORDER_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/sim/events/scheduler.h"

namespace drydock::sim::explore {

// Choice i is the index of the step that happens the i-th time that there is more than one. After
// the last choice the first step happens. An index beyond the last step, because the program has
// changed, means the last step.
class OrderScheduler final : public Scheduler {
 public:
  OrderScheduler(std::vector<std::size_t> choices, Grain grain)
      : choices_(std::move(choices)), grain_(grain) {}

  Grain grain() const override { return grain_; }

  std::size_t Pick(std::span<const Step> ready, coro::Duration) override {
    if (ready.size() == 1) return 0;
    const std::size_t choice = next_ < choices_.size() ? choices_[next_] : 0;
    ++next_;
    return std::min(choice, ready.size() - 1);
  }

 private:
  const std::vector<std::size_t> choices_;
  const Grain grain_;
  std::size_t next_ = 0;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_STRATEGY_ORDER_H_
