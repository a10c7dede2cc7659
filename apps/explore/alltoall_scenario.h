// All-to-all as a scenario: machines with two NICs each, whose tokens go to experts and come back.

#ifndef APPS_EXPLORE_ALLTOALL_SCENARIO_H_
#define APPS_EXPLORE_ALLTOALL_SCENARIO_H_

#include "sim/explore/scenario.h"

namespace apps {

// What apps/alltoall does, two rounds of it. By the seed: in place or not, rail-aligned or not, and
// one of the routings. With any NIC that dies, a rank ends with right results or with an error.
const sim::explore::Scenario& AllToAllScenario();

}  // namespace apps

#endif  // APPS_EXPLORE_ALLTOALL_SCENARIO_H_
