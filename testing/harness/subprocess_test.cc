#include "drydock/testing/harness/subprocess.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>

#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::harness {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

std::vector<std::string> Shell(const char* script) { return {"/bin/sh", "-c", script}; }

TEST(SubprocessTest, TellsHowItEndedAndWhatItPrinted) {
  ASSERT_OK_AND_ASSIGN(const auto end,
                       Subprocess::Run(Shell("echo a; echo b; echo c >&2; exit 3")));
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.out, "a\nb\n");
  EXPECT_EQ(end.err, "c\n");
  EXPECT_EQ(end.LastLine(), "b");
}

TEST(SubprocessTest, LastLineOfLittleOutput) {
  EXPECT_EQ(ProcessEnd{}.LastLine(), "");
  EXPECT_EQ(ProcessEnd{.out = "\n\n"}.LastLine(), "");
  EXPECT_EQ(ProcessEnd{.out = "one"}.LastLine(), "one");
}

TEST(SubprocessTest, LinesComeOneAfterTheOtherOnEachStream) {
  ASSERT_OK_AND_ASSIGN(auto process,
                       Subprocess::Start(Shell("echo first; echo other >&2; echo x; echo second")));
  EXPECT_THAT(process->WaitForLine("first"), IsOkAndHolds("first"));
  EXPECT_THAT(process->WaitForLine("sec"), IsOkAndHolds("second"));
  EXPECT_THAT(process->WaitForLine("other", Stream::kErr), IsOkAndHolds("other"));
  EXPECT_THAT(process->WaitForLine("first"),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("second")));
  EXPECT_THAT(process->Finish(), IsOk());
}

TEST(SubprocessTest, TextNeedsNoWholeLine) {
  ASSERT_OK_AND_ASSIGN(auto process,
                       Subprocess::Start(Shell(
                           "trap 'exit 0' CONT; printf 'half a'; while :; do sleep 0.05; done")));
  EXPECT_THAT(process->WaitForText("half"), IsOk());
  EXPECT_THAT(process->WaitForText(" a"), IsOk());
  process->Signal(SIGCONT);
  ASSERT_OK_AND_ASSIGN(const auto end, process->Finish());
  EXPECT_EQ(end.exit_code, 0);
}

TEST(SubprocessTest, SignalsAreToldApartFromExits) {
  ASSERT_OK_AND_ASSIGN(auto process, Subprocess::Start(Shell("echo ready; kill -STOP $$")));
  EXPECT_THAT(process->WaitForLine("ready"), IsOk());
  process->Signal(SIGKILL);
  ASSERT_OK_AND_ASSIGN(const auto end, process->Finish());
  EXPECT_EQ(end.exit_code, -1);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST(SubprocessTest, WaitsHaveAnEnd) {
  SubprocessOptions impatient;
  impatient.patience = 1ms;
  ASSERT_OK_AND_ASSIGN(auto process, Subprocess::Start(Shell("kill -STOP $$"), impatient));
  EXPECT_THAT(process->WaitForLine("never"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("'never'")));
  EXPECT_THAT(process->Finish(), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(SubprocessTest, NothingIsLeftBehind) {
  pid_t pid = 0;
  {
    ASSERT_OK_AND_ASSIGN(auto process, Subprocess::Start(Shell("echo ready; kill -STOP $$")));
    EXPECT_THAT(process->WaitForLine("ready"), IsOk());
    pid = process->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no child is left, dead or alive
  EXPECT_EQ(errno, ECHILD);
}

TEST(SubprocessTest, WhatTheProgramStartedIsNotLeftBehind) {
  int alive[2];  // its writing end stays open as long as any of them lives
  ASSERT_EQ(pipe(alive), 0);
  {
    ASSERT_OK_AND_ASSIGN(auto process, Subprocess::Start(Shell("sleep 1000 & echo ready; wait")));
    EXPECT_THAT(process->WaitForLine("ready"), IsOk());
  }
  close(alive[1]);
  pollfd ended{.fd = alive[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 60'000), 1) << "the child of the program that was killed lives on";
  close(alive[0]);
}

TEST(SubprocessTest, EnvironmentIsOnTopOfOurs) {
  setenv("DRYDOCK_KEPT", "kept", 1);
  setenv("DRYDOCK_CHANGED", "old", 1);
  SubprocessOptions options;
  options.environment = {{"DRYDOCK_CHANGED", "new"}};
  ASSERT_OK_AND_ASSIGN(const auto end,
                       Subprocess::Run(Shell("echo $DRYDOCK_KEPT $DRYDOCK_CHANGED"), options));
  EXPECT_EQ(end.out, "kept new\n");
}

TEST(SubprocessTest, StreamsCanBeMerged) {
  SubprocessOptions options;
  options.merge_streams = true;
  ASSERT_OK_AND_ASSIGN(const auto end,
                       Subprocess::Run(Shell("echo a; echo b >&2; echo c; echo d >&2"), options));
  EXPECT_EQ(end.out, "a\nb\nc\nd\n");
  EXPECT_EQ(end.err, "");
}

TEST(SubprocessTest, InputIsEmpty) {
  EXPECT_EQ(Subprocess::Run(Shell("cat")).value().exit_code, 0);
}

TEST(SubprocessTest, CanHaveATerminal) {
  constexpr const char* kTest = "test -t 0 -a -t 1 -a -t 2 && echo terminal >&2";
  EXPECT_EQ(Subprocess::Run(Shell(kTest)).value().err, "");
  SubprocessOptions options;
  options.terminal = true;
  EXPECT_EQ(Subprocess::Run(Shell(kTest), options).value().out, "terminal\n");
}

TEST(SubprocessTest, ProgramThatDoesNotExist) {
  EXPECT_EQ(Subprocess::Run({"/no/such/program"}).value().exit_code, 127);
}

}  // namespace
}  // namespace drydock::harness
