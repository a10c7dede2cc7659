// Which part of the seeds is this process's: by flags, or by what a scheduler has put into the
// environment of each of its tasks.

#ifndef DRYDOCK_APPS_EXPLORE_SHARD_FLAGS_H_
#define DRYDOCK_APPS_EXPLORE_SHARD_FLAGS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/explore/shard.h"

namespace drydock::apps {

struct ShardChoice {
  sim::explore::Shard shard;
  std::string from;  // --shard, or the variable that says so; empty: all seeds are this process's
  std::string results;  // folder for the files of results; empty: none

  // Whether a flag asks for shards or their files; an environment alone does not.
  bool asked = false;
};

// The value of a variable; null: not set.
using Environment = std::function<const char*(const char* name)>;

// Bazel's test shards, Slurm's arrays, Kubernetes' indexed jobs, AWS Batch's arrays: the first whose
// variable is set. Absent: none is. `count`: how many shards there are, whatever the scheduler says
// (else DRYDOCK_SHARDS, if that is set); then Slurm's array has to begin with 0. kInvalidArgument,
// one line: nothing says how many there are, or the number is not one of them.
absl::StatusOr<std::optional<ShardChoice>> ShardFromEnvironment(const Environment& environment,
                                                                std::optional<std::uint64_t> count);

// "3/16". kInvalidArgument: it is no such text.
absl::StatusOr<sim::explore::Shard> ParseShard(absl::string_view text);

// By --shard, --shards, --results and the environment. kInvalidArgument: one line.
absl::StatusOr<ShardChoice> ReadShardFlags();

// Tells Bazel that its shards were heard of, where it runs this as a test.
void AcknowledgeTestShard();

// Where the results of a shard are in their folder: "write-00003-of-00016.results".
std::string ResultsName(absl::string_view scenario, const sim::explore::Shard& shard);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_SHARD_FLAGS_H_
