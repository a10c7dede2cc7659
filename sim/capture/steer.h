// Replays a capture until it goes as it went: the same completions in the same order, the same
// failures.
//
//   replay ──► compare ──► fault plan: hold this completion back for 3 us, let that write fail
//     ▲                        │
//     └──── the same seed ─────┘        at most `attempts` times
//
// Faults are above the fabric (fabric/faults), by the names of its catalogue: a completion that
// came too early here is delayed, and an operation that failed there, and would not by itself,
// fails with the status that it had. Nothing is made up otherwise.

#ifndef DRYDOCK_SIM_CAPTURE_STEER_H_
#define DRYDOCK_SIM_CAPTURE_STEER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/capture/capture.h"
#include "drydock/sim/capture/replay.h"

namespace drydock::sim::capture {

struct SteerOptions {
  ReplayOptions replay;       // its plans are made here
  bool keep_order = true;     // false: completions in whatever order they come
  std::size_t attempts = 24;  // replays at most
  // Told before each replay: which it is, from 1.
  std::function<void(std::size_t)> attempt = [](std::size_t) {};
};

// Whether a completion queue showed them in the recorded order.
struct QueueVerdict {
  Index node = 0;
  Index queue = 0;
  std::uint64_t completions = 0;  // that the program read
  bool same_order = true;
  std::uint64_t first_difference = 0;  // which of them, from 1
};

struct RegionVerdict {
  Index node = 0;
  Index region = 0;
  std::string recorded;  // digest; empty: the capture holds none
  std::string replayed;  // empty: it was not closed
  bool comparable() const { return !recorded.empty(); }
  bool same() const { return comparable() && recorded == replayed; }
};

// An operation that ended otherwise than it did.
struct StatusVerdict {
  Index node = 0;
  Index operation = 0;
  std::string recorded;  // "ok", the name of an error, or "none": no completion was read
  std::string replayed;
};

struct Steered {
  ReplayRun run;
  std::size_t attempts = 0;
  std::uint64_t held = 0;    // completions that a rule delays
  std::uint64_t failed = 0;  // operations that a rule lets fail
  std::vector<QueueVerdict> queues;
  std::vector<RegionVerdict> regions;
  std::vector<StatusVerdict> statuses;           // the different ones
  std::vector<fabric::faults::FaultPlan> plans;  // of each machine

  bool same_memory() const;  // of all regions that can be compared; there is one
  bool same_order() const;
};

// REQUIRES: the capture is joined. Errors: as Replay's.
absl::StatusOr<Steered> Steer(const Capture& capture, const SteerOptions& options);

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_STEER_H_
