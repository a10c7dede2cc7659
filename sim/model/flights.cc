#include "drydock/sim/model/flights.h"

namespace drydock::sim::model {

const Delays& Flights::Arrival(const Flight& flight) {
  auto known = arrivals_.find(flight);
  if (known == arrivals_.end()) {
    const Delays one = Delays::OfFlight(profile_, flight.behind);
    known = arrivals_.emplace(flight, one.LastOf(flight.packets, flight.spacing)).first;
  }
  return known->second;
}

const Delays& Flights::Ending(const Flight& flight) {
  auto known = endings_.find(flight);
  if (known == endings_.end()) known = endings_.emplace(flight, Arrival(flight) + back_).first;
  return known->second;
}

// The mean of a sum needs no distribution of it.
coro::Duration Flights::MeanEnding(const Flight& flight) {
  return Arrival(flight).MeanOfSum(back_);
}

coro::Duration Flights::MeanOfLast(const Flight& flight, std::size_t count, coro::Duration pace) {
  const auto [known, is_new] = last_.try_emplace({flight, count, pace});
  if (is_new) known->second = Ending(flight).LastOf(count, pace).mean();
  return known->second;
}

}  // namespace drydock::sim::model
