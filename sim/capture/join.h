// Joins the captures of several machines of one run: finds the endpoint of each peer, the region of
// each key, and by how much the clocks of the files differ.

#ifndef DRYDOCK_SIM_CAPTURE_JOIN_H_
#define DRYDOCK_SIM_CAPTURE_JOIN_H_

#include "absl/status/status.h"
#include "drydock/sim/capture/capture.h"

namespace drydock::sim::capture {

// Fills PeerEntry::endpoint and Operation::target, and moves the times of each file so that nothing
// arrives before it was sent. kInvalidArgument: an operation succeeded at a peer that is in none of
// the traces.
absl::Status Join(Capture& capture);

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_JOIN_H_
