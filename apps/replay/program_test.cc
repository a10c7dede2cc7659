// The program as a person meets it: what it says of the captures beside it, of simulated runs that
// are captured here, and of files that are no captures.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::replay {
namespace {

using harness::Lines;
using harness::ProcessEnd;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kServer = "apps/replay/captures/server.json";
constexpr const char* kClient = "apps/replay/captures/client.json";

ProcessEnd RunProgram(const char* program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), harness::ProgramPath(program));
  return harness::Subprocess::Run(arguments).value();
}
ProcessEnd Replay(std::vector<std::string> arguments) {
  return RunProgram("DRYDOCK_REPLAY", std::move(arguments));
}

std::string TemporaryFile(const std::string& name) {
  return absl::StrCat(::testing::TempDir(), "/replay_program_test_", name);
}

std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Written(const std::string& name, const std::string& text) {
  const std::string path = TemporaryFile(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// A simulated run of `write`, captured.
std::string Capture(const std::string& name, std::vector<std::string> arguments) {
  const std::string path = TemporaryFile(name);
  const std::vector<std::string> fixed = {"--fabric=sim", "--trace=" + path, "--trace-data=1MiB",
                                          "--page-size=4096", "--timeout=1"};
  arguments.insert(arguments.begin(), fixed.begin(), fixed.end());
  const ProcessEnd end = RunProgram("DRYDOCK_WRITE", arguments);
  EXPECT_LE(end.exit_code, 1) << end;
  return path;
}

TEST(ReplayProgramTest, SessionsOfTheReadmeAreWhatItPrints) {
  const std::vector<harness::ReadmeSession> sessions = harness::ReadmeSessions("//apps/replay");
  ASSERT_THAT(sessions, SizeIs(2));
  for (const harness::ReadmeSession& session : sessions) {
    std::vector<std::string> arguments = session.arguments;
    for (std::string& argument : arguments) {
      argument = absl::StrReplaceAll(argument, {{"$PWD/", ""}});
    }
    const ProcessEnd end = Replay(arguments);
    EXPECT_EQ(end.err, "");
    EXPECT_EQ(end.out, session.output)
        << "README.md shows an old session. Paste this below its command line:\n\n"
        << end.out;
  }
}

TEST(ReplayProgramTest, JsonSaysTheSame) {
  const ProcessEnd end = Replay({"--json", kServer, kClient});
  EXPECT_EQ(end.exit_code, 0) << end;
  const json result = json::parse(end.out);
  EXPECT_EQ(result["same_memory"], true);
  EXPECT_EQ(result["same_order"], true);
  EXPECT_EQ(result["simulated"], true);
  EXPECT_EQ(result["regions"].size(), 7u);
  EXPECT_EQ(result["operations"][1]["count"], 8);
}

// One waits in vain, longer than anybody has patience for, and then another one goes on.
TEST(ReplayProgramTest, AProgramThatGoesOnAMinuteLaterIsWaitedFor) {
  const ProcessEnd end = Replay({"apps/replay/regressions/late.json"});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, HasSubstr("missing   node 1: a peer's immediate did not come"));
}

// In virtual time a poll takes none, however wide it is drawn: the queue was closed after it.
TEST(ReplayProgramTest, APollAndACloseInOneNanosecondAreInTheirOrder) {
  const ProcessEnd end = Replay({"apps/replay/regressions/one_nanosecond.json"});
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(end.exit_code, 1) << end;  // it has no digests
}

TEST(ReplayProgramTest, WhatTheMachineHasNotIsBadInput) {
  const std::string path = TemporaryFile("large.json");
  std::string text = Content("apps/replay/regressions/late.json");
  absl::StrReplaceAll({{"\"length\": 65536", "\"length\": 1500000000"}}, &text);
  std::ofstream(path) << text;
  const ProcessEnd large = Replay({path});
  EXPECT_EQ(large.exit_code, 2) << large;
  EXPECT_THAT(large.err, HasSubstr("take another --profile"));
}

TEST(ReplayProgramTest, CsvHasALineForEachRegion) {
  const ProcessEnd end = Replay({"--csv", kServer, kClient});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 1 + 7) << end.out;
  EXPECT_THAT(end.out,
              StartsWith("machine,region,length,digest_there,digest_here,memory\nserver,0,"));
  const ProcessEnd both = Replay({"--csv", "--json", kServer, kClient});
  EXPECT_EQ(both.exit_code, 2) << both;
}

