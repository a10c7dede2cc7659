// Fault plans above a provider of libfabric: server and client as processes of their own. The
// provider's name is in DRYDOCK_PROVIDER.

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "drydock/testing/harness/shared_memory.h"
#include "drydock/testing/harness/subprocess.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::write {
namespace {

using harness::ProcessEnd;
using harness::Subprocess;
using harness::SubprocessOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> Command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {harness::ProgramPath("DRYDOCK_WRITE"), "--fabric=libfabric",
                    std::string("--provider=") + std::getenv("DRYDOCK_PROVIDER")});
  return arguments;
}

std::string PlanOf(const std::string& name) { return "--faults=apps/write/faults/" + name; }

class TwoProcessFaultsTest : public ::testing::Test {
 protected:
  ~TwoProcessFaultsTest() override {
    if (server_ == nullptr) return;
    const pid_t pid = server_->pid();
    server_.reset();
    harness::RemoveSharedMemoryOf(pid);
  }

  void StartServer(std::vector<std::string> arguments) {
    SubprocessOptions options;
    options.merge_streams = true;
    server_ = Subprocess::Start(Command(std::move(arguments)), options).value();
    const std::string line = server_->WaitForLine("address").value();
    address_ = line.substr(line.find_last_of(' ') + 1);
    ASSERT_THAT(server_->WaitForLine("waiting"), ::drydock::testing_matchers::IsOk());
  }

  ProcessEnd RunClient(std::vector<std::string> arguments) {
    arguments.push_back(address_);
    return Subprocess::Run(Command(std::move(arguments)), {}).value();
  }

  std::unique_ptr<Subprocess> server_;
  std::string address_;
};

TEST_F(TwoProcessFaultsTest, ServerSurvivesTheStorm) {
  StartServer({"--timeout=100", "--clients=1", PlanOf("again_storm.json")});
  const ProcessEnd client = RunClient({"--timeout=100"});
  EXPECT_EQ(client.exit_code, 0) << client;
  EXPECT_EQ(client.LastLine(), "Data is correct");
  const ProcessEnd server = server_->Finish().value();
  EXPECT_EQ(server.exit_code, 0) << server;
  EXPECT_THAT(server.out, HasSubstr("again_until_polled"));
  EXPECT_THAT(server.out, Not(HasSubstr("never fired")));
}

TEST_F(TwoProcessFaultsTest, ClientSurvivesLateImmediates) {
  const std::string path = ::testing::TempDir() + "late.json";
  std::ofstream(path) << R"({"rules": [
      {"fault": "delayed_completion", "parameters": {"delay_ns": 1000000, "jitter_ns": 1000000},
       "when": {"operation": "remote_write"}},
      {"fault": "short_read", "when": {"probability": 0.5}},
      {"fault": "spurious_wake", "when": {"every": 2}, "expect_fired": {"min": 0}}]})";
  StartServer({"--timeout=100", "--clients=1"});
  const ProcessEnd client = RunClient({"--timeout=100", "--faults=" + path});
  EXPECT_EQ(client.exit_code, 0) << client;
  EXPECT_THAT(client.out, HasSubstr("\nData is correct\n"));
  EXPECT_THAT(client.out, ::testing::ContainsRegex("delayed_completion +16 +16 +1 or more"));
  EXPECT_EQ(server_->Finish().value().exit_code, 0);
}

TEST_F(TwoProcessFaultsTest, DroppedClientIsReportedByBoth) {
  StartServer({"--timeout=100", PlanOf("dropped_peer.json")});
  const ProcessEnd client = RunClient({"--timeout=2"});
  EXPECT_EQ(client.exit_code, 1) << client;
  std::vector<std::string> lines = absl::StrSplit(client.err, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, ElementsAre(StartsWith("write: "))) << client;
  const std::string line = server_->WaitForLine("write: ").value();
  // Whether an earlier write had ended when this one was given up is the provider's to decide.
  EXPECT_THAT(line,
              MatchesRegex("write: transfer of session .* failed: write of page .*the peer "
                           "(stopped answering|never answered).*dropped_peer .EFA status 1[35]"
                           ".*silent client.*"));
}

TEST_F(TwoProcessFaultsTest, ProgramThatCannotOpenItsQueueSaysSo) {
  const std::string path = ::testing::TempDir() + "open.json";
  std::ofstream(path) << R"({"rules": [{"fault": "open_completion_queue_fails"}]})";
  const ProcessEnd end = Subprocess::Run(Command({"--faults=" + path}), {}).value();
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.err, StartsWith("write: open completion queue (made by the fault rule "
                                  "open_completion_queue_fails): out of memory"));
}

}  // namespace
}  // namespace drydock::apps::write
