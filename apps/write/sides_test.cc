// The main job on the simulator: every seed right with counting, some seed wrong when the last
// write is trusted.

#include "drydock/apps/write/sides.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/common/nic_choice.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::write {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct SimulatedRunOptions {
  std::uint64_t seed = 1;
  const sim::Profile* profile = nullptr;
  SimulatedFabric simulated_fabric = SimulatedFabric::kEfaDirect;
  std::string nic;
  ClientOptions client;
  ServerOptions server;
};

struct SimulatedRun {
  TransferReport transfer;
  coro::Duration simulated{};  // virtual time of the whole run
};

// One transfer in a world of its own.
absl::StatusOr<SimulatedRun> RunSimulated(const SimulatedRunOptions& options) {
  sim::World world(options.seed, *options.profile);
  coro::EventLoop loop(world);
  const auto open = [&](const char* name) -> absl::StatusOr<std::unique_ptr<fabric::async::Node>> {
    auto fabric = OpenSimulatedFabric(options.simulated_fabric, world, world.AddNode(name));
    ASSIGN_OR_RETURN(const std::size_t nic, FindNic(*fabric, options.nic));
    return fabric::async::Node::Open(loop, std::move(fabric), nic);
  };
  ASSIGN_OR_RETURN(const auto server, open("server"));
  ASSIGN_OR_RETURN(const auto client, open("client"));
  ASSIGN_OR_RETURN(Sides sides, OpenBoth(*server, options.server, *client, options.client));
  SimulatedRun run;
  ASSIGN_OR_RETURN(run.transfer, loop.Run(RunTransfer(sides)));
  run.simulated = world.Now() - sim::Timeline::kStart;
  return run;
}

SimulatedRunOptions Options(std::uint64_t seed, CompletionMode mode) {
  SimulatedRunOptions options;
  options.seed = seed;
  options.profile = *sim::FindProfile("small");
  options.client.completion = mode;
  return options;
}

// Smaller pages, many more of them: the same protocol in a fraction of the time.
SimulatedRunOptions SmallOptions(std::uint64_t seed, CompletionMode mode) {
  SimulatedRunOptions options = Options(seed, mode);
  options.client.region_bytes = options.server.region_bytes = 1 << 20;
  options.client.page_bytes = 16 << 10;
  options.client.page_count = 32;
  return options;
}

TEST(SimulatedRunTest, DefaultsOfTheSeedProgramTransferAndVerify) {
  ASSERT_OK_AND_ASSIGN(const SimulatedRun run, RunSimulated(Options(1, CompletionMode::kCount)));
  EXPECT_TRUE(run.transfer.verification.correct());
  EXPECT_EQ(run.transfer.verification.pages, 16u);
  EXPECT_EQ(run.transfer.bytes, 16u << 20);
  EXPECT_GT(run.simulated, coro::Duration::zero());
}

TEST(SimulatedRunTest, TwoHundredSeedsVerifyWhenWritesAreCounted) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                         RunSimulated(SmallOptions(seed, CompletionMode::kCount)));
    EXPECT_TRUE(run.transfer.verification.correct()) << "--seed=" << seed;
  }
}

// The seed's protocol trusts that the last write is the last to land. On EFA it is not.
TEST(SimulatedRunTest, SomeSeedShowsUnwrittenPagesWhenTheLastWriteIsTrusted) {
  std::optional<std::uint64_t> failing;
  Verification first;
  for (std::uint64_t seed = 1; seed <= 100 && !failing.has_value(); ++seed) {
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                         RunSimulated(Options(seed, CompletionMode::kLast)));
    if (run.transfer.verification.correct()) continue;
    failing = seed;
    first = run.transfer.verification;
  }
  ASSERT_TRUE(failing.has_value());
  for (int again = 0; again < 2; ++again) {
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                         RunSimulated(Options(*failing, CompletionMode::kLast)));
    EXPECT_EQ(run.transfer.verification, first) << "--seed=" << *failing;
  }
}

// The README shows this run.
TEST(SimulatedRunTest, SeedOfTheReadmeFails) {
  ASSERT_OK_AND_ASSIGN(const SimulatedRun run, RunSimulated(Options(1, CompletionMode::kLast)));
  EXPECT_FALSE(run.transfer.verification.correct());
}

TEST(SimulatedRunTest, OneSeedIsOneRunAndSeedsDiffer) {
  const auto times_of = [](std::uint64_t seed) {
    std::vector<coro::Duration> times;
    const absl::StatusOr<SimulatedRun> run =
        RunSimulated(SmallOptions(seed, CompletionMode::kCount));
    EXPECT_THAT(run, IsOk());
    times.push_back(run->simulated);
    times.push_back(run->transfer.elapsed);
    return times;
  };
  EXPECT_EQ(times_of(5), times_of(5));
  EXPECT_NE(times_of(5), times_of(6));
}

