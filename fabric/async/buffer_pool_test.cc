#include "drydock/fabric/async/buffer_pool.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/message_receiver.h"
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
using ::drydock::testing_matchers::StatusIs;
using harness::GiveUpTime;
using harness::OpenNodes;

void Fill(const BufferRef& buffer, std::size_t value) {
  std::fill(buffer->bytes().begin(), buffer->bytes().end(), static_cast<std::byte>(value));
}

class BufferPoolTest : public ::testing::Test {
 protected:
  coro::Task<absl::Status> Write(BufferRef source, RemoteBuffer target) {
    const Completion done = co_await nodes_.a.endpoint().Write(source, target, nodes_.a.peer(1));
    co_return nodes_.a.endpoint().ToStatus(done, "write");
  }

  sim::TwoNodes nodes_;
  CompletionDispatcher& dispatcher_ = nodes_.a.dispatcher();
};

TEST_F(BufferPoolTest, LendsEachPieceOnceAndThenLetsWait) {
  auto main = [&]() -> coro::Task<absl::Status> {
    BufferPool pool(nodes_.a.Allocate(200).value(), 64);
    EXPECT_EQ(pool.count(), 3u);
    std::vector<BufferRef> lent;
    for (std::size_t i = 0; i < pool.count(); ++i) {
      CO_ASSIGN_OR_RETURN(BufferRef buffer, co_await pool.Take());
      EXPECT_EQ(buffer->bytes().size(), 64u);
      Fill(buffer, i + 1);
      lent.push_back(std::move(buffer));
    }
    for (std::size_t i = 0; i < lent.size(); ++i) {
      EXPECT_EQ(lent[i]->bytes()[0], static_cast<std::byte>(i + 1));
      EXPECT_EQ(lent[i]->bytes()[63], static_cast<std::byte>(i + 1));
    }
    EXPECT_FALSE(pool.TryTake());
    const absl::StatusOr<BufferRef> late = co_await pool.Take(nodes_.loop.Now() + 1ms);
    EXPECT_THAT(late, StatusIs(absl::StatusCode::kDeadlineExceeded));
    lent[1].reset();
    EXPECT_EQ(pool.free(), 1u);
    const BufferRef again = pool.TryTake();
    co_return again ? absl::OkStatus() : absl::InternalError("the buffer did not come back");
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// The coroutine is gone and the program has no reference: the NIC has one.
TEST_F(BufferPoolTest, BufferOfADestroyedOperationComesBackWithItsCompletion) {
  const BufferRef remote = nodes_.b.Allocate(1 << 20).value();
  auto main = [&]() -> coro::Task<absl::Status> {
    BufferPool pool(nodes_.a.Allocate(1 << 20).value(), 1 << 20);
    {
      coro::Scope dropped;
      BufferRef buffer = pool.TryTake();
      Fill(buffer, 9);
      dropped.Spawn(Write(std::move(buffer), remote->region().remote()));
    }
    EXPECT_EQ(dispatcher_.slots().abandoned(), 1u);
    EXPECT_EQ(pool.free(), 0u);
    CO_ASSIGN_OR_RETURN(const BufferRef next, co_await pool.Take());
    EXPECT_EQ(dispatcher_.slots().in_flight(), 0u);
    Fill(next, 1);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  EXPECT_EQ(remote->bytes()[(1 << 20) - 1], std::byte{9});
}

TEST_F(BufferPoolTest, WaitersAreServedInOrderAlsoWhenTheFirstIsDestroyed) {
  auto main = [&]() -> coro::Task<absl::Status> {
    BufferPool pool(nodes_.a.Allocate(8).value(), 8);
    BufferRef only = pool.TryTake();
    std::vector<int> served;
    auto wait = [&](int number) -> coro::Task<absl::Status> {
      CO_ASSIGN_OR_RETURN(const BufferRef buffer, co_await pool.Take());
      served.push_back(number);
      co_return absl::OkStatus();
    };
    std::optional<coro::Scope> first;
    first.emplace();
    first->Spawn(wait(1));
    coro::Scope others;
    for (const int number : {2, 3}) others.Spawn(wait(number));
    only.reset();   // wakes the first one,
    first.reset();  // which does not live to see it
    EXPECT_FALSE(pool.TryTake()) << "the others have waited longer";
    CO_RETURN_IF_ERROR(co_await others.Join());
    EXPECT_THAT(served, ::testing::ElementsAre(2, 3));
    EXPECT_EQ(pool.free(), 1u);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(BufferPoolTest, PeersReachTheVeryPiece) {
  const BufferRef source = nodes_.a.Allocate(16).value();
  const BufferRef memory = nodes_.b.Allocate(48).value();
  Fill(source, 5);
  auto main = [&]() -> coro::Task<absl::Status> {
    BufferPool pool(memory, 16);
    std::vector<BufferRef> lent;
    for (std::size_t i = 0; i < 3; ++i) lent.push_back(pool.TryTake());
    co_return co_await Write(source, lent[1]->region().remote());
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  for (std::size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(memory->bytes()[i], std::byte{static_cast<unsigned char>(i / 16 == 1 ? 5 : 0)}) << i;
  }
}

TEST_F(BufferPoolTest, PoolMayDieBeforeItsBuffers) {
  ASSERT_OK_AND_ASSIGN(BufferPool opened, BufferPool::Open(nodes_.a.domain(), 4, 32));
  std::optional<BufferPool> pool(std::move(opened));
  const BufferRef buffer = pool->TryTake();
  pool.reset();
  Fill(buffer, 3);
  EXPECT_EQ(buffer->bytes()[31], std::byte{3});
  EXPECT_THAT(BufferPool::Open(nodes_.a.domain(), SIZE_MAX / 2, 4),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// ---- Under faults ----

constexpr std::size_t kMessages = 60;

// Every third is given up at once: its buffer is the NIC's all the same.
coro::Task<absl::Status> SendOne(Node& from, BufferPool& pool, std::size_t number) {
  CO_ASSIGN_OR_RETURN(const BufferRef buffer, co_await pool.Take(GiveUpTime()));
  Fill(buffer, number);
  const bool in_a_hurry = number % 3 == 0;
  OperationOptions options;
  options.deadline = in_a_hurry ? coro::EventLoop::Current().Now() + 2us : GiveUpTime();
  const Completion sent = co_await from.endpoint().Send(buffer, from.peer(1), options);
  if (in_a_hurry && sent.error == ErrorCode::kDeadlineExceeded) co_return absl::OkStatus();
  co_return from.endpoint().ToStatus(sent, "send");
}

coro::Task<absl::Status> ReceiveAll(Node& at, const BufferRef& room) {
  MessageReceiver receiver(at.endpoint(), room, 4, 256, 4);
  for (std::size_t i = 0; i < kMessages; ++i) {
    CO_ASSIGN_OR_RETURN(const Message message, co_await receiver.Next(GiveUpTime()));
    const bool whole = std::all_of(message.bytes.begin(), message.bytes.end(),
                                   [&](std::byte b) { return b == message.bytes[0]; });
    if (!whole) co_return harness::WrongData("a message has bytes of another one");
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> LendUnderFaults(sim::explore::Trial& trial) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 2));
  CO_ASSIGN_OR_RETURN(const BufferRef memory, machines[0]->Allocate(5 * 256));
  CO_ASSIGN_OR_RETURN(const BufferRef room, machines[1]->Allocate(4 * 256));
  BufferPool pool(memory, 256);
  absl::Status received, sent;
  {
    coro::Scope sends, receives;
    receives.Spawn(ReceiveAll(*machines[1], room));
    for (std::size_t i = 1; i <= kMessages; ++i) sends.Spawn(SendOne(*machines[0], pool, i));
    received = co_await receives.Join();
    sent = co_await sends.Join();
  }
  // Whatever has happened: what is closed has no buffer any more.
  machines[0]->endpoint().Close().IgnoreError();
  EXPECT_EQ(pool.free(), pool.count());
  if (absl::IsDataLoss(received)) co_return received;
  co_return sent.ok() ? received : sent;
}

DD_TEST_UNDER_FAULTS(BufferPoolUnderFaults, LendUnderFaults);

}  // namespace
}  // namespace drydock::fabric::async
