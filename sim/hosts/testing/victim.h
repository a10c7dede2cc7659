// What the tests of hostile processes and machines do to a station.

#ifndef DRYDOCK_SIM_HOSTS_TESTING_VICTIM_H_
#define DRYDOCK_SIM_HOSTS_TESTING_VICTIM_H_

#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/testing/station.h"

namespace drydock::sim_testing {

// A write to `victim` that it has to serve: one packet, whose 64 bytes are in the message.
sim::Message SoundWrite(const Station& victim);

// Fails the test unless `victim` still serves a long write, from a new station with these options.
void ExpectUnharmed(Station& victim, const StationOptions& options);

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_HOSTS_TESTING_VICTIM_H_
