#include "drydock/sim/cluster/cluster.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using testing_matchers::IsOk;

constexpr std::uint32_t kImmediate = 1;
constexpr std::size_t kPage = 4096;  // bytes

coro::Task<absl::Status> WriteTo(fabric::async::Node& from, fabric::Peer peer, BufferSlice page,
                                 fabric::RemoteBuffer target) {
  const auto done = co_await from.endpoint().Write(page, target, peer, {.immediate = kImmediate});
  co_return from.endpoint().ToStatus(done, "write");
}

// Every machine writes its page to every other one, to the place of its number.
coro::Task<absl::Status> AllToAll(Cluster& cluster, const std::vector<BufferRef>& out,
                                  const std::vector<BufferRef>& in) {
  coro::Scope writes;
  for (std::size_t from = 0; from < cluster.size(); ++from) {
    for (std::size_t to = 0; to < cluster.size(); ++to) {
      if (from == to) continue;
      fabric::RemoteBuffer target = in[to]->region().remote();
      target.address += from * kPage;
      writes.Spawn(WriteTo(cluster.node(from), cluster.node(from).peer(to), out[from], target));
    }
  }
  co_return co_await writes.Join();
}

TEST(ClusterTest, EveryMachineReachesEveryOther) {
  constexpr std::size_t kMachines = 5;
  Cluster cluster(kMachines, {.seed = 3});
  std::vector<BufferRef> out, in;
  for (std::size_t i = 0; i < kMachines; ++i) {
    out.push_back(cluster.node(i).Allocate(kPage).value());
    in.push_back(cluster.node(i).Allocate(kMachines * kPage).value());
    std::fill(out[i]->bytes().begin(), out[i]->bytes().end(), static_cast<std::byte>(i + 1));
  }
  ASSERT_THAT(cluster.loop().Run(AllToAll(cluster, out, in)), IsOk());
  for (std::size_t to = 0; to < kMachines; ++to) {
    for (std::size_t from = 0; from < kMachines; ++from) {
      if (from == to) continue;
      EXPECT_TRUE(
          std::ranges::equal(in[to]->bytes().subspan(from * kPage, kPage), out[from]->bytes()))
          << from << " to " << to;
    }
  }
}

TEST(ClusterTest, MachinesAreOfTheProfile) {
  Cluster cluster(1, {.profile = "p5"});
  EXPECT_EQ(cluster.world().profile().name, "p5");
  EXPECT_EQ(cluster.machine(0).nic_count(), cluster.world().profile().nics.size());
}

// How long a write takes in virtual time, which depends on all that is drawn.
coro::Duration TimeOfAWrite(std::uint64_t seed) {
  TwoNodes nodes(seed);
  const BufferRef from = nodes.a.Allocate(1 << 20).value(), to = nodes.b.Allocate(1 << 20).value();
  const coro::Time start = nodes.loop.Now();
  EXPECT_THAT(nodes.loop.Run(WriteTo(nodes.a, nodes.a.peer(1), from, to->region().remote())),
              IsOk());
  return nodes.loop.Now() - start;
}

TEST(ClusterTest, SeedDecidesEverything) {
  EXPECT_EQ(TimeOfAWrite(1), TimeOfAWrite(1));
  EXPECT_NE(TimeOfAWrite(1), TimeOfAWrite(2));
}

TEST(ClusterTest, WritesToADeadMachineFail) {
  TwoNodes nodes;
  const BufferRef from = nodes.a.Allocate(8).value(), to = nodes.b.Allocate(8).value();
  nodes.cluster.machine(1).Kill();
  EXPECT_FALSE(nodes.loop.Run(WriteTo(nodes.a, nodes.a.peer(1), from, to->region().remote())).ok());
}

TEST(ClusterTest, DiesOnAnUnknownProfile) {
  EXPECT_DEATH(Cluster(1, {.profile = "nonesuch"}), "no such profile");
}

}  // namespace
}  // namespace drydock::sim
