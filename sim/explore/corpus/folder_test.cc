#include "drydock/sim/explore/corpus/folder.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/testing/test_scenarios.h"
#include "drydock/sim/explore/traced_run.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() { std::filesystem::remove_all(folder_); }

  Capsule CapsuleOf(std::uint64_t seed) const {
    const RunSpec spec = SpecOf(seed, Swarm());
    return MakeCapsule(scenario_, spec, RunTraced(scenario_, spec));
  }

  const std::string folder_ = ::testing::TempDir() + "/corpus";
  const TestScenario scenario_{
      [](Trial& trial) { return Outcome::Of(trial.OpenMachine("machine").status()); }};
};

TEST_F(FolderTest, WithoutAFolderThereIsNone) {
  ASSERT_OK_AND_ASSIGN(const auto corpus, ReadCorpus(folder_, scenario_, {}));
  EXPECT_THAT(corpus, SizeIs(0));
}

TEST_F(FolderTest, GivesBackWhatWasAdded) {
  const Capsule capsule = CapsuleOf(3);
  ASSERT_OK_AND_ASSIGN(const std::string path, AddToCorpus(folder_, capsule));
  ASSERT_OK_AND_ASSIGN(const auto corpus, ReadCorpus(folder_, scenario_, {}));
  ASSERT_THAT(corpus, SizeIs(1));
  EXPECT_EQ(corpus.begin()->first, path);
  EXPECT_EQ(FormatCapsule(corpus.begin()->second), FormatCapsule(capsule));
}

TEST_F(FolderTest, EqualRunsAreOneFileAndLeaveNoPart) {
  ASSERT_THAT(AddToCorpus(folder_, CapsuleOf(3)), IsOk());
  ASSERT_THAT(AddToCorpus(folder_, CapsuleOf(3)), IsOk());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FolderTest, LeavesOtherScenariosAndFilesAlone) {
  Capsule other = CapsuleOf(3);
  other.scenario = "test-last";
  ASSERT_THAT(AddToCorpus(folder_, other), IsOk());
  std::ofstream(folder_ + "/notes.txt") << "of a person";
  std::ofstream(folder_ + "/test-3-hang.capsule") << "of a failure";
  std::ofstream(folder_ + "/test-0123456789abcdef.capsule.7.part") << "half a caps";
  ASSERT_OK_AND_ASSIGN(const auto corpus, ReadCorpus(folder_, scenario_, {}));
  EXPECT_THAT(corpus, SizeIs(0));
}

TEST_F(FolderTest, RefusesWhatIsNoCapsuleByItsPath) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/test-0123456789abcdef.capsule") << "{}";
  EXPECT_THAT(
      ReadCorpus(folder_, scenario_, {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("test-0123456789abcdef.capsule")));
}

TEST_F(FolderTest, RefusesACapsuleThatTheScenarioCannotRun) {
  Capsule capsule = CapsuleOf(3);
  capsule.run.parameters["blocks"] = 5;
  ASSERT_OK_AND_ASSIGN(const std::string path, AddToCorpus(folder_, capsule));
  EXPECT_THAT(ReadCorpus(folder_, scenario_, capsule.run.parameters),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
}

TEST_F(FolderTest, LeavesOtherParametersAlone) {
  Capsule capsule = CapsuleOf(3);
  capsule.run.parameters["blocks"] = 5;
  ASSERT_THAT(AddToCorpus(folder_, capsule), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto corpus, ReadCorpus(folder_, scenario_, {}));
  EXPECT_THAT(corpus, SizeIs(0));
}

TEST_F(FolderTest, SaysThatItCannotBeWritten) {
  std::ofstream file(folder_);
  EXPECT_THAT(AddToCorpus(folder_, CapsuleOf(3)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(folder_)));
}

}  // namespace
}  // namespace drydock::sim::explore
