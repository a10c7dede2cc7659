// Traces as a person takes them: of a program that ends, and of one that is killed.

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "drydock/fabric/trace/testing/trace_checker.h"
#include "drydock/testing/harness/subprocess.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

namespace fs = std::filesystem;

using fabric::trace::CheckedSlice;
using fabric::trace::CheckedTrace;
using harness::ProcessEnd;
using harness::Subprocess;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TraceProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.environment = {{"TMPDIR", folder_}, {"FI_PROVIDER", "^efa"}};
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string File(const std::string& name) const { return folder_ / name; }
  ProcessEnd Run(const char* program, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), harness::ProgramPath(program));
    return Subprocess::Run(arguments, options_).value();
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static CheckedTrace Check(const std::string& path) {
    CheckedTrace trace = fabric::trace::CheckTrace(Read(path));
    EXPECT_THAT(trace.problems, IsEmpty());
    return trace;
  }
  // What flight recorders have left here.
  std::vector<std::string> Left() const {
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name.rfind("drydock-flight-", 0) == 0) left.push_back(entry.path());
    }
    return left;
  }

  fs::path folder_;
  harness::SubprocessOptions options_;
};

TEST_F(TraceProgramTest, ARunIsTheSameWithATrace) {
  const ProcessEnd plain = Run("DRYDOCK_WRITE", {"--seed=3", "--page-size=65536"});
  const ProcessEnd traced =
      Run("DRYDOCK_WRITE", {"--seed=3", "--page-size=65536", "--trace=" + File("t.json")});
  EXPECT_EQ(traced.exit_code, 0) << traced;
  EXPECT_EQ(traced.out, plain.out);
  EXPECT_THAT(traced.err, HasSubstr("events in " + File("t.json") + ": open it at "));
  EXPECT_THAT(Left(), IsEmpty());
  const CheckedTrace trace = Check(File("t.json"));
  EXPECT_EQ(trace.other_data.at("program"), "\"write\"");
  EXPECT_EQ(trace.other_data.at("clock"), "\"virtual\"");
  EXPECT_EQ(trace.other_data.at("seed"), "3");
  EXPECT_EQ(trace.other_data.at("events"), std::to_string(trace.slices.size()));
  int writes = 0;
  for (const CheckedSlice& post : trace.Of("post")) {
    if (post.arguments.at("kind") != "\"write\"") continue;
    ++writes;
    const std::string path = trace.PathOf("0." + post.arguments.at("op"));
    EXPECT_THAT(path, ::testing::StartsWith("post packet"));
    EXPECT_THAT(path, ::testing::EndsWith("poll resume"));
    EXPECT_THAT(path, HasSubstr("place"));
  }
  EXPECT_EQ(writes, 16);
}

TEST_F(TraceProgramTest, FaultsAndBrokenRulesAreMarks) {
  std::ofstream(File("plan.json")) << R"({"mode": "adversarial", "rules": [{"name": "late",
      "fault": "delayed_completion", "parameters": {"delay_ns": 1000},
      "when": {"operation": ["write"], "nth": 3}}]})";
  const ProcessEnd end = Run("DRYDOCK_WRITE", {"--faults=" + File("plan.json"), "--page-size=4096",
                                               "--trace=" + File("t.json")});
  const CheckedTrace trace = Check(File("t.json"));
  ASSERT_FALSE(trace.marks.empty()) << end;
  EXPECT_EQ(trace.marks[0].category, "fault");
  EXPECT_EQ(trace.marks[0].arguments.at("rule"), "\"late\"");
}