// On both fabrics: `efa` writes in software where the NIC cannot, and `efa-direct` then says so.
TEST(SimulatedRunTest, EveryProfileAndNicWorks) {
  for (const SimulatedFabric fabric : SimulatedFabrics()) {
    for (const sim::Profile& profile : sim::Profiles()) {
      SimulatedRunOptions options = SmallOptions(1, CompletionMode::kCount);
      options.profile = &profile;
      options.simulated_fabric = fabric;
      options.nic = profile.nics.back().name;
      const absl::StatusOr<SimulatedRun> run = RunSimulated(options);
      if (fabric == SimulatedFabric::kEfaDirect && profile.limits.max_rma_bytes == 0) {
        EXPECT_THAT(run.status(), StatusIs(absl::StatusCode::kUnimplemented,
                                           AllOf(HasSubstr(options.nic), HasSubstr("remote_write"),
                                                 HasSubstr("--provider=efa has it"))));
        continue;
      }
      ASSERT_THAT(run, IsOk()) << profile.name;
      EXPECT_TRUE(run->transfer.verification.correct()) << profile.name;
    }
  }
}

// Writes in software are counted and checked like the device's, whatever the seed.
TEST(SimulatedRunTest, WritesInSoftwareVerify) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulatedRunOptions options = SmallOptions(seed, CompletionMode::kCount);
    options.profile = *sim::FindProfile("p4d");
    options.simulated_fabric = SimulatedFabric::kEfa;
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run, RunSimulated(options));
    EXPECT_TRUE(run.transfer.verification.correct()) << "--seed=" << seed;
  }
}

// Of clients that come at once or never: the server that waits for them ends, and says how many
// there were.
TEST(SimulatedRunTest, AServerWithPatienceWaitsForNobodyForEver) {
  sim::World world(1, **sim::FindProfile("small"));
  coro::EventLoop loop(world);
  auto fabric = OpenSimulatedFabric(SimulatedFabric::kEfaDirect, world, world.AddNode("server"));
  ASSERT_OK_AND_ASSIGN(const auto node, fabric::async::Node::Open(loop, std::move(fabric)));
  ServerOptions options;
  options.clients = 2;
  options.patience = std::chrono::seconds(5);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Server> server, Server::Open(*node, options));
  EXPECT_THAT(loop.Run(server->Run()), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                                HasSubstr("0 of 2 clients were served")));
  EXPECT_GE(world.Now() - sim::Timeline::kStart, std::chrono::seconds(5));
}

// The same after it has served one.
TEST(SimulatedRunTest, PatienceBeginsAgainWithEachClient) {
  sim::World world(1, **sim::FindProfile("small"));
  coro::EventLoop loop(world);
  const auto open = [&](const char* name) {
    auto fabric = OpenSimulatedFabric(SimulatedFabric::kEfaDirect, world, world.AddNode(name));
    return fabric::async::Node::Open(loop, std::move(fabric)).value();
  };
  const auto server_node = open("server"), client_node = open("client");
  SimulatedRunOptions options = SmallOptions(1, CompletionMode::kCount);
  options.server.clients = 2;
  options.server.patience = std::chrono::milliseconds(500);
  ASSERT_OK_AND_ASSIGN(const auto server, Server::Open(*server_node, options.server));
  ASSERT_OK_AND_ASSIGN(const auto client,
                       Client::Open(*client_node, options.client, server_node->address()));
  const auto play = [&]() -> coro::Task<absl::Status> {
    coro::Scope serving;
    serving.Spawn(server->Run());
    co_await coro::Sleep(std::chrono::milliseconds(400));  // of its patience
    const absl::StatusOr<TransferReport> report = co_await client->Run();
    EXPECT_THAT(report, IsOk());
    co_return co_await serving.Join();
  };
  EXPECT_THAT(loop.Run(play()), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                         HasSubstr("1 of 2 clients were served")));
  EXPECT_GE(world.Now() - sim::Timeline::kStart, std::chrono::milliseconds(900));
}

TEST(SimulatedRunTest, BadOptionsAreRefused) {
  SimulatedRunOptions options = Options(1, CompletionMode::kCount);
  options.client.page_bytes = 3;
  EXPECT_THAT(RunSimulated(options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page size 3")));
  options = Options(1, CompletionMode::kCount);
  options.nic = "eth0";
  EXPECT_THAT(RunSimulated(options).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("eth0")));
}

}  // namespace
}  // namespace drydock::apps::write
