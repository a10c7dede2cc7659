// The write program as scenarios: server and client in one world, 16 pages of 4 KiB.

#ifndef DRYDOCK_APPS_EXPLORE_WRITE_SCENARIO_H_
#define DRYDOCK_APPS_EXPLORE_WRITE_SCENARIO_H_

#include "drydock/sim/explore/scenario.h"

namespace drydock::apps {

// Every write announces itself, and the client counts: right on EFA.
const sim::explore::Scenario& WriteScenario();

// Only the last write does: wrong on EFA, and here to be found out.
const sim::explore::Scenario& WriteLastScenario();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_WRITE_SCENARIO_H_
