#include "drydock/fabric/async/node.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/sim/cluster/cluster.h"
#include "drydock/testing/harness/sanitizer.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using ::testing::HasSubstr;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

class NodeTest : public ::testing::Test {
 protected:
  std::unique_ptr<Node> Open(const char* name) {
    auto node = Node::Open(loop_, network_.AddMachine(name));
    EXPECT_THAT(node, IsOk());
    return *std::move(node);
  }

  sim::Cluster network_{0};
  coro::EventLoop& loop_ = network_.loop();
};

coro::Task<absl::Status> Announce(AsyncEndpoint& endpoint, BufferRef from, RemoteBuffer to,
                                  Peer peer) {
  const Completion done = co_await endpoint.Write(from, to, peer, {.immediate = 1});
  co_return endpoint.ToStatus(done, "write");
}

TEST_F(NodeTest, NodesOfAGroupReachEachOther) {
  std::vector<std::unique_ptr<Node>> nodes;
  for (const char* name : {"a", "b", "c"}) nodes.push_back(Open(name));
  ASSERT_THAT(Introduce(nodes), IsOk());
  for (std::size_t from = 0; from < nodes.size(); ++from) {
    for (std::size_t to = 0; to < nodes.size(); ++to) {
      if (from == to) continue;
      const BufferRef source = nodes[from]->Allocate(100).value();
      const BufferRef target = nodes[to]->Allocate(100).value();
      std::fill(source->bytes().begin(), source->bytes().end(), std::byte{7});
      const auto exchange = [&]() -> coro::Task<absl::Status> {
        ImmediateCounter arrived(nodes[to]->dispatcher(), 1);
        CO_RETURN_IF_ERROR(co_await Announce(nodes[from]->endpoint(), source,
                                             target->region().remote(), nodes[from]->peer(to)));
        co_await arrived.Reached(1);
        co_return absl::OkStatus();
      };
      EXPECT_THAT(loop_.Run(exchange()), IsOk());
      EXPECT_TRUE(std::ranges::equal(source->bytes(), target->bytes())) << from << " to " << to;
    }
  }
}

TEST_F(NodeTest, HasNoPeerForItself) {
  const auto a = Open("a"), b = Open("b");
  const std::array group = {b->address(), a->address()};
  ASSERT_THAT(a->Join(group), IsOk());
  EXPECT_EQ(a->peer(1), kNoPeer);
  EXPECT_EQ(a->peers().Lookup(a->peer(0)).value(), b->address());
}

TEST_F(NodeTest, RefusesAGroupWithAnAddressOfAnotherFabric) {
  const auto a = Open("a");
  const std::array group = {a->address(), Address()};
  EXPECT_THAT(a->Join(group), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(a->Join({}), IsOk());  // it is in no group yet
}

TEST_F(NodeTest, PeerOfAGroupOutlivesItsConnections) {
  const auto a = Open("a");
  const auto b = Open("b");
  const std::array group = {b->address()};
  ASSERT_THAT(a->Join(group), IsOk());
  ASSERT_OK_AND_ASSIGN(const Peer peer, a->Connect(b->address()));
  EXPECT_EQ(peer, a->peer(0));
  a->Disconnect(peer);
  EXPECT_THAT(a->peers().Lookup(a->peer(0)), IsOk());
}

TEST_F(NodeTest, PeerGoesWithItsLastDisconnect) {
  const auto a = Open("a"), b = Open("b");
  std::vector<Peer> connected;
  for (int i = 0; i < 3; ++i) connected.push_back(a->Connect(b->address()).value());
  for (const Peer peer : connected) {
    EXPECT_EQ(a->peers().Lookup(peer).value(), b->address());
    a->Disconnect(peer);
  }
  for (const Peer peer : connected) EXPECT_FALSE(a->peers().Lookup(peer).ok());
  EXPECT_DEATH(a->Disconnect(connected[0]), "as often as it was connected");
}

TEST_F(NodeTest, AnotherEndpointSharesQueueAndPeers) {
  const auto a = Open("a"), b = Open("b");
  const auto own = a->OpenEndpoint();
  ASSERT_THAT(own, IsOk());
  const Peer to_b = a->peers().Insert(b->address()).value();
  ASSERT_THAT(b->peers().Insert((*own)->address()), IsOk());
  const BufferRef source = a->Allocate(8).value(), target = b->Allocate(8).value();
  EXPECT_THAT(loop_.Run(Announce(**own, source, target->region().remote(), to_b)), IsOk());
  EXPECT_EQ(a->dispatcher().counters().completions, 1u);
}

TEST_F(NodeTest, RegistersMemoryOfTheCallers) {
  const auto a = Open("a");
  std::array<std::byte, 16> memory{};
  const BufferRef buffer = a->Register(memory).value();
  EXPECT_EQ(buffer->bytes().data(), memory.data());
  EXPECT_EQ(buffer->bytes().size(), memory.size());
}

// efa-direct on p4d has messages only, and refuses memory for anything else.
TEST_F(NodeTest, MemoryThatIsNotThereIsAnError) {
  if (harness::kSanitized) GTEST_SKIP() << "a sanitizer ends the program";
  constexpr std::size_t kFarTooMuch = std::size_t{1} << 60;
  EXPECT_THAT(Open("a")->Allocate(kFarTooMuch),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1152921504606846976 B")));
}

TEST_F(NodeTest, RegistersMemoryForTheUsesThatTheNicHas) {
  sim::Cluster network(2, {.seed = 1, .profile = "p4d"});
  Node &a = network.node(0), &b = network.node(1);
  ASSERT_FALSE(a.nic().capabilities.Has(Capability::kRemoteWrite));
  std::array<std::byte, 8> bytes{std::byte{5}};
  ASSERT_OK_AND_ASSIGN(const BufferRef source, a.Register(bytes));
  ASSERT_OK_AND_ASSIGN(const BufferRef target, b.Allocate(8));
  EXPECT_EQ(target->region().access(), Access::kSend | Access::kReceive);
  const auto receive = [&]() -> coro::Task<absl::Status> {
    const Completion done = co_await b.endpoint().Recv(target);
    co_return b.endpoint().ToStatus(done, "receive");
  };
  const auto exchange = [&]() -> coro::Task<absl::Status> {
    coro::Scope receiving;
    receiving.Spawn(receive());
    const Completion sent = co_await a.endpoint().Send(source, a.peer(1));
    CO_RETURN_IF_ERROR(a.endpoint().ToStatus(sent, "send"));
    co_return co_await receiving.Join();
  };
  EXPECT_THAT(network.loop().Run(exchange()), IsOk());
  EXPECT_TRUE(std::ranges::equal(bytes, target->bytes()));
  EXPECT_EQ(Open("a")->Allocate(8).value()->region().access(), Access::kAll);
}

TEST_F(NodeTest, OpensAnyNicOfAFabricThatItDoesNotOwn) {
  const auto fabric = network_.AddMachine("a");
  ASSERT_GE(fabric->nics().size(), 2u);
  const auto node = Node::Open(loop_, *fabric, 1);
  ASSERT_THAT(node, IsOk());
  EXPECT_EQ((*node)->nic().name, fabric->nics()[1].name);
  EXPECT_THAT(Node::Open(loop_, *fabric, 99), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(NodeTest, DiesOnAPeerOutsideItsGroup) {
  const auto a = Open("a");
  EXPECT_DEATH(a->peer(0), "no such node");
}

}  // namespace
}  // namespace drydock::fabric::async
