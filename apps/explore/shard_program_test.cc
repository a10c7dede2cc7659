// Sweeps on arrays, as a scheduler starts them: many processes that know of each other nothing but
// a number, some of them killed, and one report.

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/explore/testing/explore_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using harness::ProcessEnd;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A folder that has not been used.
std::string Fresh(const std::string& name) {
  const std::string path = ::testing::TempDir() + name;
  std::filesystem::remove_all(path);
  return path;
}

// A wrong program and its faults: failures, rules and points are all there.
std::vector<std::string> Sweep(const std::string& folder, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {
      "--scenario=write-last", "--seeds=60",      "--parameters=pages=2,page_bytes=64",
      "--capsules=none",       "--twice-every=0", "--results=" + folder};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(ShardProgramTest, ReportOfOneTwoAndSixteenShardsIsTheSameByteForByte) {
  std::string text, json;
  for (const int count : {1, 2, 16}) {
    const std::string folder = Fresh(absl::StrCat("shards", count));
    for (int i = 0; i < count; ++i) {
      const ProcessEnd end = RunExplore(Sweep(folder, {absl::StrCat("--shard=", i, "/", count)}));
      EXPECT_LE(end.exit_code, 1) << end;
      EXPECT_EQ(end.err, "");
      EXPECT_THAT(end.LastLine(), StartsWith(absl::StrCat("shard ", i, "/", count, " (--shard)")));
    }
    const ProcessEnd merged = RunExplore({"merge", folder});
    const ProcessEnd as_json = RunExplore({"merge", "--json", folder});
    EXPECT_EQ(merged.exit_code, 1) << merged;
    if (count == 1) {
      text = merged.out;
      json = as_json.out;
      EXPECT_THAT(merged.LastLine(), AllOf(StartsWith("60 seeds, "), EndsWith(" failed")));
      EXPECT_THAT(text, HasSubstr("--parameters=pages=2,page_bytes=64 --seed="));
      EXPECT_EQ(nlohmann::json::parse(json)["seeds"], 60);
    }
    EXPECT_EQ(merged.out, text) << count;
    EXPECT_EQ(as_json.out, json) << count;
  }
}

// What one process without shards reports, but for the time it took.
TEST(ShardProgramTest, ReportIsThatOfOneProcess) {
  const std::string folder = Fresh("whole");
  std::vector<std::string> arguments = Sweep(folder, {"--json"});
  const ProcessEnd kept = RunExplore(arguments);
  arguments = {"--scenario=write-last", "--seeds=60",      "--parameters=pages=2,page_bytes=64",
               "--capsules=none",       "--twice-every=0", "--json"};
  auto plain = nlohmann::json::parse(RunExplore(arguments).out);
  plain.erase("seconds");
  EXPECT_EQ(nlohmann::json::parse(RunExplore({"merge", "--json", folder}).out), plain);
  auto with_file = nlohmann::json::parse(kept.out);
  with_file.erase("seconds");
  EXPECT_EQ(with_file, plain);
}

TEST(ShardProgramTest, TaskOfAnArrayFindsItsPart) {
  const std::vector<std::string> fine = {"--scenario=ping-pong", "--seeds=40", "--twice-every=0"};
  const ProcessEnd slurm = RunExplore(fine, {{"SLURM_ARRAY_TASK_ID", "3"},
                                             {"SLURM_ARRAY_TASK_COUNT", "4"},
                                             {"SLURM_ARRAY_TASK_MIN", "0"},
                                             {"SLURM_ARRAY_TASK_STEP", "1"}});
  EXPECT_EQ(slurm.exit_code, 0) << slurm;
  EXPECT_EQ(slurm.LastLine(), "shard 3/4 (SLURM_ARRAY_TASK_ID): seeds 31-40");
  const Variables indexed = {{"JOB_COMPLETION_INDEX", "1"}};
  const ProcessEnd missing = RunExplore(fine, indexed);
  EXPECT_EQ(missing.exit_code, 2) << missing;
  EXPECT_THAT(Lines(missing.err), ElementsAre(HasSubstr("nothing says of how many")));
  Variables counted = indexed;
  counted["DRYDOCK_SHARDS"] = "2";
  EXPECT_EQ(RunExplore(fine, counted).LastLine(), "shard 1/2 (JOB_COMPLETION_INDEX): seeds 21-40");
  counted["DRYDOCK_SHARDS"] = "0";
  EXPECT_THAT(Lines(RunExplore(fine, counted).err),
              ElementsAre(HasSubstr("DRYDOCK_SHARDS=0: 0 shards are none")));
  // All seeds, whatever the environment says; and one seed is no array's business.
  std::vector<std::string> all = fine;
  all.push_back("--shard=0/1");
  EXPECT_EQ(RunExplore(all, counted).LastLine(), "shard 0/1 (--shard): seeds 1-40");
  EXPECT_EQ(RunExplore({"--scenario=ping-pong", "--seed=1"}, indexed).exit_code, 0);
}

TEST(ShardProgramTest, BazelIsToldThatItsShardsWereHeardOf) {
  const std::string status = Fresh("status");
  const ProcessEnd end = RunExplore(
      {"--scenario=ping-pong", "--seeds=4", "--twice-every=0"},
      {{"TEST_SHARD_INDEX", "0"}, {"TEST_TOTAL_SHARDS", "8"}, {"TEST_SHARD_STATUS_FILE", status}});
  EXPECT_EQ(end.LastLine(), "shard 0/8 (TEST_SHARD_INDEX): no seeds");
  EXPECT_TRUE(std::filesystem::exists(status));
}

// kill -9, again and again, at moments that no one chooses; the same command goes on.
TEST(ShardProgramTest, KilledShardsGoOn) {
  const std::string folder = Fresh("killed");
  const std::vector<std::string> arguments = {"--scenario=ping-pong", "--seeds=400",
                                              "--twice-every=0", "--faults=none",
                                              "--results=" + folder};
  int kills = 0;
  int unharmed = 0;
  for (int wait_us = 3000;; wait_us += wait_us / 3) {
    harness::SubprocessOptions options;
    auto process = harness::Subprocess::Start(ExploreCommand(arguments), options).value();
    usleep(static_cast<useconds_t>(wait_us));
    process->Signal(SIGKILL);
    const ProcessEnd end = process->Finish().value();
    if (end.signal == 0) {
      EXPECT_EQ(end.exit_code, 0) << end;
      if (kills > 0 || ++unharmed == 20) break;
      // This process had no processor for longer than the shard took: once more from the beginning.
      Fresh("killed");
      wait_us = 3000;
      continue;
    }
    ++kills;
  }
  EXPECT_GE(kills, 1);
  const std::string whole = Fresh("unharmed");
  std::vector<std::string> again = arguments;
  again.back() = "--results=" + whole;
  EXPECT_EQ(RunExplore(again).exit_code, 0);
  const ProcessEnd merged = RunExplore({"merge", folder});
  EXPECT_EQ(merged.exit_code, 0) << merged;
  EXPECT_EQ(merged.out, RunExplore({"merge", whole}).out);
}

TEST(ShardProgramTest, MissingSeedsFailUnlessAPartIsWanted) {
  const std::string folder = Fresh("missing");
  RunExplore({"--scenario=ping-pong", "--seeds=40", "--shard=1/4", "--results=" + folder});
  const ProcessEnd end = RunExplore({"merge", folder});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(Lines(end.err),
              ElementsAre("explore: seeds 1-10 are in no file, and 1 more such: --partial reports "
                          "what is there"));
  const ProcessEnd partial = RunExplore({"merge", "--partial", folder});
  EXPECT_EQ(partial.exit_code, 0) << partial;
  EXPECT_EQ(partial.LastLine(), "missing: seeds 21-40 are in no file");
}

// A rule that fires in one shard only is no fault of the others: all of them together are asked.
TEST(ShardProgramTest, RulesOfAFileAreAskedOfAllShardsTogether) {
  const std::string folder = Fresh("rules");
  std::filesystem::create_directories(folder);
  const std::string plan = folder + "/plan.json";
  std::ofstream(plan) << R"({"rules": [{"name": "third peer", "fault": "unreachable",
                                        "when": {"peer": 2}}]})";
  const std::vector<std::string> arguments = {"--seeds=4", "--faults=" + plan, "--shard=0/2",
                                              "--results=" + folder};
  EXPECT_EQ(RunExplore(arguments).exit_code, 0);
  std::vector<std::string> other = arguments;
  other[2] = "--shard=1/2";
  EXPECT_EQ(RunExplore(other).exit_code, 0);
  const ProcessEnd merged = RunExplore({"merge", folder});
  EXPECT_EQ(merged.exit_code, 1) << merged;
  EXPECT_THAT(merged.err, HasSubstr("rule 1 (third peer) fired 0 times"));
}

