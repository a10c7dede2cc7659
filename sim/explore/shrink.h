// Makes a failing run small, while it fails in the same way: fewer faults, fewer and smaller
// operations, fewer delays; and tells what is left.

#ifndef DRYDOCK_SIM_EXPLORE_SHRINK_H_
#define DRYDOCK_SIM_EXPLORE_SHRINK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/subject.h"
#include "drydock/sim/explore/traced_run.h"

namespace drydock::sim::explore {

struct ShrinkOptions {
  // Runs at most: the smallest failure until then is the answer.
  std::uint64_t most_runs = 20000;
  // Runs every attempt in a child process; a crash and a hang always are.
  bool isolate = false;
  coro::Duration patience = std::chrono::seconds(10);  // real time, for one run in a child
  // A line for a person, now and then.
  std::function<void(const std::string& line)> progress = [](const std::string&) {};
};

// How much of a run there is.
struct RunSize {
  std::uint64_t firings = 0;
  std::uint64_t operations = 0;
  std::uint64_t disturbed = 0;  // operations that are not calm
  std::uint64_t events = 0;
};

struct ShrinkReport {
  Capsule capsule;  // of the smallest run
  TracedRun run;    // which is this
  RunSize before;
  RunSize after;
  std::uint64_t runs = 0;
  std::vector<std::string> story;  // TellStory of the smallest run
};

// Errors: CheckCapsule's; kFailedPrecondition: the capsule's verdict is no failure that could be
// kept, it fails no more, or fails in another way, or two runs of the smallest one differ.
// REQUIRES: this process has one thread, where runs are in children.
absl::StatusOr<ShrinkReport> Shrink(const Scenario& scenario, const Capsule& capsule,
                                    const ShrinkOptions& options);

// The same with runs of `subject`, of which the capsule is; `isolate` and `patience` count for
// nothing. Errors: also those of its runs.
absl::StatusOr<ShrinkReport> Shrink(const Subject& subject, const Capsule& capsule,
                                    const ShrinkOptions& options);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SHRINK_H_
