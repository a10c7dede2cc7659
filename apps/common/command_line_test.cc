#include "drydock/apps/common/command_line.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

ABSL_FLAG(std::uint64_t, pages, 8,
          "Pages to transfer, a long explanation that has to be wrapped because it does not "
          "fit one line of a terminal by any means.");
ABSL_FLAG(std::string, target, "", "Who.");
ABSL_FLAG(bool, loud, false, "Say more.");
ABSL_FLAG(double, share, 0.5, "How much.");
ABSL_FLAG(std::string, two_words, "", "What.");
ABSL_FLAG(drydock::apps::OptionalText, alone, {}, "May stand alone.");

namespace drydock::apps {
namespace {

using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class CommandLineTest : public ::testing::Test {
 protected:
  absl::FlagSaver saver_;
};

TEST_F(CommandLineTest, TakesEveryFormOfAFlag) {
  ASSERT_OK_AND_ASSIGN(const auto positional,
                       ParseFlags({"first", "--pages=3", "--target", "me", "--loud", "second"}));
  EXPECT_THAT(positional, ElementsAre("first", "second"));
  EXPECT_EQ(absl::GetFlag(FLAGS_pages), 3u);
  EXPECT_EQ(absl::GetFlag(FLAGS_target), "me");
  EXPECT_TRUE(absl::GetFlag(FLAGS_loud));
  ASSERT_TRUE(ParseFlags({"--noloud"}).ok());
  EXPECT_FALSE(absl::GetFlag(FLAGS_loud));
}

TEST_F(CommandLineTest, WordsAreJoinedByEitherSign) {
  ASSERT_TRUE(ParseFlags({"--two-words=a"}).ok());
  EXPECT_EQ(absl::GetFlag(FLAGS_two_words), "a");
  ASSERT_TRUE(ParseFlags({"--two_words", "b-c"}).ok());
  EXPECT_EQ(absl::GetFlag(FLAGS_two_words), "b-c");
}

TEST_F(CommandLineTest, OneDashAloneAndNegativeNumbersAreArguments) {
  EXPECT_THAT(ParseFlags({"-", "-3"}), IsOkAndHolds(ElementsAre("-", "-3")));
}

TEST_F(CommandLineTest, TwoDashesEndTheFlags) {
  ASSERT_OK_AND_ASSIGN(const auto positional, ParseFlags({"--loud", "--", "--pages=3"}));
  EXPECT_THAT(positional, ElementsAre("--pages=3"));
  EXPECT_EQ(absl::GetFlag(FLAGS_pages), 8u);
}

TEST_F(CommandLineTest, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(ParseFlags({"--pags=3"}), StatusIs(kInvalid, HasSubstr("unknown flag --pags")));
  EXPECT_THAT(ParseFlags({"--notarget"}), StatusIs(kInvalid, HasSubstr("unknown flag --notarget")));
  EXPECT_THAT(ParseFlags({"--pages=many"}),
              StatusIs(kInvalid,
                       "--pages=many is not valid: it takes a whole number from 0 to "
                       "2^64-1"));
  EXPECT_THAT(ParseFlags({"--pages=-1"}), StatusIs(kInvalid, HasSubstr("--pages=-1")));
  EXPECT_THAT(ParseFlags({"--pages=99999999999999999999"}),
              StatusIs(kInvalid, HasSubstr("a whole number")));
  EXPECT_THAT(ParseFlags({"--share=most"}), StatusIs(kInvalid, HasSubstr("it takes a number")));
  EXPECT_THAT(ParseFlags({"-pages=3"}), StatusIs(kInvalid, HasSubstr("two dashes")));
  EXPECT_THAT(ParseFlags({"--pages"}), StatusIs(kInvalid, HasSubstr("needs a value")));
  EXPECT_THAT(ParseFlags({"--loud=perhaps"}), StatusIs(kInvalid, HasSubstr("true or false")));
  // Flags of the library are not ours.
  EXPECT_THAT(ParseFlags({"--flagfile=/etc/passwd"}),
              StatusIs(kInvalid, HasSubstr("unknown flag")));
}

TEST_F(CommandLineTest, RefusesAFlagWithoutItsValue) {
  const auto refused = StatusIs(kInvalid, "--target= is not valid: it takes a value");
  EXPECT_THAT(ParseFlags({"--target="}), refused);
  EXPECT_THAT(ParseFlags({"--target", "", "first"}), refused);
  EXPECT_THAT(ParseFlags({"--alone="}),
              StatusIs(kInvalid, "--alone= is not valid: it takes a value"));
  EXPECT_THAT(ParseFlags({"--pages="}), StatusIs(kInvalid, HasSubstr("a whole number")));
  EXPECT_THAT(ParseFlags({"--loud="}), StatusIs(kInvalid, HasSubstr("true or false")));
  EXPECT_THAT(FlagsGiven(), ElementsAre());
  EXPECT_THAT(ParseFlags({""}), IsOkAndHolds(ElementsAre("")));
}

TEST_F(CommandLineTest, TellsWhichFlagsWereGiven) {
  EXPECT_THAT(FlagsGiven(), ElementsAre());
  ASSERT_TRUE(ParseFlags({"--two-words=a", "--loud"}).ok());
  EXPECT_THAT(FlagsGiven(), ElementsAre("loud", "two-words"));
  ASSERT_TRUE(ParseFlags({"--alone"}).ok());
  EXPECT_THAT(FlagsGiven(), ElementsAre("alone", "loud", "two-words"));
  EXPECT_THAT(AcceptFlags("--loud", {"loud", "two-words"}),
              StatusIs(kInvalid, "--loud takes no --alone"));
}

TEST_F(CommandLineTest, HelpShowsOurFlagsAndOnlyThose) {
  const std::string help = HelpText({"write", "writes.", "\nADDRESS", "  write --loud"});
  EXPECT_THAT(help, HasSubstr("write: writes."));
  EXPECT_THAT(help, HasSubstr("  write ADDRESS\n"));
  EXPECT_THAT(help, HasSubstr("--pages (default 8)"));
  EXPECT_THAT(help, HasSubstr("--two-words"));
  EXPECT_THAT(help, HasSubstr("  write --loud"));
  EXPECT_THAT(help, Not(HasSubstr("flagfile")));
  for (std::size_t start = 0; start < help.size(); start = help.find('\n', start) + 1) {
    EXPECT_LE(help.find('\n', start) - start, 100u);
    if (help.find('\n', start) == std::string::npos) break;
  }
}

TEST_F(CommandLineTest, FilesAreThoseOfWhoeverCalledBazelRun) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  const fs::path caller = fs::canonical(fs::path(::testing::TempDir()));
  const fs::path bazels = caller / "command_line.runfiles" / "drydock";
  fs::create_directories(bazels);
  fs::current_path(bazels);
  ASSERT_EQ(setenv("BUILD_WORKING_DIRECTORY", caller.c_str(), 1), 0);
  std::string words[] = {"write", "run.json"};
  char* arguments[] = {words[0].data(), words[1].data()};
  EXPECT_THAT(ParseCommandLineOrExit(2, arguments, {"write", "writes.", "", ""}),
              ElementsAre("run.json"));
  EXPECT_EQ(fs::current_path(), caller);
  ASSERT_EQ(unsetenv("BUILD_WORKING_DIRECTORY"), 0);
  fs::current_path(before);
}

TEST_F(CommandLineTest, ExitStatusTellsBadInputFromFailure) {
  EXPECT_EQ(ReportError("x", absl::InvalidArgumentError("a")), kExitBadInput);
  EXPECT_EQ(ReportError("x", absl::NotFoundError("a")), kExitBadInput);
  EXPECT_EQ(ReportError("x", absl::UnimplementedError("a")), kExitBadInput);
  EXPECT_EQ(ReportError("x", absl::UnavailableError("a")), kExitFailed);
  EXPECT_EQ(ReportError("x", absl::DeadlineExceededError("a")), kExitFailed);
}

}  // namespace
}  // namespace drydock::apps