TEST(ShardProgramTest, BadInputIsOneLineAndTwo) {
  const std::string folder = Fresh("bad");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/cut.results") << "drydock-results 1 00 7\n{";
  RunExplore({"--scenario=ping-pong", "--seeds=4", "--results=" + folder + "/good"});
  ExpectRefused({{{"--shard=4/4"}, "--shard=4/4: it takes i/n, from 0/n to n-1/n"},
                 {{"--shards=0"}, "--shards=0: 0 shards are none"},
                 {{"--shard=0/1", "--shards=0"}, "--shards=0: 0 shards are none"},
                 {{"--shards=4"}, "--shards is for a scheduler's environment"},
                 {{"--shard=0/2", "--seed=1"}, "--shard and --results are for many seeds"},
                 {{"--results=" + folder, "--sweep"}, "--shard and --results are for many seeds"},
                 {{"--shard=0/2", "--until=covered"}, "--until looks at all seeds"},
                 {{"--results=/proc/nowhere"}, "--results=/proc/nowhere: "},
                 {{"--results=" + folder + "/good", "--scenario=ping-pong", "--seeds=5"},
                  "not what was asked"},
                 {{"merge"}, "no files: there is nothing to merge"},
                 {{"merge", "/nowhere"}, "/nowhere: no such file"},
                 {{"merge", "--seed=7", folder}, "merge takes no --seed"},
                 {{"merge", folder}, "cut.results: is cut or was changed"},
                 {{"merge", folder + "/good/ping-pong-00000-of-00001.results", folder + "/good"},
                  "seed 1 is in "}});
}

}  // namespace
}  // namespace drydock::apps
