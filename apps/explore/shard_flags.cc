#include "drydock/apps/explore/shard_flags.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "drydock/coro/status_macros.h"

ABSL_FLAG(std::string, shard, "",
          "i/n: run the i-th of n parts of the seeds, from 0/n to n-1/n. Without it: the part that "
          "Bazel's test shards, a Slurm array, a Kubernetes indexed job or an AWS Batch array give "
          "this process; 0/1: all seeds, whatever they say.");
ABSL_FLAG(std::optional<std::uint64_t>, shards, std::nullopt,
          "How many parts there are, where the environment gives only a number; without it: "
          "DRYDOCK_SHARDS.");
ABSL_FLAG(
    std::string, results, "",
    "Folder for a file with what this part has come to. It survives every end of the process; "
    "the same command goes on from it, and explore merge makes a report of all of them.");

namespace drydock::apps {
namespace {

using sim::explore::Shard;

// How one scheduler numbers its tasks. Null: it has no such variable.
struct Scheduler {
  const char* index;
  const char* count;
  const char* first;  // number of the first task
  const char* step;   // from one task's number to the next
};

// Bazel: "Test encyclopedia", initial conditions. Slurm: sbatch(1), output environment variables.
// Kubernetes: "Indexed Job for parallel processing"; it tells no count. AWS Batch: "Job environment
// variables".
constexpr Scheduler kSchedulers[] = {
    {"TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", nullptr, nullptr},
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
     "SLURM_ARRAY_TASK_STEP"},
    {"JOB_COMPLETION_INDEX", nullptr, nullptr, nullptr},
    {"AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE", nullptr, nullptr},
};

bool IsNumber(absl::string_view text, std::uint64_t& number) {
  // SimpleAtoi takes signs and spaces, too.
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(text, &number);
}

// Absent: there is no such variable, or nothing in it.
absl::StatusOr<std::optional<std::uint64_t>> NumberOf(const Environment& environment,
                                                      const char* name) {
  const char* const text = name == nullptr ? nullptr : environment(name);
  std::uint64_t number = 0;
  if (text == nullptr || *text == '\0') return std::nullopt;
  if (IsNumber(text, number)) return number;
  return absl::InvalidArgumentError(absl::StrCat(name, "=", text, ": it is no whole number"));
}

absl::Status CheckShard(absl::string_view from, const Shard& shard) {
  if (shard.index < shard.count) return absl::OkStatus();
  if (shard.count == 0) {
    return absl::InvalidArgumentError(absl::StrCat(from, ": 0 shards are none"));
  }
  return absl::InvalidArgumentError(absl::StrCat(from, " makes this shard ", shard.index, " of ",
                                                 shard.count, ": they are 0 to ", shard.count - 1));
}

absl::StatusOr<std::optional<std::uint64_t>> CountOf(const Environment& environment) {
  ASSIGN_OR_RETURN(const auto count, NumberOf(environment, "DRYDOCK_SHARDS"));
  if (count == 0) return absl::InvalidArgumentError("DRYDOCK_SHARDS=0: 0 shards are none");
  return count;
}

}  // namespace

absl::StatusOr<std::optional<ShardChoice>> ShardFromEnvironment(
    const Environment& environment, std::optional<std::uint64_t> count) {
  for (const Scheduler& scheduler : kSchedulers) {
    ASSIGN_OR_RETURN(const auto number, NumberOf(environment, scheduler.index));
    if (!number.has_value()) continue;
    ShardChoice choice;
    choice.from = scheduler.index;
    choice.shard.index = *number;
    if (!count.has_value()) {
      ASSIGN_OR_RETURN(count, CountOf(environment));
    }
    if (count.has_value()) {
      choice.shard.count = *count;
    } else {
      ASSIGN_OR_RETURN(const auto told, NumberOf(environment, scheduler.count));
      if (!told.has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat(scheduler.index, "=", *number,
                         ", and nothing says of how many: --shards=N or DRYDOCK_SHARDS=N does, "
                         "--shard=0/1 runs all seeds"));
      }
      ASSIGN_OR_RETURN(const auto first, NumberOf(environment, scheduler.first));
      ASSIGN_OR_RETURN(const auto step, NumberOf(environment, scheduler.step));
      choice.shard.count = *told;
      // Below the first number: another one than any shard's, as it should be.
      choice.shard.index =
          (*number - first.value_or(0)) / std::max<std::uint64_t>(1, step.value_or(1));
    }
    RETURN_IF_ERROR(CheckShard(absl::StrCat(scheduler.index, "=", *number), choice.shard));
    return choice;
  }
  return std::nullopt;
}

absl::StatusOr<Shard> ParseShard(absl::string_view text) {
  const std::vector<absl::string_view> halves = absl::StrSplit(text, '/');
  Shard shard;
  if (halves.size() != 2 || !IsNumber(halves[0], shard.index) ||
      !IsNumber(halves[1], shard.count) || shard.index >= shard.count) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shard=", text, ": it takes i/n, from 0/n to n-1/n"));
  }
  return shard;
}

absl::StatusOr<ShardChoice> ReadShardFlags() {
  ShardChoice choice;
  const std::string text = absl::GetFlag(FLAGS_shard);
  const std::optional<std::uint64_t> count = absl::GetFlag(FLAGS_shards);
  if (count == 0) return absl::InvalidArgumentError("--shards=0: 0 shards are none");
  if (!text.empty()) {
    ASSIGN_OR_RETURN(choice.shard, ParseShard(text));
    choice.from = "--shard";
  } else {
    ASSIGN_OR_RETURN(auto found, ShardFromEnvironment(std::getenv, count));
    if (found.has_value()) {
      choice = *std::move(found);
    } else if (count.has_value()) {
      return absl::InvalidArgumentError(
          "--shards is for a scheduler's environment, and there is none: --shard=i/n says it all");
    }
  }
  choice.results = absl::GetFlag(FLAGS_results);
  choice.asked = !text.empty() || count.has_value() || !choice.results.empty();
  return choice;
}

void AcknowledgeTestShard() {
  const char* const file = std::getenv("TEST_SHARD_STATUS_FILE");
  if (file != nullptr) std::ofstream(file, std::ios::app).flush();
}

std::string ResultsName(absl::string_view scenario, const Shard& shard) {
  return absl::StrFormat("%s-%05d-of-%05d.results", scenario, shard.index, shard.count);
}

}  // namespace drydock::apps
