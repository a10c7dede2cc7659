#include "drydock/apps/common/program_command.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

class ProgramCommandTest : public ::testing::Test {
 protected:
  ProgramCommandTest() { std::filesystem::create_directories(folder_); }
  ~ProgramCommandTest() override { std::filesystem::remove_all(folder_); }

  void Make(const char* name) { std::ofstream(folder_ / name) << "\n"; }

  std::string From(const char* self, absl::string_view program, absl::string_view arguments = "") {
    return ProgramCommandFrom((folder_ / self).string(), program, arguments);
  }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / "program_command";
};

TEST_F(ProgramCommandTest, InAClone) {
  EXPECT_EQ(From("doctor", "write"), "./bazelw run //apps/write");
  EXPECT_EQ(From("doctor", "write", "--profile=p5"), "./bazelw run //apps/write -- --profile=p5");
  EXPECT_EQ(From("doctor", "efa-run", "fi_info"), "./bazelw run //sim/verbs:efa-run -- fi_info");
  EXPECT_EQ(ProgramCommandFrom("", "info", ""), "./bazelw run //apps/info");
  EXPECT_EQ(ProgramCommand("gpuloc"), "./bazelw run //apps/gpuloc");
}

TEST_F(ProgramCommandTest, InAPackage) {
  Make("version.txt");
  EXPECT_EQ(From("doctor", "write"), "drydock write");
  EXPECT_EQ(From("explore", "efa-run", "fi_info -p efa"), "drydock efa-run fi_info -p efa");
}

TEST_F(ProgramCommandTest, InAnImageOfSomePrograms) {
  Make("drydock-write");
  EXPECT_EQ(From("drydock-doctor", "write", "--profile=p5"), "drydock-write --profile=p5");
  EXPECT_EQ(From("drydock-doctor", "gpuloc"), "./bazelw run //apps/gpuloc");
}

TEST(ShellWordsTest, ACommandCanBeTypedAgain) {
  EXPECT_EQ(AsShellWords({"efa-run", "--faults=a b.json", "it's", "", "$x", "./test"}),
            R"(efa-run '--faults=a b.json' 'it'\''s' '' '$x' ./test)");
  EXPECT_EQ(AsShellWords({"a\x1b[2Jb'c\n"}), R"($'a\033[2Jb\'c\n')");
}

}  // namespace
}  // namespace drydock::apps
