#include "drydock/sim/explore/classics/classics.h"

namespace drydock::sim::explore {

std::vector<const Scenario*> Classics() {
  return {&PingPong(), &Barrier(), &CreditFlow(), &AllToAll(), &TryAgain()};
}

}  // namespace drydock::sim::explore
