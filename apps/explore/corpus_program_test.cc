// Searches with a corpus, as a person types them.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "drydock/apps/explore/testing/explore_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using harness::ProcessEnd;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class CorpusProgramTest : public ::testing::Test {
 protected:
  CorpusProgramTest() { std::filesystem::remove_all(folder_); }

  std::vector<std::string> Search(const std::string& scenario,
                                  const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"--scenario=" + scenario, "--seeds=200",
                                          "--parameters=pages=2,page_bytes=64",
                                          "--corpus=" + folder_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  // Of the folder, not of failures.
  std::vector<std::string> Capsules() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == ".capsule") paths.push_back(entry.path().string());
    }
    return paths;
  }

  const std::string folder_ = ::testing::TempDir() + "corpus";
};

TEST_F(CorpusProgramTest, GrowsFromRunToRun) {
  const ProcessEnd first = RunExplore(Search("write", {"--json"}));
  EXPECT_EQ(first.exit_code, 0) << first;
  const auto begun = nlohmann::json::parse(first.out)["corpus"];
  EXPECT_EQ(begun["folder"], folder_);
  EXPECT_EQ(begun["found"], 0);
  EXPECT_GT(begun["kept"], 10);
  const ProcessEnd second = RunExplore(Search("write", {"--first-seed=1001"}));
  EXPECT_EQ(second.exit_code, 0) << second;
  EXPECT_THAT(second.LastLine(),
              MatchesRegex("corpus .*: " + begun["kept"].dump() +
                           " runs were there, 0 of them fail now; [0-9]+ new; [0-9]+ features"));
}

TEST_F(CorpusProgramTest, FailureIsRunAgainByItsCapsule) {
  const ProcessEnd end = RunExplore(Search("write-last", {"--json"}));
  EXPECT_EQ(end.exit_code, 1) << end;
  const auto report = nlohmann::json::parse(end.out);
  ASSERT_FALSE(report["failures"].empty()) << end;
  for (const auto& failure : report["failures"]) {
    const std::string capsule = failure["capsule"];
    EXPECT_EQ(failure["replay"], "./bazelw run //apps/explore -- --replay=" + capsule);
    const ProcessEnd again = RunExplore({"--replay=" + capsule, "--json"});
    EXPECT_EQ(again.exit_code, 1) << again;
    const auto replay = nlohmann::json::parse(again.out);
    EXPECT_EQ(replay["exact"], true) << again;
    EXPECT_EQ(replay["now"]["digest"], failure["digest"]);
  }
}

// A capsule of another scenario stands for a program that has become wrong since. The one seed that
// runs beside the corpus does not fail.
TEST_F(CorpusProgramTest, RunOfTheCorpusThatFailsNowIsAFailure) {
  ASSERT_EQ(RunExplore(Search("write")).exit_code, 0);
  for (const std::string& path : Capsules()) {
    auto capsule = nlohmann::json::parse(std::ifstream(path));
    capsule["scenario"] = "write-last";
    std::ofstream(folder_ + "/write-last" + path.substr(path.rfind('-'))) << capsule.dump();
  }
  const std::vector<std::string> one = {"--seeds=1", "--first-seed=4"};
  const ProcessEnd end = RunExplore(Search("write-last", one));
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, HasSubstr(" fails now: wrong-data: "));
  EXPECT_THAT(end.out, HasSubstr("  ./bazelw run //apps/explore -- --replay=" + folder_));
  std::vector<std::string> json = Search("write-last", one);
  json.push_back("--json");
  const ProcessEnd again = RunExplore(json);
  EXPECT_EQ(again.exit_code, 1) << again;
  const auto report = nlohmann::json::parse(again.out);
  EXPECT_EQ(report["failed"], 0) << "take another seed: of the seeds, none is to fail";
  EXPECT_FALSE(report["corpus"]["regressions"].empty());
}

TEST_F(CorpusProgramTest, ShardsShareAFolder) {
  std::vector<std::unique_ptr<harness::Subprocess>> shards;
  for (const std::string shard : {"--shard=0/2", "--shard=1/2"}) {
    ASSERT_OK_AND_ASSIGN(auto started, harness::Subprocess::Start(
                                           ExploreCommand(Search("write", {shard, "--json"}))));
    shards.push_back(std::move(started));
  }
  std::uint64_t kept = 0;
  for (auto& shard : shards) {
    ASSERT_OK_AND_ASSIGN(const ProcessEnd end, shard->Finish());
    ASSERT_EQ(end.exit_code, 0) << end;
    const auto report = nlohmann::json::parse(end.out);
    EXPECT_EQ(report["seeds"], 100);
    kept += report["corpus"]["kept"].get<std::uint64_t>();
  }
  EXPECT_EQ(Capsules().size(), kept);
  const ProcessEnd end = RunExplore(Search("write", {"--first-seed=1001"}));
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.LastLine(), HasSubstr(": " + std::to_string(kept) + " runs were there"));
}

TEST_F(CorpusProgramTest, ShardSaysWhichSeedsItHadAndMayHaveNone) {
  const ProcessEnd one = RunExplore(Search("write", {"--shard=1/4"}));
  EXPECT_EQ(one.exit_code, 0) << one;
  EXPECT_THAT(one.LastLine(), HasSubstr("shard 1/4 (--shard): seeds 51-100"));
  const ProcessEnd none = RunExplore(Search("write", {"--seeds=1", "--shard=0/4"}));
  EXPECT_EQ(none.exit_code, 0) << none;
  EXPECT_THAT(none.LastLine(), HasSubstr("no seeds"));
}

TEST_F(CorpusProgramTest, RefusesWhatHasNoMeaning) {
  const std::string corpus = "--corpus=" + folder_;
  ExpectRefused({
      {{corpus, "--seed=3"}, "--corpus is for many seeds"},
      {{corpus, "--sweep"}, "--corpus is for many seeds"},
      {{corpus, "--strategy=exhaustive"}, "--corpus is for many seeds"},
      {{corpus, "--faults=none"}, "it takes no --faults=none"},
      {{corpus, "--results=" + folder_}, "it takes no --results"},
      {{corpus, "--until=covered"}, "it takes no --results, --until"},
      {{corpus, "--profile-sweep"}, "--profile-sweep"},
      {{corpus, "--capsules=none"}, "--corpus takes no --capsules"},
      {{corpus, "--csv"}, "--corpus takes no --csv"},
  });
  std::filesystem::create_directories(folder_);
  const std::string name = "write-0123456789abcdef.capsule";
  std::ofstream(folder_ + "/" + name) << "nothing";
  ExpectRefused({{{corpus}, name}});
}

}  // namespace
}  // namespace drydock::apps
