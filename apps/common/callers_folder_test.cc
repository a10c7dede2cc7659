#include "drydock/apps/common/callers_folder.h"

#include <cstdlib>
#include <filesystem>

#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

// A folder of the caller, and one of Bazel's for a program; the test begins in the latter.
class CallersFolderTest : public ::testing::Test {
 protected:
  CallersFolderTest() {
    fs::create_directories(caller_);
    fs::create_directories(bazels_);
    fs::current_path(bazels_);
    setenv("BUILD_WORKING_DIRECTORY", caller_.c_str(), 1);
  }
  ~CallersFolderTest() override {
    unsetenv("BUILD_WORKING_DIRECTORY");
    fs::current_path(before_);
    fs::remove_all(root_);
  }

  const fs::path before_ = fs::current_path();
  const fs::path root_ =
      fs::canonical(fs::path(::testing::TempDir())) / "callers_folder_test.folders";
  const fs::path caller_ = root_ / "caller";
  const fs::path bazels_ = root_ / "write.runfiles" / "drydock";
};

TEST_F(CallersFolderTest, AProgramOfBazelRunGoesToItsCaller) {
  EXPECT_THAT(GoToCallersFolder(), IsOk());
  EXPECT_EQ(fs::current_path(), caller_);
}

TEST_F(CallersFolderTest, AProgramOfAScriptThatHasGoneOnStays) {
  const fs::path elsewhere = root_ / "elsewhere";
  fs::create_directories(elsewhere);
  fs::current_path(elsewhere);
  EXPECT_THAT(GoToCallersFolder(), IsOk());
  EXPECT_EQ(fs::current_path(), elsewhere);
}

TEST_F(CallersFolderTest, WithoutACallerAProgramStays) {  // as in a test
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_THAT(GoToCallersFolder(), IsOk());
  EXPECT_EQ(fs::current_path(), bazels_);
}

TEST_F(CallersFolderTest, AFolderThatHasGoneIsNamed) {
  fs::remove(caller_);
  EXPECT_THAT(GoToCallersFolder(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(caller_.string())));
  EXPECT_EQ(fs::current_path(), bazels_);
}

}  // namespace
}  // namespace drydock::apps
