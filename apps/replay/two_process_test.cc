// A run of two processes over a provider of libfabric, each with its own trace and clock, comes to
// the same memory on the simulator. The provider's name is in DRYDOCK_PROVIDER.

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/testing/harness/shared_memory.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::replay {
namespace {

using harness::ProcessEnd;
using harness::Subprocess;
using nlohmann::json;

std::string Trace(const char* side) {
  return absl::StrCat(::testing::TempDir(), "/replay_", std::getenv("DRYDOCK_PROVIDER"), "_", side,
                      ".json");
}

std::vector<std::string> Write(const char* side, std::vector<std::string> more) {
  std::vector<std::string> command = {harness::ProgramPath("DRYDOCK_WRITE"),
                                      absl::StrCat("--provider=", std::getenv("DRYDOCK_PROVIDER")),
                                      "--timeout=100", absl::StrCat("--trace=", Trace(side)),
                                      "--trace-data=64MiB"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

// Both sides, once.
void Transfer(std::vector<std::string> client_arguments) {
  harness::SubprocessOptions merged;
  merged.merge_streams = true;
  const auto server = Subprocess::Start(Write("server", {"--clients=1"}), merged).value();
  const std::string line = server->WaitForLine("address").value();
  ASSERT_TRUE(server->WaitForLine("waiting").ok());
  client_arguments.insert(client_arguments.begin(), line.substr(line.find_last_of(' ') + 1));
  const auto client = Subprocess::Start(Write("client", client_arguments)).value();
  const ProcessEnd end = client->Finish().value();
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(server->Finish().value().exit_code, 0);
  harness::RemoveSharedMemoryOf(server->pid());
  harness::RemoveSharedMemoryOf(client->pid());
}

void ExpectReplayed(const std::vector<std::string>& settings) {
  std::vector<std::string> command = {harness::ProgramPath("DRYDOCK_REPLAY"), "--json",
                                      Trace("server"), Trace("client")};
  command.insert(command.end(), settings.begin(), settings.end());
  const ProcessEnd end = Subprocess::Run(command).value();
  ASSERT_EQ(end.exit_code, 0) << end;
  const json result = json::parse(end.out);
  EXPECT_EQ(result["same_memory"], true);
  EXPECT_EQ(result["same_order"], true);
  EXPECT_EQ(result["missing"], 0);
  EXPECT_EQ(result["regions"].size(), 7u);
  for (const json& region : result["regions"]) EXPECT_EQ(region["memory"], "same") << region;
}

TEST(ReplayOfTwoProcessesTest, MemoryIsTheSame) {
  Transfer({});  // 16 MiB
  ExpectReplayed({});
  ExpectReplayed({"--timing=fast", "--seed=2"});
}

TEST(ReplayOfTwoProcessesTest, ManySmallWrites) {
  Transfer({"4096", "64"});
  ExpectReplayed({});
  ExpectReplayed({"--provider=efa-direct", "--timing=fast"});
}

}  // namespace
}  // namespace drydock::apps::replay
