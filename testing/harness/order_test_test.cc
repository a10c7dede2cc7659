// Order tests: what they accept, and what a failure says.

#include "drydock/testing/harness/order_test.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/explore/nodes.h"
#include "gmock/gmock.h"

namespace drydock::harness {
namespace {

using fabric::async::BufferRef;
using fabric::async::Node;
using sim::explore::OpenNodes;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kBytes = 20000;
constexpr std::uint32_t kWrites = 4;

coro::Task<absl::Status> WriteOne(Node& from, BufferRef source, fabric::RemoteBuffer target,
                                  std::vector<std::uint64_t>& ended) {
  const fabric::Completion written = co_await from.endpoint().Write(source, target, from.peer(1));
  ended.push_back(static_cast<std::uint64_t>(source->bytes()[0]));
  co_return from.endpoint().ToStatus(written, "write");
}

// kWrites writes at the same time; the state is what they have written, or the order in which they
// have ended.
coro::Task<absl::StatusOr<sim::Digest>> WriteAll(sim::explore::Trial& trial, bool tells_order) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 2));
  CO_ASSIGN_OR_RETURN(const BufferRef landed, machines[1]->Allocate(kWrites * kBytes));
  std::vector<std::uint64_t> ended;
  coro::Scope writes;
  for (std::uint32_t i = 0; i < kWrites; ++i) {
    CO_ASSIGN_OR_RETURN(const BufferRef source, machines[0]->Allocate(kBytes));
    for (std::byte& byte : source->bytes()) byte = static_cast<std::byte>(i + 1);
    fabric::RemoteBuffer target = landed->region().remote();
    target.address += i * kBytes;
    writes.Spawn(WriteOne(*machines[0], source, target, ended));
  }
  CO_RETURN_IF_ERROR(co_await writes.Join());
  sim::StateHash state;
  state.Add(landed->bytes());
  for (const std::uint64_t number : ended) state.Add(tells_order ? number : 0);
  co_return state.digest();
}

DD_ORDER_TEST(OrderTestTest, WhatWasWrittenIsOneResult, {.orders = 10}) {
  return WriteAll(trial, false);
}

TEST(OrderTestTest, OrderOfEndingIsSeveral) {
  const auto result = HasOneResult("Some.Test", {.orders = 20}, [](sim::explore::Trial& trial) {
    return WriteAll(trial, true);
  });
  EXPECT_FALSE(result);
  EXPECT_THAT(result.message(), AllOf(HasSubstr("Some.Test fails: order-independence: program: "
                                                "its state at the end is "),
                                      HasSubstr(" with seed 1 and ")));
}

coro::Task<absl::StatusOr<sim::Digest>> Fails(sim::explore::Trial& trial) {
  if (trial.seed() == 7) co_return absl::InternalError("no more");
  co_return sim::Digest();
}

TEST(OrderTestTest, ErrorIsAFailureWithItsSeed) {
  const auto result = HasOneResult("Some.Test", {.orders = 10}, &Fails);
  EXPECT_FALSE(result);
  EXPECT_THAT(result.message(),
              HasSubstr("Some.Test fails with seed 7: unexplained-error: no more"));
  EXPECT_TRUE(HasOneResult("Some.Test", {.orders = 6}, &Fails));
}

coro::Task<absl::StatusOr<sim::Digest>> Hangs(sim::explore::Trial&) {
  coro::WaitList nobody;
  co_await nobody.Wait();
  co_return sim::Digest();
}

TEST(OrderTestTest, HangIsAFailure) {
  EXPECT_THAT(HasOneResult("Some.Test", {}, &Hangs).message(),
              HasSubstr("fails with seed 1: hang: nothing is under way"));
}

TEST(StateHashTest, DependsOnEveryByteAndItsPlace) {
  const std::array<std::byte, 9> bytes{};
  std::vector<sim::Digest> digests;
  for (std::size_t i = 0; i <= bytes.size(); ++i) {
    std::array<std::byte, 9> changed = bytes;
    if (i < bytes.size()) changed[i] = std::byte{1};
    sim::StateHash state;
    state.Add(changed);
    for (const sim::Digest& other : digests) EXPECT_NE(state.digest().ToHex(), other.ToHex()) << i;
    digests.push_back(state.digest());
  }
  sim::StateHash one;
  one.Add(std::span(bytes));
  sim::StateHash two;
  two.Add(std::span(bytes).first(4));
  two.Add(std::span(bytes).subspan(4));
  EXPECT_NE(one.digest().ToHex(), two.digest().ToHex());
}

}  // namespace
}  // namespace drydock::harness
