// The files of a sweep's shards as one report, which does not depend on how many there were, on
// their order, or on how often a shard was killed.

#ifndef DRYDOCK_SIM_EXPLORE_MERGE_H_
#define DRYDOCK_SIM_EXPLORE_MERGE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/results.h"

namespace drydock::sim::explore {

struct Merged {
  SweepWords sweep;
  ExploreReport report;
  // Why it is not all of the seeds, a line each: "seeds 51-75 are in no file".
  std::vector<std::string> missing;
};

// A file's path, for messages, and what it has.
using NamedResults = std::pair<std::string, Results>;

// Shards of one sweep, or of several that go on with more seeds of the same. kInvalidArgument, one
// line: no file, files of different sweeps, or a seed that is in two of them.
absl::StatusOr<Merged> Merge(std::vector<NamedResults> files);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_MERGE_H_
