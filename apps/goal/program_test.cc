// The program as a person meets it: what its page shows, files that are wrong, a run that was
// recorded.

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::goal {
namespace {

using harness::Lines;
using harness::ProcessEnd;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

ProcessEnd RunProgram(const char* program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), harness::ProgramPath(program));
  return harness::Subprocess::Run(arguments).value();
}
ProcessEnd Goal(std::vector<std::string> arguments) {
  return RunProgram("DRYDOCK_GOAL", std::move(arguments));
}

std::string TemporaryFile(const std::string& name) {
  return absl::StrCat(::testing::TempDir(), "/goal_program_test_", name);
}

std::string Written(const std::string& name, const std::string& text) {
  const std::string path = TemporaryFile(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Without the line that says how fast this machine is.
std::string WithoutSpeed(const std::string& text) {
  std::string kept;
  for (const std::string& line : Lines(text)) {
    if (!absl::StartsWith(line, "speed ")) absl::StrAppend(&kept, line, "\n");
  }
  return kept;
}

json Json(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const ProcessEnd end = Goal(arguments);
  EXPECT_EQ(end.exit_code, 0) << end;
  json out = json::parse(end.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(out.is_object()) << end;
  return out;
}

// A wrong file: one line.
std::string ErrorOf(const std::string& text, int exit_code) {
  const std::string path = Written("bad.goal", text);
  const ProcessEnd end = Goal({path});
  EXPECT_EQ(end.exit_code, exit_code) << end;
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(Lines(end.err), SizeIs(1)) << end;
  return end.err;
}

TEST(GoalProgramTest, SessionsOfTheReadmeAreWhatItPrints) {
  const std::vector<harness::ReadmeSession> sessions = harness::ReadmeSessions("//apps/goal");
  ASSERT_THAT(sessions, SizeIs(1));
  const ProcessEnd end = Goal(sessions[0].arguments);
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(WithoutSpeed(end.out), WithoutSpeed(sessions[0].output)) << end.out;
  EXPECT_THAT(end.out, HasSubstr("\nspeed     "));
}

TEST(GoalProgramTest, APatternThatWasWrittenRunsAsThePatternDoes) {
  const std::string path = TemporaryFile("tree.goal");
  const std::vector<std::string> pattern = {"--pattern=tree", "--machines=5", "--nics=2",
                                            "--bytes=100KiB"};
  std::vector<std::string> write = pattern;
  write.push_back("--write=" + path);
  const ProcessEnd end = Goal(write);
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(end.out, "");
  const json made = Json(pattern);
  const json read = Json({path});
  for (const char* key : {"simulated_ns", "events", "rows", "machines", "nics"}) {
    EXPECT_EQ(made.value(key, json()), read.value(key, json(1))) << key;
  }
  EXPECT_EQ(made.value("machines", 0), 5);
  EXPECT_GT(made.value("simulated_ns", 0), 0);
  EXPECT_GT(made.value("events_per_s", 0.0), 0.0);
  EXPECT_GT(made.value("simulated_s_per_s", 0.0), 0.0);
  EXPECT_GT(made.value("peak_bytes", std::uint64_t{0}), 0u);
}

TEST(GoalProgramTest, ManyRanksAreReportedInSixteenGroups) {
  const json out = Json({"--pattern=incast", "--machines=40", "--bytes=1KiB"});
  ASSERT_THAT(out.value("rows", json::array()), SizeIs(14));
  EXPECT_EQ(out["rows"][0]["ranks"], "0-2");
  EXPECT_EQ(out["rows"][13]["ranks"], "39-39");
}

TEST(GoalProgramTest, FlowsAreSaidAndCostLess) {
  const std::vector<std::string> pattern = {"--pattern=ring", "--machines=3", "--bytes=8MiB"};
  std::vector<std::string> flows = pattern;
  flows.push_back("--flows");
  EXPECT_GT(Json(pattern).value("events", 0), 10 * Json(flows).value("events", 0));
  EXPECT_THAT(Goal(flows).out, HasSubstr(", long messages as flows\n"));
}

TEST(GoalProgramTest, ARecordedRunBecomesAScheduleThatRuns) {
  const std::string trace = TemporaryFile("write.json");
  const ProcessEnd recorded = RunProgram(
      "DRYDOCK_WRITE",
      {"--fabric=sim", "--page-size=4096", "--num-pages=32", "--json", "--trace=" + trace});
  ASSERT_EQ(recorded.exit_code, 0) << recorded;
  const std::string path = TemporaryFile("write.goal");
  const ProcessEnd end = Goal({trace, "--write=" + path});
  ASSERT_EQ(end.exit_code, 0) << end;
  const std::string text = Content(path);
  EXPECT_THAT(text, StartsWith("num_ranks 2\n"));
  // A recorded run is about as long on the NICs that it was recorded on, whichever form it has.
  const json run = Json({path});
  std::uint64_t bytes = 0;
  for (const json& row : run.value("rows", json::array())) bytes += row.value("sent", 0u);
  EXPECT_GE(bytes, 32u * 4096);
  EXPECT_EQ(run.value("unreceived", 1), 0);
  EXPECT_EQ(run.value("simulated_ns", 0), Json({trace}).value("simulated_ns", 1));
  const double original = json::parse(recorded.out).value("nanoseconds", 0);
  EXPECT_GT(run.value("simulated_ns", 0), 0.5 * original);
  EXPECT_LT(run.value("simulated_ns", 0), 2 * original);
}

TEST(GoalProgramTest, BadInputGivesOneLine) {
  EXPECT_THAT(ErrorOf("num_ranks 2\nrank 0 {\nsend 1b to 5\n}\n", 2),
              HasSubstr("bad.goal, line 3: a rank is '5', not a number up to 1\n"));
  EXPECT_THAT(
      ErrorOf("num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n", 2),
      HasSubstr("this operation waits for itself"));
  EXPECT_THAT(ErrorOf("", 2),
              HasSubstr("bad.goal, line 1: expected 'num_ranks', found the end of the file\n"));
  EXPECT_THAT(ErrorOf("{\"traceEvents\":", 2), StartsWith("goal: "));
  EXPECT_THAT(ErrorOf("num_ranks 2\nrank 0 {\nrecv 1b from 1\n}\n", 1),
              HasSubstr("goal: deadlock: operation 1 of rank 0 (recv 1b from 1, tag 0)"));
  EXPECT_THAT(ErrorOf("num_ranks 2\nrank 0 {\nsend 1b to 1 nic 9\n}\n", 2),
              HasSubstr("machines of 10 NICs: profile small has 2"));
}

TEST(GoalProgramTest, ANameOfOtherBytesThanTextIsShownAllTheSame) {
  const std::string path = Written("\xff.goal", "num_ranks 1\nrank 0 {\ncalc 5\n}\n");
  const ProcessEnd end = Goal({path, "--json"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(json::parse(end.out).value("simulated_ns", 0), 5);
}

TEST(GoalProgramTest, AScheduleIsNotWrittenOverWhatItWasMadeOf) {
  const std::string path = ::testing::TempDir() + "/both.goal";
  const std::string text = "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n";
  std::ofstream(path) << text;
  const ProcessEnd end = Goal({path, "--write=" + path});
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(end.err, HasSubstr("is a file that this run reads"));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

TEST(GoalProgramTest, ASizeThatIsNoneNamesItsFlag) {
  EXPECT_THAT(Goal({"--pattern=ring", "--bytes=0"}).err, StartsWith("goal: --bytes=0 is no size"));
}

TEST(GoalProgramTest, BadFlagsGiveOneLine) {
  const std::vector<std::vector<std::string>> all = {
      {},
      {"--pattern=star"},
      {"--pattern=ring", "--machines=1"},
      {"--pattern=ring", "--machines=65537"},
      {"--pattern=ring", "--nics=0"},
      {"--pattern=ring", "--nics=3"},
      {"--pattern=ring", "--bytes=much"},
      {"--pattern=ring", "--profile=none"},
      {"--pattern=ring", "--json", "--csv"},
      {"--pattern=ring", "file.goal"},
      {"/no/such/file.goal", "--machines=8"},
      {"--pattern=ring", "--write=-", "--json"},
      {"--pattern=ring", "--write=/no/such/folder/x"},
      {"/no/such/file.goal"}};
  for (const std::vector<std::string>& arguments : all) {
    const ProcessEnd end = Goal(arguments);
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_EQ(end.out, "");
    EXPECT_THAT(Lines(end.err), SizeIs(1)) << end;
  }
}

}  // namespace
}  // namespace drydock::apps::goal
