// The program as a person or a script meets it: what it prints, how it ends, what it refuses, and a
// server and clients as processes of their own. Ports are free ones that the server names; every
// wait is for a line.

#include <signal.h>

#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/run_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::echo {
namespace {

using harness::Lines;
using harness::ProcessEnd;
using harness::Subprocess;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A machine that is busy with other tests may take its time.
constexpr const char* kPatient = "--timeout=100";

constexpr harness::Program kEcho("DRYDOCK_ECHO", "echo");

// Ports, times and what follows from them are another's in every run.
std::string WithoutFigures(const std::string& text) {
  static const std::regex kFigures("([0-9.]+ (ns|us|ms|s)\\b)|(127\\.0\\.0\\.1:[0-9]+)");
  return std::regex_replace(text, kFigures, "#");
}

// Which of the two clients ends first is the scheduler's to decide.
TEST(EchoProgramTest, WithoutArgumentsPrintsWhatTheReadmeShows) {
  const ProcessEnd end = kEcho.Run({kPatient});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(end.LastLine(), "Every byte came back");
  const std::vector<harness::ReadmeSession> sessions = harness::ReadmeSessions("//apps/echo");
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_THAT(sessions[0].arguments, IsEmpty());
  EXPECT_EQ(WithoutFigures(end.out), WithoutFigures(sessions[0].output))
      << "README.md shows an old session. Paste this below its command line:\n\n"
      << end.out;
}

TEST(EchoProgramTest, EachKindRunsAlone) {
  const ProcessEnd tcp = kEcho.Run({kPatient, "--tcp", "--message-size=1000", "--count=3"});
  EXPECT_EQ(tcp.exit_code, 0) << tcp;
  EXPECT_THAT(Lines(tcp.out), Contains(MatchesRegex("tcp       3 round trips of 1000 B, 2.9 KiB "
                                                    "each way in .*: .* each, .* at best")));
  EXPECT_THAT(tcp.out, Not(HasSubstr("\nrdma")));
  const ProcessEnd rdma = kEcho.Run({kPatient, "--rdma", "--message-size=8192", "--count=3"});
  EXPECT_EQ(rdma.exit_code, 0) << rdma;
  EXPECT_THAT(Lines(rdma.out),
              Contains(StartsWith("rdma      3 round trips of 8 KiB, 24 KiB each way in ")));
  EXPECT_THAT(rdma.out, HasSubstr("(simulated NIC: "));
  EXPECT_THAT(rdma.out, Not(HasSubstr("\ntcp")));
}

// More than the sockets of both sides hold: a client that wrote all before it read would hang.
TEST(EchoProgramTest, LongMessagesDoNotLockUp) {
  const ProcessEnd end = kEcho.Run({kPatient, "--tcp", "--message-size=16777216", "--count=1"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, HasSubstr("session 1 echoed 16 MiB"));
}

TEST(EchoProgramTest, InterruptedClientSaysHowFarItCame) {
  const auto program =
      Subprocess::Start(kEcho.Command({kPatient, "--count=18446744073709551615"})).value();
  ASSERT_TRUE(program->WaitForLine("tcp       server").ok());
  program->Signal(SIGINT);
  const ProcessEnd end = program->Finish().value();
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_EQ(end.err, "echo: interrupted\n");
  EXPECT_THAT(Lines(end.out), Contains(MatchesRegex("tcp       [0-9]+ round trips of 64 B.*")));
  EXPECT_THAT(Lines(end.out), Contains(MatchesRegex("rdma      [0-9]+ round trips of 64 B.*")));
}

TEST(EchoProgramTest, HelpTeaches) {
  const ProcessEnd end = kEcho.Run({"--help"});
  EXPECT_EQ(end.exit_code, 0) << end;
  for (const char* word : {"echo: servers that send back", "--connect=HOST:PORT", "--message-size",
                           "(default 64)", "nc 127.0.0.1", "Exit status: 0 everything came back"}) {
    EXPECT_THAT(end.out, HasSubstr(word));
  }
}

struct BadInput {
  std::vector<std::string> arguments;
  const char* complaint;
};

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsRefusedWithOneLine) {
  const ProcessEnd end = kEcho.Run(GetParam().arguments);
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre(StartsWith("echo: "))) << end;
  EXPECT_THAT(end.err, HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    EchoProgram, BadInputTest,
    ::testing::Values(
        BadInput{{"--message-size=0"}, "--message-size=0 is not between 1 and 16777216"},
        BadInput{{"--message-size=16777217"}, "is not between 1 and 16777216"},
        BadInput{{"--message-size=many"}, "a size, as 4096, 64KiB"},
        BadInput{{"--message-size=65536"}, "NIC rdmap79s0 sends at most"},
        BadInput{{"--count=0"}, "--count=0 asks for nothing"},
        BadInput{{"--timeout=0"}, "--timeout=0 is not between"},
        BadInput{{"--timeout=nan"}, "--timeout=nan"},
        BadInput{{"--listen=1", "--connect=a:1"}, "one process is one of them"},
        BadInput{{"--listen=0", "--rdma"}, "not with --listen or --connect"},
        BadInput{{"--connect=127.0.0.1:1", "--rdma"}, "not with --listen or --connect"},
        BadInput{{"--clients=2"}, "--clients goes with --listen"},
        BadInput{{"--listen=0", "--count=5"}, "--count is a client's: not with --listen"},
        BadInput{{"--listen=0", "--message-size=9"}, "--message-size is a client's"},
        BadInput{{"--listen=65536"}, "is not HOST:PORT, with a port from 0 to 65535"},
        BadInput{{"--listen=x"}, "is not HOST:PORT"},
        BadInput{{"--connect=127.0.0.1"}, "is not HOST:PORT"},
        BadInput{{"--connect=no-such-host.invalid:7"}, "find host 'no-such-host.invalid'"},
        BadInput{{"127.0.0.1:7"}, "unexpected argument '127.0.0.1:7'"},
        BadInput{{"--conect=a:1"}, "unknown flag"}));

// ---- Two processes ----

class TwoProcessTest : public ::testing::Test {
 protected:
  // Starts a server at a port that is free, and waits until it serves.
  void StartServer(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--listen=0", kPatient});
    server_ = Subprocess::Start(kEcho.Command(std::move(arguments))).value();
    const std::string line = server_->WaitForLine("tcp       server").value();
    connect_ = absl::StrCat("--connect=", line.substr(line.find_last_of(' ') + 1));
    ASSERT_TRUE(server_->WaitForLine("waiting").ok());
  }

