#include "sim/explore/classics/classics.h"

namespace sim::explore {

std::vector<const Scenario*> Classics() {
  return {&PingPong(), &Barrier(), &CreditFlow(), &AllToAll(), &TryAgain()};
}

}  // namespace sim::explore
