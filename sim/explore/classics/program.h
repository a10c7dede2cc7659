// The common parts of the classics: machines, a truth to compare with, and patience.

#ifndef DRYDOCK_SIM_EXPLORE_CLASSICS_PROGRAM_H_
#define DRYDOCK_SIM_EXPLORE_CLASSICS_PROGRAM_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/keyed_bytes.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/truth.h"

namespace drydock::sim::explore {

// Opens `count` machines and runs `program` on them. It keeps references to its arguments.
Outcome RunProgram(Trial& trial, std::size_t count,
                   coro::Task<absl::Status> (*program)(Trial& trial, Nodes& machines,
                                                       Truth& truth));

// The first error.
absl::Status FirstError(const std::vector<absl::Status>& statuses);

// Every block of bytes has a key of its own.
using coro::FillKeyed;
using coro::HoldsKeyed;

// When a program gives up a step that begins now: its message was lost on the way, or the other
// side has given up itself. REQUIRES: a running loop.
inline coro::Time GiveUpTime() {
  return coro::After(coro::EventLoop::Current().Now(), std::chrono::seconds(1));
}

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CLASSICS_PROGRAM_H_
