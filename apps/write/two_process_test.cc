// Server and clients as processes of their own, over a provider of libfabric: transfers, and
// everything that can happen to either side. The provider's name is in DRYDOCK_PROVIDER.
//
// Every wait is for a line that a program prints. A transfer takes well under a second on an idle
// machine; timeouts that must not expire are a hundred times as long.

#include <signal.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "drydock/testing/harness/shared_memory.h"
#include "drydock/testing/harness/subprocess.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::write {
namespace {

using harness::Lines;
using harness::ProcessEnd;
using harness::Subprocess;
using harness::SubprocessOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kPatient = "--timeout=100";

std::string Provider() { return std::getenv("DRYDOCK_PROVIDER"); }

std::vector<std::string> Command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {harness::ProgramPath("DRYDOCK_WRITE"), "--provider=" + Provider()});
  return arguments;
}

class TwoProcessTest : public ::testing::Test {
 protected:
  ~TwoProcessTest() override {
    server_.reset();
    for (const pid_t pid : pids_) harness::RemoveSharedMemoryOf(pid);
  }

  std::unique_ptr<Subprocess> Start(std::vector<std::string> arguments,
                                    const SubprocessOptions& options = {}) {
    std::unique_ptr<Subprocess> process =
        Subprocess::Start(Command(std::move(arguments)), options).value();
    pids_.push_back(process->pid());
    return process;
  }

  // Starts the server, and waits until it serves.
  void StartServer(std::vector<std::string> arguments) {
    SubprocessOptions options;
    options.merge_streams = true;
    server_ = Start(std::move(arguments), options);
    const std::string line = server_->WaitForLine("address").value();
    address_ = line.substr(line.find_last_of(' ') + 1);
    ASSERT_THAT(server_->WaitForLine("waiting"), ::drydock::testing_matchers::IsOk());
  }

  ProcessEnd RunClient(std::vector<std::string> arguments) {
    return Start(std::move(arguments))->Finish().value();
  }

  void ExpectServed(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {kPatient, address_});
    const ProcessEnd end = RunClient(std::move(arguments));
    EXPECT_EQ(end.exit_code, 0) << end;
    EXPECT_EQ(end.LastLine(), "Data is correct") << end;
    EXPECT_EQ(end.err, "");
  }

  // Waits for the server to begin a transfer; returns the session as its lines name it.
  std::string WaitForTransfer() {
    const std::string line = server_->WaitForLine("REQUEST").value();
    const std::size_t start = line.find("session");
    return line.substr(start, line.find(':') - start);
  }

  std::unique_ptr<Subprocess> server_;
  std::string address_;
  std::vector<pid_t> pids_;
};

TEST_F(TwoProcessTest, ServerEndsAfterItsClients) {
  StartServer({kPatient, "--clients=3"});
  ExpectServed();
  ExpectServed({"65536", "16"});
  ExpectServed({"--completion=last"});
  const ProcessEnd end = server_->Finish().value();
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, HasSubstr("16 pages, 16 MiB in "));
  EXPECT_THAT(end.out, HasSubstr("32 pages, 2 MiB in "));
  EXPECT_THAT(end.out, HasSubstr("completion last"));
  EXPECT_THAT(end.out, Not(HasSubstr("write: ")));
}

TEST_F(TwoProcessTest, ClientTellsWhatItDoes) {
  StartServer({kPatient});
  const ProcessEnd end = RunClient({kPatient, address_, "8192", "4", "--verbose"});
  const std::vector<std::string> lines = Lines(end.out);
  ASSERT_GE(lines.size(), 9u) << end;
  EXPECT_THAT(lines[0], MatchesRegex("fabric    libfabric .*" + Provider() + ".*, NIC .*"));
  EXPECT_EQ(lines[1], "server    " + address_);
  EXPECT_THAT(lines[2], StartsWith("request   4 pages of 8 KiB into each of 2 regions, data seed"));
  EXPECT_THAT(lines[3],
              MatchesRegex("pages     ([0-9]+, ){3}[0-9]+ \\(a region of 16 MiB has 2048\\)"));
  EXPECT_THAT(lines[4], StartsWith("memory    client's region 0: 16777216 bytes at 0x"));
  EXPECT_THAT(end.out, HasSubstr("progress  100%: 8 of 8 writes after "));
  EXPECT_THAT(lines[lines.size() - 2], MatchesRegex("received  8 pages, 64 KiB in .*B/s \\(.*"));
}

