// Seed tests as Bazel and a person run them: which seeds they run, and what a failure says.

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::harness {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ProcessEnd RunTests(const std::string& filter,
                    std::map<std::string, std::string> environment = {}) {
  SubprocessOptions options;
  options.environment = std::move(environment);
  options.environment.try_emplace("TEST_TARGET", "//some:test");
  options.environment["TEST_PREMATURE_EXIT_FILE"] = "";  // Bazel's, of this test
  options.environment["XML_OUTPUT_FILE"] = "";
  options.environment["GTEST_OUTPUT"] = "";
  options.environment["TESTBRIDGE_TEST_ONLY"] = "";
  options.environment.try_emplace("TEST_UNDECLARED_OUTPUTS_DIR", "");
  return Subprocess::Run({ProgramPath("DRYDOCK_SEED_TESTS"), "--gtest_filter=" + filter}, options)
      .value();
}

// The seeds that were run, in order.
std::vector<std::uint64_t> SeedsRun(const ProcessEnd& end) {
  std::vector<std::uint64_t> seeds;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(end.out, '\n'))) {
    std::uint64_t seed = 0;
    if (absl::StartsWith(line, "ran ") && absl::SimpleAtoi(line.substr(4), &seed)) {
      seeds.push_back(seed);
    }
  }
  return seeds;
}

std::vector<std::uint64_t> AllSeeds() {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1000; seed < 1130; ++seed) seeds.push_back(seed);
  return seeds;
}

TEST(SeedTestTest, EverySeedIsRunOnce) {
  const ProcessEnd end = RunTests("Sweep.*");
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(SeedsRun(end), AllSeeds());
}

TEST(SeedTestTest, ShardsCoverEverySeedExactlyOnce) {
  for (const int shards : {2, 3, 7}) {
    std::vector<std::uint64_t> seeds;
    for (int shard = 0; shard < shards; ++shard) {
      // As Bazel's test-setup.sh has it for a target with shard_count.
      const ProcessEnd end = RunTests("Sweep.*", {{"GTEST_TOTAL_SHARDS", std::to_string(shards)},
                                                  {"GTEST_SHARD_INDEX", std::to_string(shard)}});
      EXPECT_EQ(end.exit_code, 0) << end;
      const std::vector<std::uint64_t> run = SeedsRun(end);
      EXPECT_LT(run.size(), AllSeeds().size());
      seeds.insert(seeds.end(), run.begin(), run.end());
    }
    std::sort(seeds.begin(), seeds.end());
    EXPECT_EQ(seeds, AllSeeds()) << shards << " shards";
  }
}

TEST(SeedTestTest, FailureNamesItsSeedAndTheCommandThatRunsItAlone) {
  const ProcessEnd end = RunTests("Broken.WrongData/*");
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("Broken.WrongData fails with seed 42 (faults none): wrong-data: "
                              "page 3\n  alone: ./bazelw test //some:test "
                              "--test_env=DRYDOCK_SEED=42 --test_filter='Broken.WrongData*'"),
                    HasSubstr("[  PASSED  ] 3 tests."), HasSubstr("[  FAILED  ] 1 test"),
                    Not(HasSubstr("seed 44"))));
}

TEST(SeedTestTest, HangErrorAndExpectationAreFailures) {
  EXPECT_THAT(
      RunTests("Broken.Hang/*").out,
      HasSubstr("Broken.Hang fails with seed 30 (faults swarm): hang: nothing is under way"));
  EXPECT_THAT(RunTests("Broken.Error/*").out,
              HasSubstr("fails with seed 7 (faults none): unexplained-error: for no reason"));
  EXPECT_THAT(RunTests("Broken.Expectation/*").out,
              HasSubstr("fails with seed 9 (faults swarm): an expectation of its body failed"));
}

// Such a body cannot be made to return: the process ends, and still says how to see it again.
TEST(SeedTestTest, BodyThatPollsForEverNamesItsSeedAndItsCommand) {
  const ProcessEnd end = RunTests("Broken.PollsForEver/*");
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, AllOf(HasSubstr("Broken.PollsForEver fails with seed 3 (faults none): hang: "
                                       "nothing is under way"),
                             HasSubstr("\n  alone: ./bazelw test //some:test "
                                       "--test_env=DRYDOCK_SEED=3 "
                                       "--test_filter='Broken.PollsForEver*'\n"),
                             HasSubstr("who waits for whom")));
}

TEST(SeedTestTest, OneSeedCanBeRunAlone) {
  const ProcessEnd fine = RunTests("Sweep.*", {{"DRYDOCK_SEED", "77"}});
  EXPECT_EQ(fine.exit_code, 0) << fine;
  EXPECT_THAT(SeedsRun(fine), ElementsAre(77));
  EXPECT_THAT(fine.out, AllOf(HasSubstr("Sweep.IsFine with seed 77 alone, faults swarm"),
                              HasSubstr("\"about\": \"swarm of seed 77\"")));
  const ProcessEnd broken = RunTests("Broken.WrongData*", {{"DRYDOCK_SEED", "44"}});
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.out, HasSubstr("fails with seed 44"));
  EXPECT_EQ(RunTests("Broken.WrongData*", {{"DRYDOCK_SEED", "43"}}).exit_code, 0);
}