TEST(ReplayProgramTest, EverySettingEndsInTheSameMemory) {
  for (const std::vector<std::string>& settings : std::vector<std::vector<std::string>>{
           {"--seed=7"},
           {"--order=free"},
           {"--timing=fast", "--seed=3"},
           {"--provider=efa-direct"},
           {"--provider=efa-direct", "--profile=p5", "--timing=fast"}}) {
    std::vector<std::string> arguments = settings;
    arguments.insert(arguments.end(), {kClient, kServer});
    const ProcessEnd end = Replay(arguments);
    EXPECT_EQ(end.exit_code, 0) << end;
    EXPECT_EQ(end.LastLine(), "Memory is the same");
  }
}

TEST(ReplayProgramTest, OtherDataIsNoticed) {
  std::string text = Content(kServer);
  const std::size_t at = text.find("\"data\":\"") + 8;
  text[at] = text[at] == 'A' ? 'B' : 'A';
  const ProcessEnd end = Replay({Written("other.json", text), kClient});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.LastLine(), StartsWith("Memory is different: 2 of 7 regions"));
}

TEST(ReplayProgramTest, WithoutDataThePatternIsNotTheData) {
  const std::string path = TemporaryFile("bare.json");
  EXPECT_EQ(RunProgram("DRYDOCK_WRITE", {"--fabric=sim", "--trace=" + path}).exit_code, 0);
  const ProcessEnd end = Replay({path});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, HasSubstr("filled    18 operations with a pattern"));
  EXPECT_THAT(end.LastLine(), StartsWith("Memory cannot be compared"));
}

// Whatever order a simulated run had, its replay has it too, and ends in the same memory: also on
// another network, where nothing comes by itself as it did.
TEST(ReplayProgramTest, CapturesOfSimulatedRunsAreReplayed) {
  for (int seed = 1; seed <= 2; ++seed) {
    const std::string path = Capture("seed.json", {absl::StrCat("--seed=", seed)});
    std::uint64_t held = 0;
    for (const int other : {seed, seed + 1}) {
      const ProcessEnd end = Replay({"--json", absl::StrCat("--seed=", other), path});
      EXPECT_EQ(end.exit_code, 0) << end;
      const json result = json::parse(end.out);
      EXPECT_EQ(result["same_order"], true) << end;
      EXPECT_EQ(result["missing"], 0);
      EXPECT_EQ(result["fabric"], "efa-direct");
      held += result["held"].get<std::uint64_t>();
    }
    EXPECT_GT(held, 0u);
  }
}

TEST(ReplayProgramTest, CapturesOfFailuresFailAgain) {
  for (const char* plan : {"wrong_key", "dropped_peer"}) {
    const std::string path =
        Capture("failed.json", {absl::StrCat("--faults=apps/write/faults/", plan, ".json")});
    const ProcessEnd end = Replay({"--json", path});
    EXPECT_EQ(end.exit_code, 0) << end;
    const json result = json::parse(end.out);
    std::uint64_t failed = 0;
    for (const json& row : result["operations"]) {
      EXPECT_EQ(row["failed_there"], row["failed_here"]) << plan;
      failed += row["failed_there"].get<std::uint64_t>();
    }
    EXPECT_GT(failed, 0u) << plan;
    EXPECT_EQ(result["statuses"], json::array()) << plan;
    EXPECT_EQ(result["same_order"], true) << plan;
  }
}

