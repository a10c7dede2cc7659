// docs/tutorial.md shows programs and sessions. The programs are those of this folder, and every
// command is run again, so that the page cannot go stale.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace harness = drydock::harness;

namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string& Page() {
  static const auto* const kPage = new std::string(ReadFile("docs/tutorial.md"));
  return *kPage;
}

// "$ DRYDOCK_SEED=2 ./bazelw run //testing/tutorial:first -- 1", and what it prints.
struct Session {
  std::string line;
  std::map<std::string, std::string> environment;
  std::string target;
  std::vector<std::string> arguments;
  std::string output;
};

Session Parse(const std::string& line) {
  Session session;
  session.line = line;
  bool behind = false;  // the target
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(line, ' '))) {
    absl::string_view variable = word;
    if (absl::ConsumePrefix(&variable, "--test_env=")) {
      session.environment.insert(
          std::pair<std::string, std::string>(absl::StrSplit(variable, absl::MaxSplits('=', 1))));
    } else if (behind) {
      if (word != "--" || !session.arguments.empty()) session.arguments.push_back(word);
    } else if (absl::StartsWith(word, "//")) {
      session.target = word;
      behind = true;
    } else if (absl::StrContains(word, '=')) {
      session.environment.insert(
          std::pair<std::string, std::string>(absl::StrSplit(word, absl::MaxSplits('=', 1))));
    }
  }
  return session;
}

std::vector<Session> Sessions() {
  std::vector<Session> sessions;
  bool inside = false;
  std::istringstream page(Page());
  for (std::string line; std::getline(page, line);) {
    if (absl::StartsWith(line, "$ ")) {
      sessions.push_back(Parse(line));
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      absl::StrAppend(&sessions.back().output, line, "\n");
    }
  }
  return sessions;
}

// Where Bazel has put the program of "//apps/explore" or "//testing/tutorial:first".
std::string ProgramOf(const std::string& target) {
  const std::string path = target.substr(2);
  if (absl::StrContains(path, ':')) return absl::StrReplaceAll(path, {{":", "/"}});
  return absl::StrCat(path, path.substr(path.rfind('/')));
}

// Capsules go where the test may write. The page's name for that folder stands in what is printed.
constexpr char kFolder[] = "/tmp/drydock-tutorial";
std::string OwnFolder() { return ::testing::TempDir() + "/tutorial"; }

harness::ProcessEnd RunSession(const Session& session) {
  std::vector<std::string> command = {ProgramOf(session.target)};
  for (const std::string& argument : session.arguments) {
    command.push_back(absl::StrReplaceAll(argument, {{kFolder, OwnFolder()}}));
  }
  harness::SubprocessOptions options;
  options.environment = session.environment;
  // This test may be a shard of none, and run with a filter: its programs are not meant.
  options.environment.emplace("TESTBRIDGE_TEST_ONLY", "*");
  for (const char* name :
       {"TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX", "XML_OUTPUT_FILE", "GTEST_OUTPUT"}) {
    options.environment.emplace(name, "");
  }
  harness::ProcessEnd end = harness::Subprocess::Run(command, options).value();
  end.out = absl::StrReplaceAll(end.out, {{OwnFolder(), kFolder}});
  return end;
}

// Whether `printed` is `shown`, in which a line "..." stands for any lines.
bool Matches(const std::string& printed, const std::string& shown) {
  const std::vector<std::string> parts = absl::StrSplit(absl::StrCat("\n", shown), "\n...\n");
  if (parts.size() == 1) return printed == shown;
  const std::string text = absl::StrCat("\n", printed);
  std::size_t from = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // All but the first lost the line break before them, all but the last the one behind.
    const std::string part =
        absl::StrCat(i == 0 ? "" : "\n", parts[i], i + 1 < parts.size() ? "\n" : "");
    if (parts[i].empty()) continue;
    const std::size_t at = text.find(part, from);
    if (at == std::string::npos || (i == 0 && at != 0)) return false;
    from = at + part.size() - 1;
  }
  return parts.back().empty() || from + 1 == text.size();
}

