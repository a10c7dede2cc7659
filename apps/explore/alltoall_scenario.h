// All-to-all as a scenario: machines with two NICs each, whose tokens go to experts and come back.

#ifndef DRYDOCK_APPS_EXPLORE_ALLTOALL_SCENARIO_H_
#define DRYDOCK_APPS_EXPLORE_ALLTOALL_SCENARIO_H_

#include "drydock/sim/explore/scenario.h"

namespace drydock::apps {

// What apps/alltoall does, two rounds of it. By the seed: in place or not, rail-aligned or not, and
// one of the routings. With any NIC that dies, a rank ends with right results or with an error.
const sim::explore::Scenario& AllToAllScenario();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_ALLTOALL_SCENARIO_H_