TEST_F(TwoProcessTest, JsonGoesToTheScriptAlone) {
  StartServer({kPatient});
  const ProcessEnd end = RunClient({kPatient, "--json", address_});
  EXPECT_EQ(end.exit_code, 0) << end;
  const auto json = nlohmann::json::parse(end.out);
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["simulated"], false);
  EXPECT_THAT(json["fabric"].get<std::string>(), HasSubstr(Provider()));
}

TEST_F(TwoProcessTest, ClientsAreServedSideBySide) {
  StartServer({kPatient, "--clients=4"});
  std::vector<std::unique_ptr<Subprocess>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(Start({kPatient, address_}));
  for (const auto& client : clients) {
    const ProcessEnd end = client->Finish().value();
    EXPECT_EQ(end.exit_code, 0) << end;
    EXPECT_EQ(end.LastLine(), "Data is correct") << end;
  }
  EXPECT_EQ(server_->Finish().value().exit_code, 0);
}

// Whether a kill comes in the middle of a transfer is the scheduler's to decide: until it did.
TEST_F(TwoProcessTest, ClientKilledInItsTransferCostsTheOthersNothing) {
  StartServer({"--timeout=8"});
  for (int attempt = 0; attempt < 80; ++attempt) {
    auto client = Start({kPatient, address_});
    const std::string session = WaitForTransfer();
    client->Signal(SIGKILL);
    EXPECT_EQ(client->Finish().value().signal, SIGKILL);
    ExpectServed();  // while the server still tries
    const std::string line = server_->WaitForLine(session).value();
    if (absl::StartsWith(line, "wrote")) continue;  // it was too fast
    EXPECT_THAT(line, StartsWith("write: transfer of " + session + " failed: write of page "));
    ExpectServed();
    return;
  }
  FAIL() << "no client was killed in its transfer";
}

TEST_F(TwoProcessTest, StoppedClientIsGivenUpAndTheNextOneServed) {
  StartServer({"--timeout=8"});
  for (int attempt = 0; attempt < 80; ++attempt) {
    auto client = Start({kPatient, address_});
    const std::string session = WaitForTransfer();
    client->Signal(SIGSTOP);
    ExpectServed();
    const std::string line = server_->WaitForLine(session).value();
    if (absl::StartsWith(line, "wrote")) continue;  // it was too fast
    EXPECT_THAT(line, StartsWith("write: transfer of " + session + " failed: write of page "));
    ExpectServed();
    return;
  }
  FAIL() << "no client was stopped in its transfer";
}

TEST_F(TwoProcessTest, AbsentServerIsReportedWithinTheTimeout) {
  StartServer({kPatient});
  server_->Signal(SIGKILL);
  EXPECT_EQ(server_->Finish().value().signal, SIGKILL);
  harness::RemoveSharedMemoryOf(server_->pid());
  const ProcessEnd end = RunClient({"--timeout=2", address_});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre(StartsWith("write: "))) << end;
}

