#include "drydock/fabric/async/immediate_counter.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/harness/under_faults.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using harness::GiveUpTime;
using harness::OpenNodes;

constexpr std::uint32_t kImmediate = 0x123;

class ImmediateCounterTest : public ::testing::Test {
 protected:
  coro::Task<absl::Status> Announce(std::uint32_t immediate) {
    OperationOptions options;
    options.immediate = immediate;
    const Completion done = co_await nodes_.a.endpoint().Write(local_, remote_->region().remote(),
                                                               nodes_.a.peer(1), options);
    co_return nodes_.a.endpoint().ToStatus(done, "write");
  }

  sim::TwoNodes nodes_;
  const BufferRef local_ = nodes_.a.Allocate(8).value(), remote_ = nodes_.b.Allocate(8).value();
};

TEST_F(ImmediateCounterTest, EachWaiterGoesOnAtItsOwnCount) {
  auto main = [&]() -> coro::Task<absl::Status> {
    ImmediateCounter first(nodes_.b.dispatcher(), 1), second(nodes_.b.dispatcher(), 2);
    std::vector<std::uint64_t> order;
    auto wait = [&](std::uint64_t count) -> coro::Task<absl::Status> {
      EXPECT_TRUE(co_await first.Reached(count));
      EXPECT_GE(first.count(), count);
      order.push_back(count);
      co_return absl::OkStatus();
    };
    coro::Scope waiting;
    for (const std::uint64_t count : {3, 0, 1, 2}) waiting.Spawn(wait(count));
    for (const std::uint32_t immediate : {1, 2, 1, 2, 1}) {
      CO_RETURN_IF_ERROR(co_await Announce(immediate));
    }
    CO_RETURN_IF_ERROR(co_await waiting.Join());
    EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(first.count(), 3u);
    EXPECT_TRUE(co_await second.Reached(2));
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(ImmediateCounterTest, DeadlineAndDestroyedWaitersLoseNoCount) {
  auto main = [&]() -> coro::Task<absl::Status> {
    ImmediateCounter counter(nodes_.b.dispatcher(), 1);
    EXPECT_FALSE(co_await counter.Reached(1, nodes_.loop.Now() + 1us));
    auto wait = [&]() -> coro::Task<absl::Status> {
      co_await counter.Reached(1);
      co_return absl::OkStatus();
    };
    std::optional<coro::Scope> dropped;
    dropped.emplace();
    dropped->Spawn(wait());
    CO_RETURN_IF_ERROR(co_await Announce(1));
    dropped.reset();
    EXPECT_TRUE(co_await counter.Reached(1, nodes_.loop.Now() + 1ms));
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// ---- Under faults ----

constexpr std::size_t kWrites = 40;
constexpr std::size_t kBytes = 300;

coro::Task<absl::Status> WriteOne(Node& from, BufferSlice source, RemoteBuffer target) {
  OperationOptions options;
  options.immediate = kImmediate;
  options.deadline = GiveUpTime();
  const Completion done = co_await from.endpoint().Write(source, target, from.peer(1), options);
  co_return from.endpoint().ToStatus(done, "write");
}

coro::Task<absl::Status> CountUnderFaults(sim::explore::Trial& trial) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 2));
  CO_ASSIGN_OR_RETURN(const BufferRef source, machines[0]->Allocate(kWrites * kBytes));
  CO_ASSIGN_OR_RETURN(const BufferRef landed, machines[1]->Allocate(kWrites * kBytes));
  std::fill(source->bytes().begin(), source->bytes().end(), std::byte{7});
  ImmediateCounter arrived(machines[1]->dispatcher(), kImmediate);
  coro::Scope writes;
  for (std::size_t i = 0; i < kWrites; ++i) {
    co_await coro::Sleep(1us);
    RemoteBuffer target = landed->region().remote();
    target.address += i * kBytes;
    writes.Spawn(WriteOne(*machines[0], BufferSlice(source, i * kBytes, kBytes), target));
  }
  const bool all = co_await arrived.Reached(kWrites, GiveUpTime());
  if (all && !std::ranges::equal(source->bytes(), landed->bytes())) {
    co_return harness::WrongData("counted, and not there");
  }
  CO_RETURN_IF_ERROR(co_await writes.Join());
  co_return all ? absl::OkStatus() : absl::DeadlineExceededError("some did not come");
}

DD_TEST_UNDER_FAULTS(ImmediateCounterUnderFaults, CountUnderFaults);

}  // namespace
}  // namespace drydock::fabric::async
