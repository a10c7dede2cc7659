// Puts together what several machines tell of one run: whose endpoint a peer is, which region a key
// means, and by how much the clocks of the files differ.

#ifndef SIM_CAPTURE_JOIN_H_
#define SIM_CAPTURE_JOIN_H_

#include "absl/status/status.h"
#include "sim/capture/capture.h"

namespace sim::capture {

// Fills PeerEntry::endpoint and Operation::target, and moves the times of each file so that nothing
// arrives before it was sent. kInvalidArgument: an operation succeeded at a peer that is in none of
// the traces.
absl::Status Join(Capture& capture);

}  // namespace sim::capture

#endif  // SIM_CAPTURE_JOIN_H_
