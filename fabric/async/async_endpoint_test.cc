// Awaits on the simulator, where completions, order and time are under the test's control.

#include "drydock/fabric/async/async_endpoint.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/timeout.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

class AsyncEndpointTest : public ::testing::Test {
 protected:
  sim::TwoNodes nodes_;
  AsyncEndpoint& a_ = nodes_.a.endpoint();
  AsyncEndpoint& b_ = nodes_.b.endpoint();
};

TEST_F(AsyncEndpointTest, SendReachesAReceive) {
  const BufferRef source = nodes_.a.Allocate(100).value(), room = nodes_.b.Allocate(200).value();
  source->bytes()[99] = std::byte{7};
  auto receive = [&]() -> coro::Task<Completion> { co_return co_await b_.Recv(room); };
  auto send = [&]() -> coro::Task<Completion> {
    co_return co_await a_.Send(source, nodes_.a.peer(1), {.immediate = 5});
  };
  auto main = [&]() -> coro::Task<void> {
    auto [received, sent] = co_await coro::WhenAll(receive(), send());
    EXPECT_TRUE(sent.ok());
    EXPECT_TRUE(received.ok());
    EXPECT_EQ(received.length_bytes, 100u);
    EXPECT_EQ(received.immediate, 5u);
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  EXPECT_EQ(room->bytes()[99], std::byte{7});
}

TEST_F(AsyncEndpointTest, WriteAndReadMoveBytesBothWays) {
  const BufferRef local = nodes_.a.Allocate(1 << 16).value(),
                  remote = nodes_.b.Allocate(1 << 16).value();
  auto main = [&]() -> coro::Task<void> {
    std::fill(local->bytes().begin(), local->bytes().end(), std::byte{3});
    ImmediateCounter arrived(nodes_.b.dispatcher(), 9);
    const Completion written =
        co_await a_.Write(local, remote->region().remote(), nodes_.a.peer(1), {.immediate = 9});
    EXPECT_TRUE(written.ok());
    EXPECT_TRUE(co_await arrived.Reached(1));
    EXPECT_EQ(remote->bytes()[65535], std::byte{3});
    remote->bytes()[0] = std::byte{4};
    const Completion read =
        co_await a_.Read(BufferSlice(local, 0, 10), remote->region().remote(), nodes_.a.peer(1));
    EXPECT_TRUE(read.ok());
    EXPECT_EQ(local->bytes()[0], std::byte{4});
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// A failure belongs to the operation that failed, with the NIC's number, and to no other.
TEST_F(AsyncEndpointTest, EveryStatusReachesItsOwnAwaiter) {
  const BufferRef local = nodes_.a.Allocate(64).value(), remote = nodes_.b.Allocate(64).value();
  auto write = [&](RemoteBuffer target) -> coro::Task<Completion> {
    co_return co_await a_.Write(local, target, nodes_.a.peer(1));
  };
  auto main = [&]() -> coro::Task<void> {
    const RemoteBuffer good = remote->region().remote();
    RemoteBuffer bad_key = good, past_end = good;
    bad_key.key += 1;
    past_end.address += 1;
    std::vector<coro::Task<Completion>> writes;
    for (const RemoteBuffer& target : {good, bad_key, good, past_end, good}) {
      writes.push_back(write(target));
    }
    const std::vector<Completion> done = co_await coro::WhenAll(std::move(writes));
    for (const std::size_t i : {0u, 2u, 4u}) EXPECT_TRUE(done[i].ok()) << i;
    for (const std::size_t i : {1u, 3u}) {
      EXPECT_EQ(done[i].error, ErrorCode::kRemoteAccess) << i;
      EXPECT_EQ(done[i].provider_error, 7) << i;
      EXPECT_THAT(a_.ToStatus(done[i], "write page 3"),
                  StatusIs(absl::StatusCode::kPermissionDenied,
                           AllOf(HasSubstr("write page 3"), HasSubstr("EFA status 7"))));
    }
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// More operations than the send queue has slots: those that are refused wait their turn and are
// posted as slots come back, and every one completes.
TEST_F(AsyncEndpointTest, OperationsBeyondTheQueueDepthWaitTheirTurn) {
  constexpr int kWrites = 1000;  // the queue has 64
  const BufferRef local = nodes_.a.Allocate(kWrites).value(),
                  remote = nodes_.b.Allocate(kWrites).value();
  auto main = [&]() -> coro::Task<void> {
    ImmediateCounter arrived(nodes_.b.dispatcher(), 1);
    std::vector<coro::Task<Completion>> writes;
    auto write = [&](std::size_t i) -> coro::Task<Completion> {
      local->bytes()[i] = static_cast<std::byte>(i % 251 + 1);
      RemoteBuffer target = remote->region().remote();
      target.address += i;
      co_return co_await a_.Write(BufferSlice(local, i, 1), target, nodes_.a.peer(1),
                                  {.immediate = 1});
    };
    for (std::size_t i = 0; i < kWrites; ++i) writes.push_back(write(i));
    for (const Completion& done : co_await coro::WhenAll(std::move(writes))) EXPECT_TRUE(done.ok());
    EXPECT_TRUE(co_await arrived.Reached(kWrites));
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  for (std::size_t i = 0; i < kWrites; ++i) {
    ASSERT_EQ(remote->bytes()[i], static_cast<std::byte>(i % 251 + 1)) << i;
  }
  EXPECT_EQ(nodes_.a.dispatcher().slots().in_flight(), 0u);
}

TEST_F(AsyncEndpointTest, RefusedPostsFailAtOnceAsValues) {
  const BufferRef local = nodes_.a.Allocate(8).value();
  auto main = [&]() -> coro::Task<void> {
    const Completion unknown = co_await a_.Send(local, Peer{12345});
    EXPECT_EQ(unknown.error, ErrorCode::kUnknownPeer);
    EXPECT_THAT(a_.Close(), IsOk());
    const Completion closed = co_await a_.Send(local, nodes_.a.peer(1));
    EXPECT_EQ(closed.error, ErrorCode::kClosed);
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  EXPECT_EQ(local.use_count(), 1u);
}

// The buffer of a dropped operation is the NIC's until the completion was read, and is freed
// exactly then.
TEST_F(AsyncEndpointTest, DroppedAwaiterLeavesItsBufferToTheNic) {
  BufferRef local = nodes_.a.Allocate(1 << 20).value();
  const BufferRef remote = nodes_.b.Allocate(1 << 20).value();
  const BufferRef observed = local;
  std::fill(local->bytes().begin(), local->bytes().end(), std::byte{9});
  auto main = [&]() -> coro::Task<void> {
    auto write = [&]() -> coro::Task<void> {
      co_await a_.Write(local, remote->region().remote(), nodes_.a.peer(1));
      ADD_FAILURE() << "resumed after it was destroyed";
    };
    const std::string line = std::to_string(__LINE__ - 3);  // of the await
    {
      coro::Task<void> task = write();
      auto running = std::move(task).operator co_await();
      EXPECT_FALSE(running.await_ready());
    }
    local.reset();
    EXPECT_EQ(observed.use_count(), 2u);  // the slot has one
    EXPECT_EQ(nodes_.a.dispatcher().slots().abandoned(), 1u);
    const std::string described = nodes_.loop.Describe();
    EXPECT_THAT(described, HasSubstr("that nobody waits for:\n1 write of 1048576 B, awaited in "
                                     "operator() (async_endpoint_test.cc:"));
    EXPECT_THAT(described, HasSubstr(") at line " + line + ", given up 0 ns ago\n"));
    co_await coro::Sleep(1ms);
    EXPECT_THAT(nodes_.loop.Describe(), Not(HasSubstr("nobody waits for")));
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  EXPECT_EQ(observed.use_count(), 1u);
  EXPECT_EQ(remote->bytes()[(1 << 20) - 1], std::byte{9});
  EXPECT_EQ(nodes_.a.dispatcher().slots().in_flight(), 0u);
}

TEST_F(AsyncEndpointTest, DeadlineLeavesTheReceivePostedAndItsBufferAlive) {
  BufferRef room = nodes_.b.Allocate(64).value();
  const BufferRef observed = room;
  const BufferRef source = nodes_.a.Allocate(64).value();
  auto main = [&]() -> coro::Task<void> {
    const coro::Time start = nodes_.loop.Now();
    const Completion expired = co_await b_.Recv(room, {.deadline = start + 5ms});
    EXPECT_EQ(expired.error, ErrorCode::kDeadlineExceeded);
    EXPECT_GE(nodes_.loop.Now(), start + 5ms);
    room.reset();
    EXPECT_EQ(observed.use_count(), 2u);  // the slot has one
    const Completion sent =
        co_await a_.Send(source, nodes_.a.peer(1));  // lands in the receive left behind
    EXPECT_TRUE(sent.ok());
    co_await coro::Sleep(1ms);
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  EXPECT_EQ(observed.use_count(), 1u);
}

TEST_F(AsyncEndpointTest, ClosingResolvesWhatIsAwaited) {
  const BufferRef room = nodes_.b.Allocate(64).value();
  auto main = [&]() -> coro::Task<void> {
    auto receive = [&]() -> coro::Task<Completion> { co_return co_await b_.Recv(room); };
    auto close = [&]() -> coro::Task<absl::Status> {
      co_await coro::Sleep(1ms);
      co_return b_.Close();
    };
    auto [received, closed] = co_await coro::WhenAll(receive(), close());
    EXPECT_EQ(received.error, ErrorCode::kCanceled);
    EXPECT_EQ(received.kind, OperationKind::kReceive);
    EXPECT_THAT(closed, IsOk());
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  EXPECT_EQ(room.use_count(), 1);
}

// A write that a cancelled join had asked to end has ended with it: a second join neither waits for
// it nor asks it again.
TEST_F(AsyncEndpointTest, WritesOfACancelledJoinAreOver) {
  const BufferRef local = nodes_.a.Allocate(1 << 20).value(),
                  remote = nodes_.b.Allocate(1 << 20).value();
  auto write = [&]() -> coro::Task<absl::Status> {
    const Completion done = co_await a_.Write(local, remote->region().remote(), nodes_.a.peer(1));
    ADD_FAILURE() << "goes on after it was cancelled";
    co_return a_.ToStatus(done, "write");
  };
  for (const bool cancel : {false, true}) {
    SCOPED_TRACE(cancel);
    auto main = [&]() -> coro::Task<void> {
      coro::Scope writes;
      writes.Spawn(write());
      const absl::Status expired =
          co_await coro::WithDeadline(nodes_.loop.Now() + 1us, writes.Join());
      EXPECT_THAT(expired, StatusIs(absl::StatusCode::kDeadlineExceeded));
      EXPECT_EQ(writes.running(), 0u);
      EXPECT_EQ(nodes_.a.dispatcher().slots().in_flight(), 0u);
      if (cancel) writes.Cancel();
      const absl::Status joined = co_await writes.Join();
      EXPECT_THAT(joined, IsOk());
    };
    EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
    EXPECT_EQ(local.use_count(), 1u);
  }
}

// Every point at which a task may be destroyed, with operations in every state: nothing is touched
// afterwards.
TEST_F(AsyncEndpointTest, TaskMayBeDestroyedAtAnyPoint) {
  const BufferRef local = nodes_.a.Allocate(4096).value(), remote = nodes_.b.Allocate(4096).value();
  for (int turns = 0; turns < 60; ++turns) {
    auto exchange = [&]() -> coro::Task<absl::Status> {
      for (int i = 0; i < 100; ++i) {
        const Completion done =
            co_await a_.Write(local, remote->region().remote(), nodes_.a.peer(1));
        if (!done.ok()) co_return a_.ToStatus(done, "write");
      }
      co_return absl::OkStatus();
    };
    auto main = [&]() -> coro::Task<void> {
      coro::Scope scope;
      for (int i = 0; i < 100; ++i)
        scope.Spawn(exchange());  // more than the queue takes: some wait to be posted
      for (int turn = 0; turn < turns; ++turn) co_await coro::Sleep(1us);
    };
    ASSERT_THAT(nodes_.loop.Run(main()), IsOk());
  }
  auto settle = []() -> coro::Task<void> { co_await coro::Sleep(10ms); };
  ASSERT_THAT(nodes_.loop.Run(settle()), IsOk());
  EXPECT_EQ(nodes_.a.dispatcher().slots().in_flight(), 0u);
  EXPECT_EQ(local.use_count(), 1u);
}

TEST_F(AsyncEndpointTest, ImmediatesThatNobodyCountsAreDropped) {
  const BufferRef local = nodes_.a.Allocate(8).value(), remote = nodes_.b.Allocate(8).value();
  auto main = [&]() -> coro::Task<void> {
    for (std::uint32_t i = 0; i < 10; ++i) {
      const Completion done =
          co_await a_.Write(local, remote->region().remote(), nodes_.a.peer(1), {.immediate = i});
      EXPECT_TRUE(done.ok());
    }
    ImmediateCounter third(nodes_.b.dispatcher(), 3);
    EXPECT_FALSE(co_await third.Reached(1, nodes_.loop.Now() + 1ms));
    EXPECT_EQ(third.count(), 0u);
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  EXPECT_EQ(nodes_.b.dispatcher().counters().unexpected_immediates, 10u);
}

}  // namespace
}  // namespace drydock::fabric::async
