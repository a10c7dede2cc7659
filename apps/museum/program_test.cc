// The program as a person or a script meets it, and its capsules in the hands of explore.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::museum {
namespace {

using harness::ProcessEnd;
using ::testing::HasSubstr;

ProcessEnd Start(const char* program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), harness::ProgramPath(program));
  return harness::Subprocess::Run(arguments, {}).value();
}

ProcessEnd RunMuseum(const std::vector<std::string>& arguments) {
  return Start("DRYDOCK_MUSEUM", arguments);
}

TEST(MuseumProgramTest, TheTableOfOneExhibit) {
  const ProcessEnd end =
      RunMuseum({"--exhibit=offset-zero", "--seeds=20", "--capsules=none", "--json"});
  ASSERT_EQ(end.exit_code, 0) << end;
  const auto rows = nlohmann::json::parse(end.out)["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["exhibit"], "offset-zero");
  EXPECT_EQ(rows[0]["found_by"], "wrong-data");
  EXPECT_EQ(rows[0]["seeds"], 1);
  EXPECT_EQ(rows[0]["repaired_seeds"], 20);
  EXPECT_EQ(rows[0]["repaired_failed"], 0);
}

TEST(MuseumProgramTest, ACapsuleIsReplayedBitForBitByExplore) {
  const std::string folder = ::testing::TempDir() + "museum-capsules";
  const ProcessEnd found =
      RunMuseum({"--exhibit=failure-never-told", "--seeds=1", "--capsules=" + folder, "--json"});
  ASSERT_EQ(found.exit_code, 0) << found;
  const std::string capsule = nlohmann::json::parse(found.out)["rows"][0]["capsule"];
  const ProcessEnd replay = Start("DRYDOCK_EXPLORE", {"--replay=" + capsule});
  EXPECT_EQ(replay.exit_code, 1) << replay;
  EXPECT_THAT(replay.out, HasSubstr("scenario museum-failure-never-told"));
  EXPECT_THAT(replay.out, HasSubstr("replayed bit for bit"));
}

TEST(MuseumProgramTest, WithoutAPlaceForCapsulesTheTableIsPrinted) {
  const std::string temporary = ::testing::TempDir() + "museum-temporary";
  std::filesystem::create_directory(temporary);
  std::ofstream(temporary + "/drydock-capsules-" + std::to_string(geteuid())) << "no folder";
  const std::vector<std::string> tour = {"--exhibit=offset-zero", "--seeds=20", "--json"};
  const std::vector<std::string> seed = {"--exhibit=offset-zero", "--seed=1", "--json"};
  for (std::vector<std::string> command : {tour, seed}) {
    command.insert(command.begin(), harness::ProgramPath("DRYDOCK_MUSEUM"));
    harness::SubprocessOptions options;
    options.environment["TMPDIR"] = temporary;
    const ProcessEnd end = harness::Subprocess::Run(command, options).value();
    EXPECT_EQ(end.exit_code, 0) << end;
    EXPECT_FALSE(nlohmann::json::parse(end.out)["rows"].empty()) << end;
    EXPECT_THAT(end.err, HasSubstr("/drydock-capsules-"));
  }
}

TEST(MuseumProgramTest, ASeedOfBothTwins) {
  const ProcessEnd end =
      RunMuseum({"--exhibit=both-drain", "--seed=3", "--capsules=none", "--json"});
  ASSERT_EQ(end.exit_code, 0) << end;
  const auto rows = nlohmann::json::parse(end.out)["rows"];
  EXPECT_EQ(rows[0]["verdict"], "hang");
  EXPECT_EQ(rows[1]["verdict"], "correct");
}

TEST(MuseumProgramTest, AWrongTwinThatIsNotFoundEndsWithOne) {
  const ProcessEnd end =
      RunMuseum({"--exhibit=failure-never-told", "--seeds=1", "--most-seeds=1", "--capsules=none"});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, HasSubstr("failure-never-told: not found in 1 seed\n"));
}

TEST(MuseumProgramTest, TheListNamesProjects) {
  const ProcessEnd end = RunMuseum({"--list"});
  EXPECT_EQ(end.exit_code, 0) << end;
  for (const char* word : {"ai-dynamo/nixl", "aws/aws-ofi-nccl", "kvcache-ai/Mooncake",
                           "uccl-project/uccl", "ofiwg/libfabric", "flag-overtakes"}) {
    EXPECT_THAT(end.out, HasSubstr(word));
  }
}

TEST(MuseumProgramTest, BadInputEndsWithTwoAndALine) {
  for (const auto& [flag, text] : std::vector<std::pair<std::string, std::string>>{
           {"--exhibit=nothing", "does not exist: again-never-reads"},
           {"--seed=1", "--seed needs --exhibit"},
           {"--seeds=0", "take a number above 0"},
           {"--capsules=/dev/null", "--capsules=/dev/null: "},
           {"stray", "'stray' is no flag"}}) {
    const ProcessEnd end = RunMuseum({flag});
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(end.err, HasSubstr(text));
    EXPECT_EQ(end.out, "");
  }
  EXPECT_EQ(RunMuseum({"--exhibit=both-drain", "--seed=x"}).exit_code, 2);
  EXPECT_THAT(RunMuseum({"--exhibit=both-drain", "--seed=1", "--seeds=5"}).err,
              HasSubstr("--seeds is for many seeds: not with --seed"));
  EXPECT_THAT(RunMuseum({"--list", "--exhibit=both-drain", "--seed=1"}).err,
              HasSubstr("--list takes no --seed"));
  EXPECT_THAT(RunMuseum({"--help"}).out, HasSubstr("--most-seeds"));
}

}  // namespace
}  // namespace drydock::museum