TEST_F(TwoProcessTest, ServerKilledInATransferIsReported) {
  for (int attempt = 0; attempt < 80; ++attempt) {
    StartServer({kPatient});
    auto client = Start({"--timeout=5", address_});
    WaitForTransfer();
    server_->Signal(SIGKILL);
    EXPECT_EQ(server_->Finish().value().signal, SIGKILL);
    const ProcessEnd end = client->Finish().value();
    if (end.exit_code == 0) continue;  // it was served in time
    EXPECT_EQ(end.exit_code, 1) << end;
    EXPECT_THAT(Lines(end.err), ElementsAre(StartsWith("write: "))) << end;
    EXPECT_THAT(end.err, HasSubstr("writes arrived"));
    return;
  }
  FAIL() << "no server was killed in a transfer";
}

// A person at a terminal sees that something is going on, and the line is gone when it is not.
TEST_F(TwoProcessTest, TerminalShowsProgressOfLongWork) {
  StartServer({kPatient});
  server_->Signal(SIGSTOP);
  SubprocessOptions options;
  options.terminal = true;
  auto client = Start({kPatient, address_}, options);
  ASSERT_THAT(client->WaitForText("\r\033[K[..............................] 0 of 16 writes"),
              ::drydock::testing_matchers::IsOk());
  server_->Signal(SIGCONT);
  const ProcessEnd end = client->Finish().value();
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(end.LastLine(), "Data is correct");
  EXPECT_EQ(end.out.substr(end.out.rfind("\r\033[K")).find("of 16 writes, "), std::string::npos);
}

struct BadAddress {
  const char* provider;  // null: any
  std::string address;
  const char* complaint;
};

TEST_F(TwoProcessTest, BadAddressesAreRefusedWithOneLine) {
  const std::vector<BadAddress> cases = {
      {nullptr, "0", "the number must be even"},
      {nullptr, "zz", "only hexadecimal digits"},
      {nullptr, "0x00", "only hexadecimal digits"},
      {nullptr, std::string(2 * 129, '1'), "at most 256"},
      {nullptr, "", "address is empty"},
      {"tcp", "0200", "address has 2 bytes (4 digits): this provider's have 16"},
      {"tcp", std::string(64, '1'), "address has 32 bytes"},
      {"tcp", std::string(32, '0'), "family 0"},
      {"tcp", "0a00" + std::string(28, '1'), "family 10"},
      {"shm", "616263", "not a name"},
      {"shm", "00", "not a name"},
      {"shm", "61006200", "not a name"},
  };
  for (const BadAddress& bad : cases) {
    if (bad.provider != nullptr && bad.provider != Provider()) continue;
    const ProcessEnd end = RunClient({bad.address});
    EXPECT_EQ(end.exit_code, 2) << bad.address << "\n" << end;
    EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr(bad.complaint))) << bad.address;
    EXPECT_EQ(end.out, "") << bad.address;
  }
}

TEST_F(TwoProcessTest, BadRequestsAreRefusedBeforeTheServerIsAsked) {
  StartServer({kPatient});
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{"1000"}, "page size 1000 does not divide"},
      {{"1048576", "17"}, "16 pages of 1 MiB, not 17"},
      {{"4096", "0"}, "no pages are asked for"},
      {{"18446744073709551616"}, "--page-size=18446744073709551616 is not valid: it takes a size"},
      {{"--nic=nowhere9"}, "no NIC 'nowhere9': there are "},
  };
  for (const auto& [arguments, complaint] : cases) {
    std::vector<std::string> all = {address_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProcessEnd end = RunClient(all);
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr(complaint)));
    EXPECT_EQ(end.out, "");
  }
  ExpectServed();
}

TEST_F(TwoProcessTest, ServerRefusesJson) {
  const ProcessEnd end = RunClient({"--json"});
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr("give an address")));
}

TEST_F(TwoProcessTest, EachSideRefusesTheOthersFlags) {
  for (const char* flag :
       {"--page-size=4096", "--num-pages=2", "--data-seed=1", "--completion=last"}) {
    const ProcessEnd end = RunClient({flag});
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr("is for a client")));
  }
  const ProcessEnd end = RunClient({"--clients=2", "00"});
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr("--clients is for a server")));
}

}  // namespace
}  // namespace drydock::apps::write
