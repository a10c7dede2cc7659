// The transfer of docs/tutorial.md as a test's body: with or without a deadline.

#ifndef DRYDOCK_TESTING_TUTORIAL_PICTURE_H_
#define DRYDOCK_TESTING_TUTORIAL_PICTURE_H_

#include "absl/status/status.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/trial.h"

namespace drydock::tutorial {

// Machine 0 sends machine 1 a picture. `patience`: how long each step may take; kForEver: no matter
// how long. An error: a step failed or took longer. WrongData: pages were missing when all were
// announced.
inline constexpr coro::Duration kForEver = coro::Duration::max();
coro::Task<absl::Status> TransferPicture(sim::explore::Trial& trial, coro::Duration patience);

}  // namespace drydock::tutorial

#endif  // DRYDOCK_TESTING_TUTORIAL_PICTURE_H_
