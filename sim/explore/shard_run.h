// Runs one shard's seeds, in blocks, and writes their results to a file after each.

#ifndef DRYDOCK_SIM_EXPLORE_SHARD_RUN_H_
#define DRYDOCK_SIM_EXPLORE_SHARD_RUN_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/results.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/shard.h"

namespace drydock::sim::explore {

struct ShardOptions {
  Shard shard;
  SweepWords sweep;  // the options of the exploration, in words that a file keeps
  std::string file;  // of the results; empty: none
  // How much real time of work a killed process may lose, about. The file is small, and written as
  // often.
  coro::Duration write_every = std::chrono::seconds(1);
};

// Runs the shard's part of options.seeds seeds, and goes on where `file` says that it ended before;
// options.progress counts those, too. The report does not depend on how often that was. Errors:
// those of Explore and of ReadResults, but that there need be no file; kInvalidArgument: the file is
// of another sweep or shard, or cannot be written. REQUIRES: as Explore.
absl::StatusOr<Results> ExploreShard(const Scenario& scenario, const ExploreOptions& options,
                                     const ShardOptions& shard);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SHARD_RUN_H_
