// Runs of one program, each in a process of its own: one, or many seeds, as many at a time as there
// are processors. For `efa-run --virtual --seeds` and for capsules.

#ifndef DRYDOCK_SIM_VERBS_SEED_RUNS_H_
#define DRYDOCK_SIM_VERBS_SEED_RUNS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::sim::verbs {

// Both are run.
struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

// "A..B", or one seed. INVALID_ARGUMENT with a line for the user, when it is neither, or B is below
// A.
absl::StatusOr<SeedRange> ParseSeedRange(absl::string_view text);

// A run that is over.
struct EndedRun {
  std::uint64_t seed = 0;
  int status = 0;       // as a shell has it: 128 and the signal, when one ended the process
  int signal = 0;       // that one; 0: it ended by itself
  bool in_time = true;  // false: it was killed, because its time was up
  bool was_run = true;  // false: its Process returned, and `status` is what it returned
  std::string output;   // its output on both streams; of more than 1 MiB the end
};

// Runs in a new process, which has no input and of ours only the two streams of output: it becomes
// the program, or prints why not and returns the status of the process.
using Process = std::function<int()>;

// A process for each seed: `begin` is called here before it, `ended` after it, in the order of
// their ends: false begins no further one. One that is not over after `patience` of real time is
// killed, and so are those that are left when this process ends. UNAVAILABLE, when no run is under
// way: the machine has no processes or files left. Other errors: those of `begin`.
absl::Status RunSeeds(const SeedRange& seeds, std::chrono::milliseconds patience,
                      const std::function<absl::StatusOr<Process>(std::uint64_t seed)>& begin,
                      const std::function<bool(const EndedRun& run)>& ended);

// One process. UNAVAILABLE: as above.
absl::StatusOr<EndedRun> RunAlone(const Process& process, std::chrono::milliseconds patience);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_SEED_RUNS_H_
