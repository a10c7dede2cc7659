#include "drydock/fabric/async/operation_window.h"

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
using ::drydock::testing_matchers::StatusIs;
using harness::GiveUpTime;
using harness::OpenNodes;

class OperationWindowTest : public ::testing::Test {
 protected:
  coro::Task<absl::Status> Write(BufferSlice source) {
    const Completion done =
        co_await nodes_.a.endpoint().Write(source, remote_->region().remote(), nodes_.a.peer(1));
    co_return nodes_.a.endpoint().ToStatus(done, "write");
  }

  sim::TwoNodes nodes_;
  const BufferRef local_ = nodes_.a.Allocate(4096).value(),
                  remote_ = nodes_.b.Allocate(4096).value();
};

TEST_F(OperationWindowTest, LetsInAsManyAsItSays) {
  auto main = [&]() -> coro::Task<absl::Status> {
    OperationWindow window(3);
    coro::Scope writes;
    std::size_t most = 0;
    for (int i = 0; i < 50; ++i) {
      CO_ASSIGN_OR_RETURN(auto permit, co_await window.Enter());
      writes.Spawn(Write(std::move(permit).Over(local_)));
      most = std::max(most, nodes_.a.dispatcher().slots().in_flight());
    }
    EXPECT_EQ(most, 3u);
    EXPECT_TRUE(co_await window.Drain());
    EXPECT_EQ(window.under_way(), 0u);
    EXPECT_EQ(nodes_.a.dispatcher().slots().in_flight(), 0u);
    co_return co_await writes.Join();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(OperationWindowTest, GivenUpOperationIsUnderWayUntilItsCompletion) {
  auto main = [&]() -> coro::Task<absl::Status> {
    OperationWindow window(1);
    {
      coro::Scope dropped;
      CO_ASSIGN_OR_RETURN(auto permit, co_await window.Enter());
      dropped.Spawn(Write(std::move(permit).Over(local_)));
    }
    EXPECT_EQ(window.under_way(), 1u);
    EXPECT_FALSE(co_await window.Drain(nodes_.loop.Now()));
    const auto too_early = co_await window.Enter(nodes_.loop.Now());
    EXPECT_THAT(too_early, StatusIs(absl::StatusCode::kDeadlineExceeded));
    CO_ASSIGN_OR_RETURN(const auto permit, co_await window.Enter());
    EXPECT_EQ(nodes_.a.dispatcher().slots().in_flight(), 0u);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(OperationWindowTest, PermitThatIsNotUsedComesBack) {
  auto main = [&]() -> coro::Task<absl::Status> {
    std::optional<OperationWindow> window(1);
    {
      CO_ASSIGN_OR_RETURN(auto permit, co_await window->Enter());
      const OperationWindow::Permit moved = std::move(permit);
      EXPECT_EQ(window->under_way(), 1u);
    }
    EXPECT_EQ(window->under_way(), 0u);
    CO_ASSIGN_OR_RETURN(const auto permit, co_await window->Enter());
    window.reset();  // before its permit
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// ---- Under faults ----

constexpr std::size_t kWindow = 4;

coro::Task<absl::Status> WriteOne(Node& from, BufferSlice source, RemoteBuffer target,
                                  bool in_a_hurry) {
  OperationOptions options;
  options.deadline = in_a_hurry ? coro::EventLoop::Current().Now() + 2us : GiveUpTime();
  const Completion done = co_await from.endpoint().Write(source, target, from.peer(1), options);
  if (in_a_hurry && done.error == ErrorCode::kDeadlineExceeded) co_return absl::OkStatus();
  co_return from.endpoint().ToStatus(done, "write");
}

coro::Task<absl::Status> WriteAll(Node& from, const BufferRef& source, RemoteBuffer target) {
  OperationWindow window(kWindow);
  coro::Scope writes;
  for (std::size_t i = 0; i < 40; ++i) {
    CO_ASSIGN_OR_RETURN(auto permit, co_await window.Enter(GiveUpTime()));
    const BufferSlice page(source, i * 128, 128);
    RemoteBuffer place = target;
    place.address += i * 128;
    writes.Spawn(WriteOne(from, std::move(permit).Over(page), place, i % 3 == 0));
    EXPECT_LE(from.dispatcher().slots().in_flight(), kWindow);
  }
  const bool drained = co_await window.Drain(GiveUpTime());
  CO_RETURN_IF_ERROR(co_await writes.Join());
  if (!drained) co_return absl::DeadlineExceededError("some write has no end");
  EXPECT_EQ(from.dispatcher().slots().in_flight(), 0u);
  co_return absl::OkStatus();
}

coro::Task<absl::Status> DrainUnderFaults(sim::explore::Trial& trial) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 2));
  CO_ASSIGN_OR_RETURN(const BufferRef source, machines[0]->Allocate(40 * 128));
  CO_ASSIGN_OR_RETURN(const BufferRef landed, machines[1]->Allocate(40 * 128));
  for (std::size_t i = 0; i < source->bytes().size(); ++i) {
    source->bytes()[i] = static_cast<std::byte>(i / 128 + 1);
  }
  CO_RETURN_IF_ERROR(co_await WriteAll(*machines[0], source, landed->region().remote()));
  // Drained: every operation, given up or not, has landed, or failed unseen.
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < source->bytes().size(); ++i) {
    const bool given_up = i / 128 % 3 == 0;
    if (!given_up && source->bytes()[i] != landed->bytes()[i]) ++wrong;
  }
  if (wrong > 0) co_return harness::WrongData("a write that succeeded is not there");
  co_return absl::OkStatus();
}

DD_TEST_UNDER_FAULTS(OperationWindowUnderFaults, DrainUnderFaults);

}  // namespace
}  // namespace drydock::fabric::async
