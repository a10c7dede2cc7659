// The draws that make up a fault plan.

#ifndef DRYDOCK_SIM_EXPLORE_DICE_H_
#define DRYDOCK_SIM_EXPLORE_DICE_H_

#include <cstddef>
#include <cstdint>

#include "drydock/coro/keyed_random.h"

namespace drydock::sim::explore {

// Draws of one subject (the seed's families, one fault of it) that no other subject's draws move.
// A function of the two numbers and of the draws before, on every machine.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t subject)
      : key_(coro::Combine(coro::Combine(kSwarm, seed), subject)) {}

  // From [low, high].
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    const auto width = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(coro::Below(coro::Combine(key_, next_++), width));
  }
  bool OneIn(std::int64_t n) { return Between(1, n) == 1; }
  // From [1/2^most, 1/2^least], every power of two as likely as the others.
  double Share(std::int64_t least, std::int64_t most) {
    return 1.0 / static_cast<double>(std::uint64_t{1} << Between(least, most));
  }
  // The index of one of `count` things. REQUIRES: there is one.
  std::size_t IndexOf(std::size_t count) {
    return static_cast<std::size_t>(Between(0, static_cast<std::int64_t>(count) - 1));
  }

 private:
  static constexpr std::uint64_t kSwarm = 0x737761726d;

  std::uint64_t key_;
  std::uint64_t next_ = 0;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_DICE_H_
