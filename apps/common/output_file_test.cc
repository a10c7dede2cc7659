// Files that flags name: nothing is touched by a check, and all of it or nothing is written.

#include "drydock/apps/common/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <ostream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

ABSL_FLAG(std::string, faults, "", "");
ABSL_FLAG(std::string, svg, "", "");
ABSL_FLAG(std::string, trace, "", "");

namespace drydock::apps {
namespace {

namespace fs = std::filesystem;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() {
    std::string name = ::testing::TempDir() + "/output-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string At(const std::string& name) const { return (folder_ / name).string(); }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static absl::Status Write(const std::string& path, const std::string& text) {
    return WriteOutput("out", path, [&](std::ostream& out) { out << text; });
  }
  std::size_t Files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

// The environment of a rank of mpirun, as long as this lives.
class AsRank {
 public:
  AsRank(const char* rank, const char* ranks) {
    setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    setenv("OMPI_COMM_WORLD_SIZE", ranks, 1);
  }
  AsRank(const AsRank&) = delete;
  AsRank& operator=(const AsRank&) = delete;
  ~AsRank() {
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
  }
};

TEST_F(OutputFileTest, RanksOfALauncherHaveAFileEach) {
  EXPECT_EQ(PathOfThisRank("run.html"), "run.html");
  {
    const AsRank alone("0", "1");
    EXPECT_EQ(PathOfThisRank("run.html"), "run.html");
  }
  const AsRank rank("3", "12");
  EXPECT_EQ(PathOfThisRank("run.html"), "run.rank3.html");
  EXPECT_EQ(PathOfThisRank(At("of.a.folder/run")), At("of.a.folder/run.rank3"));
  EXPECT_EQ(PathOfThisRank(""), "");
  ASSERT_THAT(Write(At("old.json"), "kept"), IsOk());
  EXPECT_EQ(PathOfThisRank(At("old.json")), At("old.rank3.json"));
  fs::create_symlink(At("old.json"), At("link.json"));
  EXPECT_EQ(PathOfThisRank(At("link.json")), At("link.rank3.json"));
}

TEST_F(OutputFileTest, WhatIsNoFileOrIsOpenAlreadyHasNoRank) {
  const AsRank rank("3", "12");
  EXPECT_EQ(PathOfThisRank("/dev/null"), "/dev/null");
  EXPECT_EQ(PathOfThisRank(folder_.string()), folder_.string());
  const int file = open(At("open").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const std::string path = folder + std::to_string(file);
    EXPECT_EQ(PathOfThisRank(path), path);
  }
  const int out = dup(STDOUT_FILENO);
  dup2(file, STDOUT_FILENO);
  const std::string printed = PathOfThisRank("/dev/stdout");
  dup2(out, STDOUT_FILENO);
  close(out);
  close(file);
  EXPECT_EQ(printed, "/dev/stdout");
}

TEST_F(OutputFileTest, ACheckTouchesNothing) {
  ASSERT_THAT(Write(At("old"), "kept"), IsOk());
  EXPECT_THAT(CheckOutput("out", At("old")), IsOk());
  EXPECT_EQ(Read(At("old")), "kept");
  EXPECT_THAT(CheckOutput("out", At("new")), IsOk());
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, WhatCannotBeWritten) {
  ASSERT_THAT(Write(At("file"), ""), IsOk());
  for (const std::string& path : {std::string(), At(""), At("none/file"), At("file/below")}) {
    EXPECT_THAT(CheckOutput("out", path),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--out=" + path)));
    EXPECT_THAT(Write(path, "text"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be written: ")));
  }
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, WhoWritesReplacesTheFileAndLeavesNoOther) {
  ASSERT_THAT(Write(At("file"), "old"), IsOk());
  constexpr fs::perms kOfTheFile =
      fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read;
  fs::permissions(At("file"), kOfTheFile);
  fs::create_symlink("file", At("link"));
  ASSERT_THAT(Write(At("link"), "new"), IsOk());
  EXPECT_EQ(fs::status(At("file")).permissions(), kOfTheFile);
  EXPECT_EQ(Read(At("file")), "new");
  EXPECT_TRUE(fs::is_symlink(At("link")));
  EXPECT_EQ(Files(), 2u);
}

TEST_F(OutputFileTest, ALinkToNothingMakesTheFile) {
  fs::create_symlink("file", At("link"));
  ASSERT_THAT(Write(At("link"), "new"), IsOk());
  EXPECT_EQ(Read(At("file")), "new");
  EXPECT_TRUE(fs::is_symlink(At("link")));
  EXPECT_EQ(Files(), 2u);
}

// As `program --out=/dev/stdout > file`, and `program --out=file > file`.
TEST_F(OutputFileTest, WhatIsPrintedToTheSameFileStaysAndKeepsItsPlace) {
  std::cout.flush();
  std::fflush(nullptr);
  const int before = dup(STDOUT_FILENO);
  const int file = open(At("file").c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(file, STDOUT_FILENO);
  std::cout << "one\n";
  const absl::Status first = Write("/dev/stdout", "two\n");
  std::cout << "three\n";
  const absl::Status second = Write(At("file"), "four\n");
  std::cout << "five\n" << std::flush;
  dup2(before, STDOUT_FILENO);
  close(before);
  close(file);
  EXPECT_THAT(first, IsOk());
  EXPECT_THAT(second, IsOk());
  EXPECT_EQ(Read(At("file")), "one\ntwo\nthree\nfour\nfive\n");
}

// A stream that fails half-way, as on a full disk.
TEST_F(OutputFileTest, AfterAnErrorTheOldFileIsThere) {
  ASSERT_THAT(Write(At("file"), "old"), IsOk());
  const absl::Status failed = WriteOutput("out", At("file"), [](std::ostream& out) {
    out << "ne";
    out.setstate(std::ios::badbit);
  });
  EXPECT_THAT(failed, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(Read(At("file")), "old");
  EXPECT_EQ(Files(), 1u);
  EXPECT_THAT(Write("/dev/full", "text"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("No space left")));
  EXPECT_THAT(Write("/dev/null", "text"), IsOk());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// Of the folder alone one could tell that another file can come in its place.
TEST_F(OutputFileTest, AFileThatMayNotBeWrittenStays) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  ASSERT_THAT(Write(At("file"), "old"), IsOk());
  fs::permissions(At("file"), fs::perms::owner_read);
  EXPECT_THAT(Write(At("file"), "new"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(Read(At("file")), "old");
}

TEST_F(OutputFileTest, WhatStandsInTheWayOfTheDraftIsNotFollowed) {
  ASSERT_THAT(Write(At("other"), "kept"), IsOk());
  fs::create_symlink("other", At("file") + "." + std::to_string(getpid()) + ".part");
  EXPECT_THAT(Write(At("file"), "new"), IsOk());
  EXPECT_EQ(Read(At("file")), "new");
  EXPECT_EQ(Read(At("other")), "kept");
}

TEST_F(OutputFileTest, WhatIsReadIsSpared) {
  ASSERT_THAT(Write(At("file"), "old"), IsOk());
  fs::create_symlink("file", At("link"));
  EXPECT_THAT(CheckSpares("out", At("link"), {At("none"), At("file")}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("this run reads")));
  EXPECT_THAT(CheckSpares("out", At("other"), {At("file")}), IsOk());
  EXPECT_THAT(CheckSpares("out", "", {At("file")}), IsOk());
}

TEST_F(OutputFileTest, AllFilesOfARunAreCheckedAtOnce) {
  EXPECT_THAT(CheckOutputs({{"one", At("a")}, {"other", At("b")}, {"third", ""}}), IsOk());
  EXPECT_THAT(CheckOutputs({{"one", At("a")}, {"other", At("none/b")}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--other=")));
  EXPECT_THAT(CheckOutputs({{"one", At("a")}, {"other", At("./a")}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--one and --other are both to be in")));
}

TEST_F(OutputFileTest, EachFlagNamesAFileOfItsOwn) {
  const auto check = [&](const std::string& faults, const std::string& svg,
                         const std::string& trace) {
    absl::SetFlag(&FLAGS_faults, faults);
    absl::SetFlag(&FLAGS_svg, svg);
    absl::SetFlag(&FLAGS_trace, trace);
    return CheckOutputFlag("trace", trace);
  };
  const auto refuses = [](const char* words) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words));
  };
  EXPECT_THAT(check("", "", At("a")), IsOk());
  EXPECT_THAT(check("none", At("b"), At("a")), IsOk());
  EXPECT_THAT(check("", At("b"), At("none/a")), refuses("cannot be written"));
  EXPECT_THAT(check("", At("a"), At("./a")), refuses("--trace and --svg are both to be in"));
  EXPECT_THAT(check("", At("file"), At("link")), IsOk());
  fs::create_symlink("file", At("link"));
  EXPECT_THAT(check("", At("file"), At("link")), refuses("are both to be in"));
  EXPECT_THAT(check("", "/dev/null", "/dev/null"), IsOk());
  ASSERT_THAT(Write(At("file"), "a plan"), IsOk());
  EXPECT_THAT(check(At("link"), "", At("file")), refuses("is a file that this run reads"));
}

}  // namespace
}  // namespace drydock::apps
