// The transfer engine as a scenario: two machines with two NICs each, of which one may die.

#ifndef DRYDOCK_APPS_EXPLORE_TRANSFER_SCENARIO_H_
#define DRYDOCK_APPS_EXPLORE_TRANSFER_SCENARIO_H_

#include "drydock/sim/explore/scenario.h"

namespace drydock::apps {

// Pages go from one machine to the other by all NICs, and then both meet at a barrier. In three of
// four seeds a NIC of either machine dies or restarts on the way, beside whatever the seed's faults
// do: alone, that is no reason to fail.
const sim::explore::Scenario& TransferScenario();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_TRANSFER_SCENARIO_H_
