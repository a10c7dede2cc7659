// Runs a program of the tutorial with one seed, or with many, and prints the results.

#ifndef DRYDOCK_TESTING_TUTORIAL_SEEDS_H_
#define DRYDOCK_TESTING_TUTORIAL_SEEDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace drydock::tutorial {

// For main(): "FIRST_SEED [COUNT]" are the arguments. `run` makes a world of its own for its seed,
// and returns how many of `pages` pages were missing. Returns the exit status: 0 none was, 1 some
// were or a run failed, 2 bad arguments.
int RunSeeds(int argc, char** argv, std::size_t pages,
             absl::StatusOr<std::size_t> (*run)(std::uint64_t seed));

}  // namespace drydock::tutorial

#endif  // DRYDOCK_TESTING_TUTORIAL_SEEDS_H_
