#include "drydock/sim/explore/strategy/pct.h"

namespace drydock::sim::explore {
namespace {

// Above every priority that a change gives.
constexpr std::uint64_t kInitial = std::uint64_t{1} << 63;

}  // namespace

PctScheduler::PctScheduler(std::uint64_t seed, std::size_t depth, std::size_t steps)
    : priorities_(seed, Subsystem::kScheduler, 0, 0) {
  RandomStream changes(seed, Subsystem::kScheduler, 0, 1);
  for (std::size_t i = 0; i + 1 < depth; ++i) changes_.push_back(changes.NextBelow(steps));
}

std::uint64_t& PctScheduler::PriorityOf(std::uint64_t operation) {
  const auto [found, added] = priority_.try_emplace(operation, 0);
  if (added) found->second = kInitial | priorities_.At(operation);
  return found->second;
}

std::size_t PctScheduler::Highest(std::span<const Step> ready) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < ready.size(); ++i) {
    if (PriorityOf(ready[i].operation) > PriorityOf(ready[best].operation)) best = i;
  }
  return best;
}

std::size_t PctScheduler::Pick(std::span<const Step> ready, coro::Duration) {
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    // The first of the changes leaves more priority than the last: they keep an order, too.
    if (changes_[i] == step_) PriorityOf(ready[Highest(ready)].operation) = changes_.size() - i;
  }
  ++step_;
  return Highest(ready);
}

}  // namespace drydock::sim::explore