TEST(ReplayProgramTest, BadInputCostsOneLine) {
  const std::string half = Written("half.json", Content(kServer).substr(0, 9000));
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{}, "no trace is given"},
      {{"nowhere.json"}, "nowhere.json: cannot be opened"},
      {{"."}, ".: "},
      {{half}, "not JSON"},
      {{Written("empty.json", "")}, "not JSON"},
      {{Written("other.json", "{}")}, "not a trace of Drydock"},
      {{kServer}, "that is in none of these traces: give that process's trace, too"},
      {{"--provider=tcp", kServer, kClient}, "--provider=tcp is not simulated"},
      {{"--profile=z9", kServer, kClient}, "z9"},
      {{"--timing=slow", kServer, kClient}, "--timing=slow does not exist"},
      {{"--order=none", kServer, kClient}, "--order=none does not exist"},
      {{"--what", kServer}, "what"},
  };
  for (const auto& [arguments, complaint] : cases) {
    const ProcessEnd end = Replay(arguments);
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr(complaint)));
    EXPECT_THAT(end.err, StartsWith("replay: "));
    EXPECT_EQ(end.out, "");
  }
}

// It may be all that is left of a run.
TEST(ReplayProgramTest, ACaptureIsNotWrittenOver) {
  const std::string kept = Content(kClient);
  const std::string copy = Written("copy.json", kept);
  std::string other_name = copy;
  other_name.insert(other_name.find_last_of('/'), "/.");
  for (const std::string& written : {copy, other_name}) {
    const ProcessEnd end = Replay({"--trace=" + written, kServer, copy});
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(end.err, HasSubstr("is a file that this run reads"));
    EXPECT_EQ(Content(copy), kept);
  }
  // A rank of a launcher has a name of its own for what it writes.
  const std::string read = Written("kept.rank1.json", kept);
  const harness::SubprocessOptions rank = {
      .environment = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}};
  const ProcessEnd refused =
      harness::Subprocess::Run({harness::ProgramPath("DRYDOCK_REPLAY"),
                                "--trace=" + TemporaryFile("kept.json"), kServer, read},
                               rank)
          .value();
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_EQ(Content(read), kept);
  // Nor is an older trace, when the capture is none.
  const std::string old = Written("old.json", "of yesterday");
  EXPECT_EQ(Replay({"--trace=" + old, Written("other.json", "{}")}).exit_code, 2);
  EXPECT_EQ(Content(old), "of yesterday");
}

// A trace of a replay can be replayed: it shows the same.
TEST(ReplayProgramTest, ReplayCanBeTraced) {
  const std::string path = TemporaryFile("again.json");
  const ProcessEnd end =
      Replay({"--provider=efa-direct", "--trace=" + path, "--trace-data=1MiB", kServer, kClient});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.err, HasSubstr("trace: "));
  const ProcessEnd again = Replay({"--json", path});
  EXPECT_EQ(again.exit_code, 0) << again;
  const json result = json::parse(again.out);
  EXPECT_EQ(result["same_order"], true);
  EXPECT_EQ(result["regions"].size(), 7u);
}

TEST(ReplayProgramTest, PayloadIsASizeAndGoesIntoATrace) {
  const std::string trace = "--trace=" + TemporaryFile("none.json");
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{"--fabric=sim", "--trace-data=1MiB"}, "add --trace"},
      {{"--fabric=sim", trace, "--trace-data=much"}, "--trace-data=much is no size"},
  };
  for (const auto& [arguments, complaint] : cases) {
    const ProcessEnd end = RunProgram("DRYDOCK_WRITE", arguments);
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr(complaint)));
  }
}

TEST(ReplayProgramTest, ATraceNeedNotTakeThePayloadAlong) {
  const std::string path = Capture("without.json", {"--trace-data=0"});
  EXPECT_THAT(Content(path), HasSubstr("\"cat\":\"post\""));
  EXPECT_THAT(Content(path), Not(HasSubstr("\"digest\":")));
}

TEST(ReplayProgramTest, HelpTeaches) {
  const ProcessEnd end = Replay({"--help"});
  EXPECT_EQ(end.exit_code, 0);
  for (const char* word : {"--trace-data", "--order", "--timing", "Exit status"}) {
    EXPECT_THAT(end.out, HasSubstr(word));
  }
}

}  // namespace
}  // namespace drydock::apps::replay
