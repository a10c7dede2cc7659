// Whether a run that a file tells of is still the same.

#ifndef DRYDOCK_SIM_EXPLORE_REPLAY_H_
#define DRYDOCK_SIM_EXPLORE_REPLAY_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/traced_run.h"

namespace drydock::sim::explore {

struct Replay {
  TracedRun run;
  bool same_verdict = false;  // and, of findings, the same broken rule
  bool same_digest = false;
  // "replayed bit for bit", or the first difference, and since when. One line.
  std::string what;

  bool exact() const { return same_verdict && same_digest; }
};

// Whether two runs failed in the same way, which shrinking keeps.
bool IsSameVerdict(const SeedResult& a, const SeedResult& b);

// Compares a run of the capsule with it.
Replay Compare(const Capsule& capsule, TracedRun run);

// Runs the capsule, in a child process. Errors: CheckCapsule's; kInternal. REQUIRES: this process
// has one thread.
absl::StatusOr<Replay> ReplayCapsule(const Scenario& scenario, const Capsule& capsule,
                                     coro::Duration patience = std::chrono::minutes(1));

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_REPLAY_H_