TEST_F(TraceProgramTest, ThePageHasTheTrace) {
  const ProcessEnd end = Run("DRYDOCK_WRITE", {"--trace=" + File("t.html"), "--page-size=4096"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.err, HasSubstr("open it with a browser"));
  const std::string page = Read(File("t.html"));
  EXPECT_THAT(page, HasSubstr("<html"));
  EXPECT_THAT(page, HasSubstr("drydock-trace"));
}

TEST_F(TraceProgramTest, AFileThatCannotBeIsBadInput) {
  const ProcessEnd end = Run("DRYDOCK_WRITE", {"--trace=" + File("no/such/folder.json")});
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(end.err, HasSubstr("write: --trace="));
  EXPECT_THAT(end.err, HasSubstr("cannot be written"));
}

TEST_F(TraceProgramTest, ARunThatIsRefusedLeavesTheFileAsItWas) {
  std::ofstream(File("t.json")) << "of a run before";
  for (const char* flag : {"--nic=none", "--page-size=3"}) {
    const ProcessEnd end = Run("DRYDOCK_WRITE", {flag, "--trace=" + File("t.json")});
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(harness::Lines(end.err), ::testing::SizeIs(1)) << end;
    EXPECT_EQ(Read(File("t.json")), "of a run before");
  }
}

// `write | head -1`.
TEST_F(TraceProgramTest, ARunWhoseOutputNobodyReadsLeavesNoFile) {
  const std::string write = harness::ProgramPath("DRYDOCK_WRITE");
  ASSERT_OK_AND_ASSIGN(
      const ProcessEnd end,
      Subprocess::Run({"/bin/sh", "-c", write + " --num-pages=2000 --page-size=4096 | head -1"},
                      options_));
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(TraceProgramTest, AFlightFileIsNotWrittenOver) {
  std::ofstream(File("flight")) << "bytes";
  const ProcessEnd end = Run("DRYDOCK_FLIGHT", {File("flight"), "--trace=" + File("flight")});
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_EQ(Read(File("flight")), "bytes");
}

TEST_F(TraceProgramTest, AKilledRunLeavesItsLastEvents) {
  std::vector<std::string> command = {harness::ProgramPath("DRYDOCK_WRITE"), "--page-size=4096",
                                      "--num-pages=2000", "--verbose"};
  ASSERT_OK_AND_ASSIGN(const auto run, Subprocess::Start(command, options_));
  ASSERT_TRUE(run->WaitForText("immediate").ok());
  run->Signal(SIGKILL);
  ASSERT_OK_AND_ASSIGN(const ProcessEnd end, run->Finish());
  ASSERT_EQ(end.signal, SIGKILL) << "it had ended";
  ASSERT_THAT(Left(), ::testing::SizeIs(1));
  const ProcessEnd text = Run("DRYDOCK_FLIGHT", {Left()[0], "--trace=" + File("f.json")});
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_THAT(text.out, HasSubstr("program   write\n"));
  EXPECT_THAT(text.out, HasSubstr(" ns  "));
  EXPECT_FALSE(Check(File("f.json")).slices.empty());
}

TEST_F(TraceProgramTest, WhatIsNoFlightFileIsRefused) {
  std::ofstream(File("noise")) << std::string(1 << 20, 'x');
  EXPECT_EQ(Run("DRYDOCK_FLIGHT", {File("noise")}).exit_code, 2);
  EXPECT_EQ(Run("DRYDOCK_FLIGHT", {File("none")}).exit_code, 2);
  const ProcessEnd end = Run("DRYDOCK_FLIGHT", {});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_EQ(end.err, "flight: it takes one flight file; --help says where they are\n");
}

TEST_F(TraceProgramTest, HelpSaysWhichExitStatusThereIs) {
  const ProcessEnd end = Run("DRYDOCK_FLIGHT", {"--help"});
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.out, HasSubstr("1 the output cannot be written"));
  ASSERT_OK_AND_ASSIGN(
      const ProcessEnd full,
      Subprocess::Run(
          {"/bin/sh", "-c", harness::ProgramPath("DRYDOCK_FLIGHT") + " --help >/dev/full"},
          options_));
  EXPECT_EQ(full.exit_code, 1) << full;
}

}  // namespace
}  // namespace drydock::apps
