// Runs one benchmark as briefly as it goes: that it runs at all, and that what it prints can be
// read, by a person and by a program. Its figures mean nothing here. BENCHMARK names it.

#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::bench {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int exit_status = -1;
  std::string out;
  std::string err;
};

std::string Name() { return std::getenv("BENCHMARK"); }

Outcome RunWith(const std::string& flags) {
  const std::string errors = absl::StrCat(::testing::TempDir(), "/stderr");
  const std::string command =
      absl::StrCat("testing/benchmarks/", Name(), " ", flags, " 2>'", errors, "'");
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> piece;
  for (std::size_t got; (got = fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
    outcome.out.append(piece.data(), got);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  std::stringstream text;
  text << std::ifstream(errors).rdbuf();
  outcome.err = text.str();
  return outcome;
}

// Where the columns begin, as the rule under the heading says.
std::vector<std::size_t> ColumnsOf(const std::string& rule) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < rule.size(); ++i) {
    if (rule[i] == '-' && (i == 0 || rule[i - 1] == ' ')) columns.push_back(i);
  }
  return columns;
}

TEST(SmokeTest, PrintsATable) {
  const Outcome outcome = RunWith("--smoke");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  const std::vector<std::string> lines = absl::StrSplit(outcome.out, '\n');
  ASSERT_GE(lines.size(), 3u);
  ASSERT_EQ(lines[1].find_first_not_of("- "), std::string::npos) << lines[1];
  const std::vector<std::size_t> columns = ColumnsOf(lines[1]);
  EXPECT_GE(columns.size(), 5u);
  std::size_t rows = 0;
  for (std::size_t i = 0; i < lines.size() && !lines[i].empty(); ++i, ++rows) {
    for (const std::size_t column : columns) {
      if (column > 0 && column < lines[i].size()) {
        EXPECT_EQ(lines[i][column - 1], ' ') << "column " << column << " of: " << lines[i];
      }
    }
    EXPECT_LE(lines[i].size(), lines[1].size()) << lines[i];
  }
  EXPECT_GE(rows, 10u);
}

// --check turns the goals that the JSON shows into an exit status, and nothing else: without it,
// the table above came with 0.
TEST(SmokeTest, PrintsJsonAndChecksWhatItShows) {
  const Outcome outcome = RunWith("--smoke --json --check");
  const auto json = nlohmann::json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(json.is_discarded()) << outcome.err << outcome.out;
  EXPECT_EQ(json["benchmark"], Name());
  ASSERT_GE(json["rows"].size(), 8u);
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row.size(), json["rows"][0].size()) << row;
    for (const auto& [key, value] : row.items()) {
      EXPECT_TRUE(value.is_string() || value.is_number() || value.is_null()) << key;
    }
  }
  ASSERT_GE(json["goals"].size(), 1u);
  bool holds = true;
  for (const auto& goal : json["goals"]) {
    EXPECT_THAT(goal["state"], AnyOf("pass", "FAIL", "not measured", "skipped"));
    holds &= goal["state"] == "pass" || goal["state"] == "skipped";
  }
  EXPECT_EQ(outcome.exit_status, holds ? 0 : 1);
}

TEST(SmokeTest, ExplainsItself) {
  const Outcome outcome = RunWith("--help");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.out, StartsWith(Name()));
  for (const char* flag : {"--json", "--check", "--rounds", "--smoke"}) {
    EXPECT_THAT(outcome.out, HasSubstr(flag));
  }
}

TEST(SmokeTest, RefusesWhatItDoesNotKnow) {
  for (const char* flags : {"--fast", "extra", "--rounds=-1", "--rounds=1000000000"}) {
    const Outcome outcome = RunWith(flags);
    EXPECT_EQ(outcome.exit_status, 2) << flags;
    EXPECT_THAT(outcome.err, Not(IsEmpty())) << flags;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << "one line: " << outcome.err;
  }
}

}  // namespace
}  // namespace drydock::bench
