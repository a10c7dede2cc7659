// Distributions of times, on a grid: how long a packet flies, how late the last of many is.

#ifndef DRYDOCK_SIM_MODEL_DELAYS_H_
#define DRYDOCK_SIM_MODEL_DELAYS_H_

#include <cstddef>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim::model {

// Of a time that is a fixed part and a random one. A value; thread-safe as values are.
class Delays {
 public:
  // The random part is rounded to this.
  static constexpr coro::Duration kStep{250};

  // From one NIC to another, without the time on the link: the result of the profile's delay model
  // and paths, when the slowest path is so far behind. Loss, which is rare, is left out.
  static Delays OfFlight(const Profile& profile, coro::Duration behind = {});

  coro::Duration mean() const;
  // (*this + other).mean(), at the cost of neither's distribution.
  coro::Duration MeanOfSum(const Delays& other) const;

  // Both, one after the other; the two are independent.
  Delays operator+(const Delays& other) const;
  Delays operator+(coro::Duration more) const;

  // Of `count` that begin `spacing` after each other, the last to end; counted from when the last
  // of them begins. REQUIRES: count > 0, spacing not negative.
  Delays LastOf(std::size_t count, coro::Duration spacing) const;

 private:
  double MeanSteps() const;
  explicit Delays(coro::Duration fixed, std::vector<double> shares);

  coro::Duration fixed_;
  std::vector<double> shares_;  // how often the random part is so many steps; they add up to 1
};

}  // namespace drydock::sim::model

#endif  // DRYDOCK_SIM_MODEL_DELAYS_H_
