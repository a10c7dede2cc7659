// A recorded run as a schedule: what its machines sent each other, and what each of its programs
// waited for.
//
//   trace (docs/trace-format.md) ──► sim::capture ──► schedule of the same messages
//
// A rank is a machine. A program is a chain of what it did: before it posts, it has computed for as
// long as passed since its last step; what it reads, it has waited for.
//
//   send, write     a send; the receiver's program waits for it where it read a completion of it
//   read            a request, and the answer that it calls for without the peer's program (CPU 1)
//
// A trace does not say which message a receive completion belongs to: messages are taken to arrive
// in the order in which they were posted. Operations that failed, or whose end was not seen, are
// left out, and so are atomics.

#ifndef DRYDOCK_APPS_GOAL_RECORDING_H_
#define DRYDOCK_APPS_GOAL_RECORDING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "drydock/apps/goal/schedule.h"
#include "drydock/sim/capture/capture.h"

namespace drydock::apps::goal {

struct Recording {
  Schedule schedule;
  std::uint64_t left_out = 0;  // operations
};

// `capture` was joined (sim/capture/join.h). kInvalidArgument: a NIC, or more machines or
// operations, than a schedule can name.
absl::StatusOr<Recording> ScheduleOf(const sim::capture::Capture& capture);

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_RECORDING_H_
