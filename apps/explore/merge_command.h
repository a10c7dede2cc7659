// Parts of an exploration as a person meets them: where their files go, and explore merge FILES...,
// the report of all (sim/explore/merge.h).

#ifndef DRYDOCK_APPS_EXPLORE_MERGE_COMMAND_H_
#define DRYDOCK_APPS_EXPLORE_MERGE_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/explore/report.h"
#include "drydock/apps/explore/shard_flags.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/merge.h"
#include "drydock/sim/explore/results.h"

namespace drydock::apps {

// What was asked for, as words of a file of results. `plan`: of --faults=FILE; `twice_every` as the
// flag.
sim::explore::SweepWords SweepWordsOf(const Asked& asked, std::uint64_t twice_every,
                                      const std::optional<fabric::faults::FaultPlan>& plan);

struct MergeReport {
  Asked asked;
  sim::explore::Merged merged;
  std::optional<fabric::faults::FaultPlan> plan;  // that all seeds had
};

// Reads files of results, and all those in folders (NAME.results). Depends on no order.
// kNotFound, kInvalidArgument: one line. kFailedPrecondition: seeds are missing, and `partial` is
// not set.
absl::StatusOr<MergeReport> MergeFiles(const std::vector<std::string>& paths, bool partial);

// "missing: seeds 51-75 are in no file", a line each; empty: nothing is.
std::string FormatMissing(const sim::explore::Merged& merged);

// "shard 3/16 (SLURM_ARRAY_TASK_ID): seeds 188-250, results in FILE"; empty where there is neither.
std::string FormatShard(const ShardChoice& choice, const sim::explore::SeedSpan& part,
                        const std::string& file);

// A folder that may be there already. kInvalidArgument: it cannot be made.
absl::Status MakeFolder(const std::string& path);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_MERGE_COMMAND_H_
