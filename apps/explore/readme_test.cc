// The sessions that README.md shows: each line of them is a line that the program prints, in this
// order; "..." stands for others.

#include "drydock/testing/harness/readme.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drydock/apps/explore/testing/explore_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

// The lines of a session that the program has to print. A long line of it stands on two of the
// page, and the page says so.
std::vector<std::string> ShownLines(const std::string& output) {
  std::vector<std::string> shown;
  for (absl::string_view line : absl::StrSplit(output, '\n', absl::SkipWhitespace())) {
    if (absl::ConsumeSuffix(&line, "(one line)")) {
      absl::StrAppend(&shown.back(), " ", absl::StripAsciiWhitespace(line));
    } else if (line != "...") {
      shown.emplace_back(line);
    }
  }
  return shown;
}

// The first of `shown` that is not among the lines of `output` behind the one before it.
std::string FirstMissing(const std::vector<std::string>& shown, const std::string& output) {
  const std::vector<std::string> lines = absl::StrSplit(output, '\n');
  auto from = lines.begin();
  for (const std::string& line : shown) {
    const auto found = std::find(from, lines.end(), line);
    if (found == lines.end()) return line;
    from = found + 1;
  }
  return "";
}

TEST(ReadmeTest, EveryLineOfItsSessionsIsPrinted) {
  const std::string folder = ::testing::TempDir() + "drydock-capsules";
  const auto here = [&](const std::string& text) {
    return absl::StrReplaceAll(text, {{"/tmp/drydock-capsules-1000", folder}});
  };
  const auto sessions = harness::ReadmeSessions("//apps/explore");
  ASSERT_EQ(sessions.size(), 5u);
  for (const harness::ReadmeSession& session : sessions) {
    std::vector<std::string> arguments;
    bool one_run = false;
    for (const std::string& argument : session.arguments) {
      arguments.push_back(here(argument));
      one_run = one_run || absl::StartsWith(argument, "--replay") ||
                absl::StartsWith(argument, "--shrink");
    }
    if (!one_run) arguments.push_back("--capsules=" + folder);
    const std::string output = RunExplore(arguments).out;
    EXPECT_EQ(FirstMissing(ShownLines(here(session.output)), output), "")
        << "is not printed here, or not at its place:\n"
        << output;
  }
}

}  // namespace
}  // namespace drydock::apps
