// How long the ends of requests take on one kind of machine: from when a request's last packet has
// left until its completion is there, in the mean.
//
//   last packet ──► arrival of all packets ──► the way back
//
// A distribution takes thousands of times as long to work out as all the rest of a prediction, and
// many workloads share one: each is worked out once and kept.

#ifndef DRYDOCK_SIM_MODEL_FLIGHTS_H_
#define DRYDOCK_SIM_MODEL_FLIGHTS_H_

#include <compare>
#include <cstddef>
#include <map>
#include <tuple>

#include "drydock/coro/time.h"
#include "drydock/sim/model/delays.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim::model {

// A request on its way.
struct Flight {
  std::size_t packets = 1;
  coro::Duration spacing{};  // from one packet to the next
  coro::Duration behind{};   // how far the slowest path is behind the others

  auto operator<=>(const Flight&) const = default;
};

// Not thread-safe. The profile outlives it and does not change.
class Flights {
 public:
  explicit Flights(const Profile& profile) : profile_(profile), back_(Delays::OfFlight(profile)) {}

  coro::Duration MeanEnding(const Flight& flight);
  // Of `count` such requests that begin `pace` after each other, the last to end; counted from when
  // the last of them begins. REQUIRES: count > 0, pace not negative.
  coro::Duration MeanOfLast(const Flight& flight, std::size_t count, coro::Duration pace);

 private:
  const Delays& Arrival(const Flight& flight);
  const Delays& Ending(const Flight& flight);

  const Profile& profile_;
  const Delays back_;
  std::map<Flight, Delays> arrivals_;
  std::map<Flight, Delays> endings_;
  std::map<std::tuple<Flight, std::size_t, coro::Duration>, coro::Duration> last_;
};

}  // namespace drydock::sim::model

#endif  // DRYDOCK_SIM_MODEL_FLIGHTS_H_
