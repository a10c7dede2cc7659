// One program under many seeds: each run in a process of its own, as many at a time as there are
// processors. For `efa-run --virtual --seeds`.

#ifndef SIM_VERBS_SEED_RUNS_H_
#define SIM_VERBS_SEED_RUNS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sim::verbs {

// Both are run.
struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

// "A..B", or one seed. INVALID_ARGUMENT with a line for the user, when it is neither, or B is below A.
absl::StatusOr<SeedRange> ParseSeedRange(absl::string_view text);

// A run that is over.
struct EndedRun {
  std::uint64_t seed = 0;
  int status = 0;       // as a shell has it: 128 and the signal, when one ended the process
  bool was_run = true;  // false: `become` returned, and `status` is what it returned
  std::string output;   // what it said, on both streams
};

// Calls `become` in a process for each seed, which has no input and of ours only the two streams of
// output; it becomes the program, or says why not and returns the status of the process. `ended` is
// called here after each run, in the order of their ends: false begins no further one. Processes
// that are left when this process ends are killed. UNAVAILABLE, when no run is under way: the
// machine has no processes or files left.
absl::Status RunSeeds(const SeedRange& seeds, const std::function<int(std::uint64_t seed)>& become,
                      const std::function<bool(const EndedRun& run)>& ended);

// The words as a shell takes them back: "efa-run '--faults=a b.json' ./my_test".
std::string AsShellWords(const std::vector<std::string>& words);

}  // namespace sim::verbs

#endif  // SIM_VERBS_SEED_RUNS_H_