TEST(TutorialTest, SessionsAreWhatTheProgramsPrint) {
  // What each command ends with, in the order of the page: the failures are meant.
  const std::vector<int> exit_codes = {0, 1, 1, 1, 0, 0, 1, 0, 0};
  const std::vector<Session> sessions = Sessions();
  ASSERT_THAT(sessions, SizeIs(exit_codes.size()));
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    SCOPED_TRACE(sessions[i].line);
    const harness::ProcessEnd end = RunSession(sessions[i]);
    EXPECT_EQ(end.exit_code, exit_codes[i]) << end;
    EXPECT_EQ(end.err, "");
    if (absl::StrContains(sessions[i].line, " test ")) continue;  // Bazel prints what it likes
    EXPECT_TRUE(Matches(end.out, sessions[i].output))
        << "docs/tutorial.md shows an old session. Paste this below its command line:\n"
        << end.out;
  }
}

TEST(TutorialTest, EveryCommandIsASession) {
  std::size_t commands = 0;
  for (const absl::string_view line : absl::StrSplit(Page(), '\n')) {
    const bool printed = absl::StartsWith(line, "  ");  // by the explorer
    commands += absl::StrContains(line, "./bazelw") && !printed ? 1 : 0;
  }
  EXPECT_THAT(Sessions(), SizeIs(commands));
}

// The blocks of C++ are, in this order, parts of these files: the first one all behind a mark, the
// last one to the end of its function.
TEST(TutorialTest, ProgramsAreTheFilesByteForByte) {
  std::vector<std::string> shown;
  for (std::size_t at = 0; (at = Page().find("```cpp\n", at)) != std::string::npos;) {
    at += 7;
    shown.push_back(Page().substr(at, Page().find("```\n", at) - at));
  }
  ASSERT_THAT(shown, SizeIs(4));
  const std::string mark = "tutorial_test compares them.\n\n";
  const std::string first = ReadFile("testing/tutorial/first.cc");
  EXPECT_EQ(shown[0], first.substr(first.find(mark) + mark.size()));
  const std::string fixed = ReadFile("testing/tutorial/fixed.cc");
  EXPECT_THAT(fixed, HasSubstr(shown[1]));
  EXPECT_THAT(fixed, HasSubstr(shown[2]));
  const std::string picture = ReadFile("testing/tutorial/picture.cc");
  const std::string rest = picture.substr(picture.find(mark) + mark.size());
  EXPECT_EQ(shown[3], rest.substr(0, rest.find("\n}\n") + 3));
}

// fixed.cc is first.cc but for what the page says, and comments.
TEST(TutorialTest, TwoLinesMendIt) {
  const auto code = [](const std::string& path) {
    std::vector<std::string> lines;
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(ReadFile(path), '\n'))) {
      if (!absl::StartsWith(line, "//")) lines.push_back(line);
    }
    return lines;
  };
  const std::vector<std::string> first = code("testing/tutorial/first.cc");
  const std::vector<std::string> fixed = code("testing/tutorial/fixed.cc");
  ASSERT_EQ(first.size(), fixed.size());
  int different = 0;
  for (std::size_t i = 0; i < first.size(); ++i) different += first[i] == fixed[i] ? 0 : 1;
  EXPECT_EQ(different, 2);
}

TEST(TutorialTest, ShownPartsAreFoundInTheirOrder) {
  EXPECT_TRUE(Matches("a\nb\n", "a\nb\n"));
  EXPECT_FALSE(Matches("a\nb\nc\n", "a\nb\n"));
  EXPECT_TRUE(Matches("a\nb\nc\nd\n", "a\n...\nc\n...\n"));
  EXPECT_TRUE(Matches("a\nb\nc\n", "...\nc\n"));
  EXPECT_FALSE(Matches("a\nb\nc\nd\n", "...\nc\n"));
  EXPECT_FALSE(Matches("a\nb\nc\n", "b\n...\n"));
  EXPECT_FALSE(Matches("a\nb\nc\n", "...\nc\n...\na\n...\n"));
}

}  // namespace
