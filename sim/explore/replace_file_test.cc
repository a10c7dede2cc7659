#include "drydock/sim/explore/replace_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

namespace fs = std::filesystem;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string NewFolder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + name;
  fs::remove_all(folder);
  fs::create_directory(folder);
  return folder;
}

TEST(ReplaceFileTest, ANewFileTakesTheOldOnesPlaceAndNothingElseIsLeft) {
  const std::string folder = NewFolder("replaced");
  const std::string path = folder + "/file";
  for (const bool forced : {false, true}) {
    std::ofstream(path) << "old";
    std::ifstream reader(path);
    EXPECT_EQ(ReplaceFile(path, "new", forced), 0);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
    EXPECT_EQ(Read(path), "new");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  }
}

// As of another container's process with the same number, on a disk that both see.
TEST(ReplaceFileTest, ADraftOfAnotherProcessIsNotTouched) {
  const std::string path = NewFolder("drafts") + "/file";
  const std::string other = path + "." + std::to_string(getpid()) + ".part";
  std::ofstream(other) << "half of";
  EXPECT_EQ(ReplaceFile(path, "all", /*forced=*/false), 0);
  EXPECT_EQ(Read(path), "all");
  EXPECT_EQ(Read(other), "half of");
}

TEST(ReplaceFileTest, AnErrorLeavesTheFileAsItWas) {
  EXPECT_EQ(ReplaceFile("/no/such/folder/file", "text", /*forced=*/true), ENOENT);
  const std::string folder = NewFolder("kept");
  fs::create_directories(folder + "/file/below");
  EXPECT_NE(ReplaceFile(folder + "/file", "text", /*forced=*/false), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace drydock::sim::explore