TEST(SeedTestTest, NumberOfSeedsCanBeAsked) {
  const ProcessEnd end = RunTests("Sweep.*", {{"DRYDOCK_SEEDS", "53"}});
  EXPECT_EQ(end.exit_code, 0) << end;
  const std::vector<std::uint64_t> seeds = SeedsRun(end);
  ASSERT_EQ(seeds.size(), 53u);
  EXPECT_EQ(seeds.front(), 1000u);
  EXPECT_EQ(seeds.back(), 1052u);
  for (const char* wrong : {"0", "many", "-1"}) {
    const ProcessEnd refused = RunTests("Sweep.*", {{"DRYDOCK_SEEDS", wrong}});
    EXPECT_EQ(refused.exit_code, 1) << wrong;
    EXPECT_THAT(refused.out, HasSubstr("it takes how many seeds")) << wrong;
  }
}

TEST(SeedTestTest, FailureLeavesACapsuleThatIsTheSameRunAgain) {
  const std::string folder = ::testing::TempDir();
  const ProcessEnd end = RunTests("Broken.WrongData/*", {{"TEST_UNDECLARED_OUTPUTS_DIR", folder}});
  EXPECT_THAT(end.out, HasSubstr("\n  capsule: Broken.WrongData-42.capsule in the test's outputs"));
  const std::string capsule = folder + "/Broken.WrongData-42.capsule";
  const ProcessEnd again = RunTests("Broken.WrongData*", {{"DRYDOCK_CAPSULE", capsule}});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.out,
              AllOf(HasSubstr("which was wrong-data: page 3"), HasSubstr("It is the same run."),
                    HasSubstr("Broken.WrongData fails with seed 42")));
  const ProcessEnd other = RunTests("Broken.Hang*", {{"DRYDOCK_CAPSULE", capsule}});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.out, HasSubstr("the capsule is of scenario Broken.WrongData, not Broken.Hang"));
  const ProcessEnd none = RunTests("Broken.Hang*", {{"DRYDOCK_CAPSULE", folder + "/none"}});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.out, HasSubstr("DRYDOCK_CAPSULE: " + folder + "/none: No such file"));
}

TEST(SeedTestTest, FailureWithoutBazelNamesTheProgramAndTheWholePathOfItsCapsule) {
  const std::string folder =
      std::filesystem::path(::testing::TempDir()) / "capsules" / "made_by_the_test";
  const ProcessEnd end = RunTests("Broken.WrongData/*",
                                  {{"TEST_TARGET", ""}, {"TEST_UNDECLARED_OUTPUTS_DIR", folder}});
  const std::string program = std::filesystem::canonical(ProgramPath("DRYDOCK_SEED_TESTS"));
  const std::string capsule = folder + "/Broken.WrongData-42.capsule";
  const std::string filter = " --gtest_filter='Broken.WrongData*'";
  EXPECT_THAT(end.out, AllOf(HasSubstr("\n  alone: DRYDOCK_SEED=42 " + program + filter),
                             HasSubstr("\n  capsule: " + capsule + "; again: DRYDOCK_CAPSULE=" +
                                       capsule + " " + program + filter)));
  const ProcessEnd again =
      RunTests("Broken.WrongData*", {{"TEST_TARGET", ""}, {"DRYDOCK_CAPSULE", capsule}});
  EXPECT_THAT(again.out, HasSubstr("It is the same run."));
}

TEST(SeedTestTest, CapsuleOfAnotherProgramSaysThatTheRunIsAnother) {
  const std::string folder = ::testing::TempDir();
  RunTests("Broken.Error/*", {{"TEST_UNDECLARED_OUTPUTS_DIR", folder}});
  const std::string path = folder + "/Broken.Error-7.capsule";
  auto capsule = sim::explore::ReadCapsule(path);
  ASSERT_TRUE(capsule.ok()) << capsule.status();
  capsule->run.seed = 8;  // which that body gets through
  ASSERT_TRUE(sim::explore::WriteCapsule(path, *capsule).ok());
  const ProcessEnd end = RunTests("Broken.Error*", {{"DRYDOCK_CAPSULE", path}});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, HasSubstr("It is another run: 0 events then, 0 now, and correct"));
}

TEST(SeedTestTest, SeedThatIsNoNumberIsAFailure) {
  const ProcessEnd end = RunTests("Sweep.*", {{"DRYDOCK_SEED", "x"}});
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_THAT(end.out, HasSubstr("DRYDOCK_SEED=x: it takes a whole number"));
  EXPECT_THAT(SeedsRun(end), IsEmpty());
}

}  // namespace
}  // namespace drydock::harness