  std::unique_ptr<Subprocess> server_;
  std::string connect_;
};

TEST_F(TwoProcessTest, ServerEndsAfterItsClients) {
  StartServer({"--clients=2"});
  const auto first = Subprocess::Start(kEcho.Command({connect_, kPatient, "--count=20"})).value();
  const auto second = Subprocess::Start(kEcho.Command({connect_, kPatient, "--count=20"})).value();
  for (const auto& client : {first.get(), second.get()}) {
    const ProcessEnd end = client->Finish().value();
    EXPECT_EQ(end.exit_code, 0) << end;
    EXPECT_EQ(end.LastLine(), "Every byte came back");
    EXPECT_THAT(end.out, HasSubstr("tcp       20 round trips of 64 B, 1.2 KiB each way"));
  }
  const ProcessEnd end = server_->Finish().value();
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, HasSubstr("session 1 echoed 1.2 KiB"));
  EXPECT_THAT(end.out, HasSubstr("session 2 echoed 1.2 KiB"));
}

TEST_F(TwoProcessTest, InterruptedServerEndsWell) {
  StartServer({});
  server_->Signal(SIGINT);
  const ProcessEnd end = server_->Finish().value();
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(end.err, "");
  EXPECT_THAT(end.LastLine(), StartsWith("signal"));
}

TEST_F(TwoProcessTest, KilledClientCostsTheOthersNothing) {
  StartServer({});
  const auto victim =
      Subprocess::Start(kEcho.Command({connect_, kPatient, "--count=18446744073709551615"}))
          .value();
  ASSERT_TRUE(victim->WaitForLine("loop").ok());
  victim->Signal(SIGKILL);
  EXPECT_EQ(victim->Finish().value().signal, SIGKILL);
  const ProcessEnd end = kEcho.Run({connect_, kPatient, "--count=5"});
  EXPECT_EQ(end.exit_code, 0) << end;
}

TEST_F(TwoProcessTest, ClientOfAServerThatDiedFailsWithOneLine) {
  StartServer({});
  const auto client =
      Subprocess::Start(kEcho.Command({connect_, kPatient, "--count=18446744073709551615"}))
          .value();
  ASSERT_TRUE(client->WaitForLine("loop").ok());
  server_->Signal(SIGKILL);
  EXPECT_EQ(server_->Finish().value().signal, SIGKILL);
  const ProcessEnd end = client->Finish().value();
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre(StartsWith("echo: "))) << end;
  // The server is gone.
  const ProcessEnd refused = kEcho.Run({connect_, kPatient});
  EXPECT_EQ(refused.exit_code, 1) << refused;
  EXPECT_THAT(Lines(refused.err), ElementsAre(HasSubstr("nobody listens there")));
}

TEST_F(TwoProcessTest, PortThatIsTakenIsRefused) {
  StartServer({});
  const std::string port = connect_.substr(connect_.find(':') + 1);
  const ProcessEnd end = kEcho.Run({"--listen=" + port});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr("listen at 127.0.0.1:" + port)));
}

}  // namespace
}  // namespace drydock::apps::echo
