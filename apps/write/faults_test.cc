// The program under fault plans, on the simulator: the plans beside it, and what it says of others.

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::write {
namespace {

using harness::Lines;
using harness::ProcessEnd;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// `plan`: a file of this folder's faults/, or a path.
ProcessEnd RunWrite(const std::string& plan, std::vector<std::string> arguments = {}) {
  const std::string path = absl::StrContains(plan, '/') ? plan : "apps/write/faults/" + plan;
  arguments.insert(arguments.begin(),
                   {harness::ProgramPath("DRYDOCK_WRITE"), "--fabric=sim", "--faults=" + path});
  return harness::Subprocess::Run(arguments, {}).value();
}

std::string WritePlan(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

std::vector<std::string> FaultLines(const ProcessEnd& end) {
  std::vector<std::string> lines;
  for (const std::string& line : Lines(end.out)) {
    if (absl::StartsWith(line, "faults ")) lines.push_back(line);
  }
  return lines;
}

TEST(WriteFaultsTest, StormIsSurvived) {
  for (int seed = 1; seed <= 10; ++seed) {
    const ProcessEnd end = RunWrite("again_storm.json", {"--seed=" + std::to_string(seed)});
    EXPECT_EQ(end.exit_code, 0) << end;
    EXPECT_EQ(end.err, "");
    EXPECT_THAT(Lines(end.out), Contains("Data is correct")) << end;
    EXPECT_THAT(FaultLines(end), SizeIs(2 + 5)) << end;
  }
}

TEST(WriteFaultsTest, RunIsAFunctionOfItsSeed) {
  const ProcessEnd first = RunWrite("again_storm.json", {"--seed=5"});
  EXPECT_EQ(RunWrite("again_storm.json", {"--seed=5"}).out, first.out);
  EXPECT_NE(RunWrite("again_storm.json", {"--seed=6"}).out, first.out);
}

// The server cannot reach its client, and the client waits for nothing: one line each.
TEST(WriteFaultsTest, DroppedPeerIsOneCleanError) {
  const ProcessEnd end = RunWrite("dropped_peer.json");
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, Not(HasSubstr("Data is correct")));
  EXPECT_THAT(Lines(end.err),
              ElementsAre(AllOf(StartsWith("write: transfer of session 1 failed: write of page "),
                                HasSubstr("peer stopped answering"),
                                HasSubstr("made by the fault rule silent client")),
                          StartsWith("write: ")))
      << end;
  EXPECT_THAT(FaultLines(end), Contains(MatchesRegex("faults +silent client +dropped_peer +16 +12 "
                                                     "+1 or more")));
}

TEST(WriteFaultsTest, WithdrawnKeyIsOneCleanError) {
  const ProcessEnd end = RunWrite("wrong_key.json");
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.err, AllOf(HasSubstr("write of page "), HasSubstr("EFA status 7")));
  EXPECT_THAT(FaultLines(end), Contains(HasSubstr("remote_address")));
}

// What the device does beneath the program, and what the decorator does above it, in one plan.
TEST(WriteFaultsTest, RoughNetworkIsSurvived) {
  for (int seed = 1; seed <= 10; ++seed) {
    const ProcessEnd end = RunWrite("rough_network.json", {"--seed=" + std::to_string(seed)});
    EXPECT_EQ(end.exit_code, 0) << end;
    EXPECT_EQ(end.err, "");
    EXPECT_THAT(Lines(end.out), Contains("Data is correct")) << end;
    EXPECT_THAT(FaultLines(end), SizeIs(2 + 9)) << end;
  }
}

// The last write lands and is announced, and its end is a failure all the same: the client has its
// data, and nobody waits for another one.
TEST(WriteFaultsTest, WriteThatLandedAndFailedEndsTheRun) {
  const std::string plan = WritePlan("landed.json", R"({"rules": [
      {"fault": "remote_abort", "parameters": {"placed_percent": 100},
       "when": {"operation": "write", "nth": 16}}]})");
  const ProcessEnd end = RunWrite(plan);
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(Lines(end.out), Contains("Data is correct")) << end;
  EXPECT_THAT(end.err, HasSubstr("transfer of session 1 failed: write of page ")) << end;
}

// The program cannot see it: bytes are wrong, and only its verification tells.
TEST(WriteFaultsTest, CorruptionIsNoticed) {
  const std::string plan = WritePlan("corrupt.json", R"({"mode": "illegal", "rules": [
      {"fault": "corrupt_placement", "legality": "illegal", "when": {"operation": "write", "nth": 5}}]})");
  const ProcessEnd end = RunWrite(plan);
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, Not(HasSubstr("Data is correct")));
}

TEST(WriteFaultsTest, DyingNicIsOneCleanError) {
  const ProcessEnd end = RunWrite("dying_nic.json");
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, Not(HasSubstr("Data is correct")));
  EXPECT_THAT(end.err, Not(HasSubstr("never fired")));
  EXPECT_THAT(FaultLines(end), Contains(HasSubstr("nic_dies")));
}

// Data that is right proves nothing if what was to go wrong did not.
TEST(WriteFaultsTest, RuleThatNeverFiredFailsTheRun) {
  const std::string plan = WritePlan("never.json", R"({"rules": [
      {"name": "third peer", "fault": "unreachable", "when": {"peer": 2}}]})");
  const ProcessEnd end = RunWrite(plan);
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(Lines(end.out), Contains("Data is correct"));
  EXPECT_THAT(Lines(end.err), ElementsAre("write: --faults=" + plan +
                                          ": rule 1 (third peer), unreachable, never fired: 0 of 0 "
                                          "eligible events, expected at least 1"));
}

TEST(WriteFaultsTest, ScriptGetsTheResultAlone) {
  const ProcessEnd end = RunWrite("again_storm.json", {"--json"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(Lines(end.out), ElementsAre(StartsWith("{")));
}

TEST(WriteFaultsTest, BadPlansAreRefusedBeforeAnythingRuns) {
  struct Case {
    std::string plan;
    const char* complaint;
  };
  const std::vector<Case> cases = {
      {"/nowhere.json", "no such file"},
      {WritePlan("json.json", "{"), "not JSON"},
      {WritePlan("key.json", R"({"rules": [{"name": "x", "fault": "flushed", "p": 1}]})"),
       "rule 1 (x): p is no key here"},
      {WritePlan("device.json", R"({"rules": [{"fault": "late_device_visibility"}]})"),
       "late_device_visibility is applied inside the simulated NIC, which this run does not have"},
      {WritePlan("share.json",
                 R"({"rules": [{"fault": "peer_aborted", "parameters": {"placed_percent": 7}}]})"),
       "rule 1 (peer_aborted): parameters.placed_percent is 7"}};
  for (const Case& bad : cases) {
    const ProcessEnd end = RunWrite(bad.plan);
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_EQ(end.out, "");
    EXPECT_THAT(Lines(end.err), ElementsAre(AllOf(StartsWith("write: --faults=" + bad.plan + ": "),
                                                  HasSubstr(bad.complaint))));
  }
}

}  // namespace
}  // namespace drydock::apps::write
