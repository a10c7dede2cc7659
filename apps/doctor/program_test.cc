// The program, started as a user starts it; its probes; its report.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/doctor/fabric_abi.h"
#include "drydock/apps/doctor/libraries.h"
#include "drydock/apps/doctor/probes.h"
#include "drydock/apps/doctor/report.h"
#include "drydock/apps/doctor/system_files.h"
#include "drydock/apps/doctor/testing/fake_machine.h"
#include "drydock/testing/harness/subprocess.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#ifdef DRYDOCK_HAVE_LIBFABRIC
#include <rdma/fabric.h>
#endif

namespace drydock::apps::doctor {
namespace {

using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

harness::ProcessEnd RunDoctor(std::vector<std::string> arguments,
                              const harness::SubprocessOptions& options = {}) {
  arguments.insert(arguments.begin(), harness::ProgramPath("DOCTOR"));
  return harness::Subprocess::Run(arguments, options).value();
}

std::string Root(const FakeMachine& machine) { return "--root=" + machine.root(); }

TEST(ProgramTest, ExitStatusSaysWhetherEfaCanRun) {
  const FakeMachine machine = FakeMachine::Healthy("p5");
  EXPECT_EQ(RunDoctor({Root(machine)}).exit_code, 0);
  machine.Write("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  EXPECT_EQ(RunDoctor({Root(machine)}).exit_code, 1);
  EXPECT_EQ(RunDoctor({Root(machine), "--only=machine,nics"}).exit_code, 0);
  machine.Remove("/sys/module/efa");
  const harness::ProcessEnd end = RunDoctor({Root(machine), "--quiet"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.err, IsEmpty());
  EXPECT_THAT(end.out, AllOf(HasSubstr("cannot   efa-driver"), HasSubstr("fix: install"),
                             HasSubstr("1 error to repair, 1 warning"), Not(HasSubstr("ok "))));
}

TEST(ProgramTest, JsonHasEveryFinding) {
  const FakeMachine machine = FakeMachine::Healthy("p5");
  machine.Write("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  const Json json = Json::parse(RunDoctor({Root(machine), "--json", "--plan-memory=1GiB"}).out);
  EXPECT_EQ(json["verdict"], "warning");
  EXPECT_EQ(json["exit_status"], 1);
  EXPECT_EQ(json["instance_type"], "p5.48xlarge");
  EXPECT_EQ(json["efa_nics"], 32);
  int warnings = 0, plans = 0;
  for (const Json& finding : json["findings"]) {
    plans += finding["group"] == "plan" ? 1 : 0;
    if (finding["severity"] != "warning") continue;
    ++warnings;
    EXPECT_EQ(finding["check"], "ptrace-scope");
    EXPECT_THAT(finding["fix"].get<std::string>(), HasSubstr("sysctl"));
  }
  EXPECT_EQ(warnings, 1);
  EXPECT_GT(plans, 5);
}

TEST(ProgramTest, QuietHoldsForEveryForm) {
  const FakeMachine machine = FakeMachine::Healthy("p5");
  machine.Write("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  const Json json = Json::parse(RunDoctor({Root(machine), "--json", "--quiet"}).out);
  EXPECT_EQ(json["verdict"], "warning");
  ASSERT_EQ(json["findings"].size(), 1u) << json;
  EXPECT_EQ(json["findings"][0]["check"], "ptrace-scope");
  EXPECT_THAT(RunDoctor({Root(machine), "--csv", "--quiet"}).out,
              AllOf(HasSubstr("\nlimits,ptrace-scope,warning,"), Not(HasSubstr(",ok,"))));
}

TEST(ProgramTest, APlanIsLookedAtWhateverElseIsAskedFor) {
  const FakeMachine machine = FakeMachine::Healthy("p5");
  const harness::ProcessEnd end =
      RunDoctor({Root(machine), "--only=machine", "--plan-processes=100000"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.out, AllOf(HasSubstr("plan-queue-pairs"), Not(HasSubstr("efa-nics"))));
}

TEST(ProgramTest, ColoursAreForTerminals) {
  const FakeMachine machine = FakeMachine::Healthy("p5");
  harness::SubprocessOptions terminal;
  terminal.terminal = true;
  terminal.environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}};
  EXPECT_THAT(RunDoctor({Root(machine)}, terminal).out, HasSubstr("\033[32mok"));
  terminal.environment["NO_COLOR"] = "1";
  EXPECT_THAT(RunDoctor({Root(machine)}, terminal).out, Not(HasSubstr("\033")));
  EXPECT_THAT(RunDoctor({Root(machine)}).out, Not(HasSubstr("\033")));
  EXPECT_THAT(RunDoctor({Root(machine), "--color=always"}).out, HasSubstr("\033[32mok"));
  EXPECT_FALSE(UseColor("auto", true, nullptr, "dumb"));
  EXPECT_FALSE(UseColor("never", true, nullptr, "xterm"));
}

TEST(ProgramTest, LinesStayWithinTheirWidth) {
  const FakeMachine machine = FakeMachine::Healthy("p5");
  machine.Remove("/dev/infiniband");
  machine.Edit("/proc/self/limits", "unlimited ", "65536 ");
  for (const absl::string_view line : absl::StrSplit(RunDoctor({Root(machine)}).out, '\n')) {
    EXPECT_LE(line.size(), 110u) << line;
  }
}

TEST(ProgramTest, BadInputIsOneLineAndTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--root=/no/such/folder"},
                                             {"--only=everything"},
                                             {"--pid=4194305"},
                                             {"surplus"},
                                             {"--plan-memory=much"},
                                             {"--plan-processes=0"},
                                             {"--plan-profile=p9"},
                                             {"--color=green"},
                                             {"--plan-peers=-1"},
                                             {"--unknown"}}) {
    const harness::ProcessEnd end = RunDoctor(arguments);
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(end.out, IsEmpty());
    EXPECT_THAT(end.err, StartsWith("doctor: "));
    EXPECT_EQ(end.err.find('\n'), end.err.size() - 1) << end.err;
  }
}

// On whatever machine this runs: a verdict, and no failure of doctor's own.
TEST(ProgramTest, ThisMachineGetsAVerdict) {
  const harness::ProcessEnd end = RunDoctor({"--json", "--all"});
  ASSERT_THAT(end.exit_code, ::testing::AnyOf(0, 1, 2)) << end;
  EXPECT_THAT(end.err, IsEmpty());
  const Json json = Json::parse(end.out);
  EXPECT_EQ(json["exit_status"], end.exit_code);
  EXPECT_FALSE(json["findings"].empty());
  EXPECT_FALSE(json["next"].empty());
}

TEST(ProgramTest, HelpTeaches) {
  const harness::ProcessEnd end = RunDoctor({"--help"});
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.out, AllOf(StartsWith("doctor: reports whether"), HasSubstr("--plan-memory"),
                             HasSubstr("exit status 0 fine, 1 a warning, 2"),
                             HasSubstr("--root=/var/lib/machines/job")));
}

// The machine of README.md: a p5 in a container that was started without EFA's flags.
TEST(ProgramTest, ReadmeShowsWhatIsPrinted) {
  const FakeMachine machine = FakeMachine::Healthy("p5");
  machine.Write("/.dockerenv", "");
  machine.Remove("/dev/infiniband");
  machine.Edit("/proc/self/limits", "unlimited            unlimited", "65536 65536");
  machine.Write("/proc/self/mounts", "shm /dev/shm tmpfs rw,size=65536k 0 0\n");
  std::ifstream file(harness::ProgramPath("DRYDOCK_README"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string printed = RunDoctor({Root(machine)}).out;
  EXPECT_THAT(page, HasSubstr("```text\n" + printed + "```\n"))
      << "README.md shows an old report. Paste this:\n"
      << printed;
}

// ---- Probes ----

TEST(RunInChildTest, ReturnsWhatTheWorkReturns) {
  EXPECT_THAT(RunInChild([] { return std::string("one\ntwo"); }, std::chrono::minutes(1)),
              IsOkAndHolds("one\ntwo"));
  const auto large = RunInChild([] { return std::string(1 << 20, 'x'); }, std::chrono::minutes(1));
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(large->size(), 64u << 10);
}

TEST(RunInChildTest, ADeathIsAnError) {
  const auto killed = RunInChild(
      []() -> std::string {
        kill(getpid(), SIGKILL);
        return "";
      },
      std::chrono::minutes(1));
  EXPECT_THAT(killed, StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(std::string(killed.status().message()), HasSubstr("Killed"));
  const auto left = RunInChild([]() -> std::string { _exit(7); }, std::chrono::minutes(1));
  EXPECT_THAT(left, StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(std::string(left.status().message()), HasSubstr("status 7"));
}

TEST(RunInChildTest, WhatNeverEndsIsEnded) {
  const auto result = RunInChild(
      []() -> std::string {
        while (true) pause();
      },
      std::chrono::milliseconds(1));
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(LiveProbesTest, WhatIsNoLibraryIsUnavailable) {
  const FakeMachine machine = FakeMachine::Healthy("small");
  LiveProbes probes;
  EXPECT_THAT(probes.AskLibfabric(machine.root() + "/proc/meminfo"),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(probes.AskLibfabric(machine.root() + "/nothing"),
              StatusIs(absl::StatusCode::kUnavailable));
}

#ifdef DRYDOCK_HAVE_LIBFABRIC
TEST(LiveProbesTest, TheStructuresAreLibfabrics) {
  EXPECT_EQ(offsetof(FabricInfoHead, next), offsetof(fi_info, next));
  EXPECT_EQ(offsetof(FabricInfoHead, domain_attr), offsetof(fi_info, domain_attr));
  EXPECT_EQ(offsetof(FabricInfoHead, fabric_attr), offsetof(fi_info, fabric_attr));
  EXPECT_EQ(offsetof(FabricAttributesHead, name), offsetof(fi_fabric_attr, name));
  EXPECT_EQ(offsetof(FabricAttributesHead, prov_name), offsetof(fi_fabric_attr, prov_name));
  EXPECT_EQ(offsetof(DomainAttributesHead, name), offsetof(fi_domain_attr, name));
}

TEST(LiveProbesTest, TheSystemsLibfabricAnswers) {
  const auto copies = FindLibrary(SystemFiles("/"), "", "libfabric.so.1");
  if (LoadedCopy(copies) == nullptr) GTEST_SKIP() << "it is linked from elsewhere";
  LiveProbes probes;
  const auto answer = probes.AskLibfabric(LoadedCopy(copies)->path);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_GE(answer->version, (Version{1, 1, 0}));
  EXPECT_EQ(answer->offers.empty(), answer->error != 0);
}
#endif

}  // namespace
}  // namespace drydock::apps::doctor
