// Which part of the seeds a scheduler's environment gives a process.

#include "drydock/apps/explore/shard_flags.h"

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::drydock::testing_matchers::StatusIs;
using sim::explore::Shard;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<std::optional<ShardChoice>> Find(const Variables& variables,
                                                std::optional<std::uint64_t> count = {}) {
  const auto environment = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  return ShardFromEnvironment(environment, count);
}

TEST(ShardFromEnvironmentTest, KnowsFourSchedulers) {
  struct Case {
    Variables variables;
    Shard shard;
    const char* from;
    std::optional<std::uint64_t> count;  // that a flag gives
  };
  const Case cases[] = {
      {{{"TEST_SHARD_INDEX", "1"}, {"TEST_TOTAL_SHARDS", "4"}}, {1, 4}, "TEST_SHARD_INDEX"},
      {{{"SLURM_ARRAY_TASK_ID", "7"},
        {"SLURM_ARRAY_TASK_COUNT", "3"},
        {"SLURM_ARRAY_TASK_MIN", "5"},
        {"SLURM_ARRAY_TASK_STEP", "1"}},
       {2, 3},
       "SLURM_ARRAY_TASK_ID"},
      {{{"SLURM_ARRAY_TASK_ID", "30"},
        {"SLURM_ARRAY_TASK_COUNT", "4"},
        {"SLURM_ARRAY_TASK_MIN", "0"},
        {"SLURM_ARRAY_TASK_STEP", "10"}},
       {3, 4},
       "SLURM_ARRAY_TASK_ID"},
      {{{"AWS_BATCH_JOB_ARRAY_INDEX", "0"}, {"AWS_BATCH_JOB_ARRAY_SIZE", "16"}},
       {0, 16},
       "AWS_BATCH_JOB_ARRAY_INDEX"},
      {{{"JOB_COMPLETION_INDEX", "3"}}, {3, 16}, "JOB_COMPLETION_INDEX", 16},  // Kubernetes
  };
  for (const Case& test : cases) {
    ASSERT_OK_AND_ASSIGN(const auto choice, Find(test.variables, test.count));
    ASSERT_TRUE(choice.has_value()) << test.from;
    EXPECT_EQ(choice->shard, test.shard) << test.from;
    EXPECT_EQ(choice->from, test.from);
  }
  ASSERT_OK_AND_ASSIGN(const auto none, Find({}));
  EXPECT_FALSE(none.has_value());
  ASSERT_OK_AND_ASSIGN(const auto empty, Find({{"TEST_SHARD_INDEX", ""}}));
  EXPECT_FALSE(empty.has_value());
  // Where there is no scheduler nobody asks how many there are.
  ASSERT_OK_AND_ASSIGN(const auto alone, Find({{"DRYDOCK_SHARDS", "0"}}));
  EXPECT_FALSE(alone.has_value());
}

// One task of an array that is run again, alone: the same shard as before.
TEST(ShardFromEnvironmentTest, CountThatIsGivenCounts) {
  ASSERT_OK_AND_ASSIGN(const auto again, Find({{"SLURM_ARRAY_TASK_ID", "3"},
                                               {"SLURM_ARRAY_TASK_COUNT", "1"},
                                               {"SLURM_ARRAY_TASK_MIN", "3"}},
                                              16));
  EXPECT_EQ(again->shard, (Shard{3, 16}));
}

TEST(ShardFromEnvironmentTest, WhatDoesNotFitIsOneLine) {
  struct Case {
    Variables variables;
    std::optional<std::uint64_t> count;
    const char* complaint;
  };
  const Case cases[] = {
      {{{"JOB_COMPLETION_INDEX", "3"}}, {}, "JOB_COMPLETION_INDEX=3, and nothing says of how many"},
      {{{"AWS_BATCH_JOB_ARRAY_INDEX", "3"}}, {}, "--shards=N or DRYDOCK_SHARDS=N"},
      {{{"JOB_COMPLETION_INDEX", "16"}}, 16, "makes this shard 16 of 16: they are 0 to 15"},
      {{{"JOB_COMPLETION_INDEX", "-1"}}, 16, "JOB_COMPLETION_INDEX=-1: it is no whole number"},
      {{{"JOB_COMPLETION_INDEX", "0"}}, 0, "JOB_COMPLETION_INDEX=0: 0 shards are none"},
      {{{"JOB_COMPLETION_INDEX", "0"}, {"DRYDOCK_SHARDS", "0"}}, {}, "DRYDOCK_SHARDS=0: 0 shards"},
      // --array=1,2,7: no steps lead from one to the other.
      {{{"SLURM_ARRAY_TASK_ID", "7"},
        {"SLURM_ARRAY_TASK_COUNT", "3"},
        {"SLURM_ARRAY_TASK_MIN", "1"}},
       {},
       "SLURM_ARRAY_TASK_ID=7 makes this shard 6 of 3"},
  };
  for (const Case& test : cases) {
    const auto found = Find(test.variables, test.count);
    EXPECT_THAT(found, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(found.status().message(), AllOf(HasSubstr(test.complaint), Not(HasSubstr("\n"))));
  }
}

TEST(ParseShardTest, TakesNothingElse) {
  ASSERT_OK_AND_ASSIGN(const Shard shard, ParseShard("3/16"));
  EXPECT_EQ(shard, (Shard{3, 16}));
  for (const char* text : {"", "3", "16/16", "0/0", "-1/4", "1/2/3", "a/4", "1/ 4", "+1/4"}) {
    EXPECT_THAT(ParseShard(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
}

}  // namespace
}  // namespace drydock::apps
