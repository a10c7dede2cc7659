// Small programs that every network runs in some form, each right on EFA: whatever legal faults
// they meet, they end with right data or with an error, and never wait for ever.

#ifndef DRYDOCK_SIM_EXPLORE_CLASSICS_CLASSICS_H_
#define DRYDOCK_SIM_EXPLORE_CLASSICS_CLASSICS_H_

#include <vector>

#include "drydock/sim/explore/scenario.h"

namespace drydock::sim::explore {

// Two machines send each other one message in turn, and check every byte.
const Scenario& PingPong();
// Four machines meet several times; none goes on before all have come.
const Scenario& Barrier();
// A producer writes into the few slots of a consumer, and reuses one only when it was told to.
const Scenario& CreditFlow();
// Four machines write a block to each other, all at once.
const Scenario& AllToAll();

// A machine copies blocks to another one, and begins anew until it has succeeded: it retries.
const Scenario& TryAgain();

// Its peer dies, and it waits for three seconds until the NIC has said so. Right for the time-out of
// our profiles, which is a guess; wrong for others that are plausible (profile_sweep.h), and there to
// be found out.
const Scenario& Failover();

// All of these that are right.
std::vector<const Scenario*> Classics();

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CLASSICS_CLASSICS_H_
