#include "drydock/fabric/async/retry_policy.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "drydock/coro/scope.h"
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
using harness::GiveUpTime;
using harness::OpenNodes;
using ::testing::ElementsAre;

constexpr RetryRule kThrice = {.retries = 3, .first_wait = 10us, .most_wait = 25us};

TEST(RetryPolicyTest, WaitsDoubleUpToTheMost) {
  const RetryPolicy policy = RetryPolicy().On({ErrorCode::kReceiverNotReady}, kThrice);
  RetryState state(policy, /*idempotent=*/false);
  std::vector<coro::Duration> waits;
  while (const auto wait = state.Next(ErrorCode::kReceiverNotReady, OperationKind::kSend))
    waits.push_back(*wait);
  EXPECT_THAT(waits, ElementsAre(10us, 20us, 25us));
}

TEST(RetryPolicyTest, WaitsWithoutAMostStayWhatTheyAre) {
  const RetryPolicy policy = RetryPolicy().On(
      {ErrorCode::kAgain}, {.retries = 100, .first_wait = 3s, .most_wait = coro::Duration::max()});
  RetryState state(policy, /*idempotent=*/false);
  coro::Duration last{};
  while (const auto wait = state.Next(ErrorCode::kAgain, OperationKind::kSend)) {
    EXPECT_GE(*wait, last);
    last = *wait;
  }
  EXPECT_EQ(last, coro::Duration::max());
}

TEST(RetryPolicyTest, EachCodeHasItsOwnCount) {
  const RetryPolicy policy =
      RetryPolicy().On({ErrorCode::kReceiverNotReady, ErrorCode::kNoMemory}, {.retries = 1});
  RetryState state(policy, /*idempotent=*/false);
  EXPECT_TRUE(state.Next(ErrorCode::kReceiverNotReady, OperationKind::kSend).has_value());
  EXPECT_FALSE(state.Next(ErrorCode::kReceiverNotReady, OperationKind::kSend).has_value());
  EXPECT_TRUE(state.Next(ErrorCode::kNoMemory, OperationKind::kSend).has_value());
  EXPECT_FALSE(state.Next(ErrorCode::kBusy, OperationKind::kSend).has_value()) << "no rule";
}

// A rule is not enough where the first attempt may have worked.
TEST(RetryPolicyTest, WhatMayHaveHadAnEffectIsRepeatedOnlyIfIdempotent) {
  RetryPolicy policy;
  for (const ErrorInfo& info : ErrorTable()) policy.On({info.code}, {.retries = 1});
  std::vector<ErrorCode> certain;
  for (const ErrorInfo& info : ErrorTable()) {
    RetryState careful(policy, /*idempotent=*/false), idempotent(policy, /*idempotent=*/true);
    EXPECT_TRUE(idempotent.Next(info.code, OperationKind::kSend).has_value()) << info.name;
    if (careful.Next(info.code, OperationKind::kSend).has_value()) certain.push_back(info.code);
  }
  EXPECT_THAT(certain, ElementsAre(ErrorCode::kAgain, ErrorCode::kUnsupported, ErrorCode::kClosed,
                                   ErrorCode::kBusy, ErrorCode::kNoMemory,
                                   ErrorCode::kReceiverNotReady, ErrorCode::kFeatureMismatch));
  EXPECT_TRUE(MayHaveHadEffect(ErrorCode::kReceiverNotReady, OperationKind::kWrite))
      << "its bytes land before its immediate looks for a receive";
}

TEST(RetryPolicyTest, TransientIsWhatTheTableOfErrorsCallsSo) {
  const RetryPolicy policy = RetryPolicy::Transient({.retries = 7});
  for (const ErrorInfo& info : ErrorTable()) {
    EXPECT_EQ(policy.rule(info.code).retries, info.retryable ? 7u : 0u) << info.name;
  }
}

class WithRetriesTest : public ::testing::Test {
 protected:
  // The results of the attempts, one after the other; then OK.
  Completion Run(std::deque<ErrorCode> outcomes, RetryOptions options = {}) {
    auto attempt = [&](coro::Time deadline) -> coro::Task<Completion> {
      EXPECT_EQ(deadline, options.deadline);
      Completion done;
      if (!outcomes.empty()) done.error = outcomes.front();
      if (!outcomes.empty()) outcomes.pop_front();
      attempts_.push_back(nodes_.loop.Now() - start_);
      co_return done;
    };
    return nodes_.loop.Run(WithRetries(policy_, attempt, options)).value();
  }

  sim::TwoNodes nodes_;
  const coro::Time start_ = nodes_.loop.Now();
  RetryPolicy policy_ = RetryPolicy::Transient(kThrice);
  std::vector<coro::Duration> attempts_;
};

TEST_F(WithRetriesTest, SucceedsInTheEnd) {
  EXPECT_TRUE(Run({ErrorCode::kReceiverNotReady, ErrorCode::kNoMemory}).ok());
  ASSERT_EQ(attempts_.size(), 3u);
  EXPECT_GE(attempts_[1] - attempts_[0], 10us);
}

TEST_F(WithRetriesTest, ReturnsTheLastFailure) {
  EXPECT_EQ(Run({ErrorCode::kReceiverNotReady, ErrorCode::kRemoteAccess}).error,
            ErrorCode::kRemoteAccess);
  EXPECT_EQ(attempts_.size(), 2u);
}

TEST_F(WithRetriesTest, NoAttemptBeginsAfterTheDeadline) {
  const Completion done = Run({4, ErrorCode::kReceiverNotReady}, {.deadline = start_ + 25us});
  EXPECT_EQ(done.error, ErrorCode::kReceiverNotReady);
  ASSERT_EQ(attempts_.size(), 2u);
  EXPECT_LT(attempts_[1], 25us);
}

// ---- Under faults ----

constexpr std::size_t kMessages = 30;

// Messages are not idempotent: to send one again after an unclear failure may send it twice.
coro::Task<absl::Status> SendAll(Node& from, const BufferRef& buffer,
                                 std::array<bool, kMessages>& sent) {
  const RetryPolicy policy =
      RetryPolicy::Transient({.retries = 10}).On({ErrorCode::kPeerAborted}, {.retries = 10});
  absl::Status status;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const BufferSlice message(buffer, i, 1);
    message.bytes()[0] = static_cast<std::byte>(i);
    auto attempt = [&](coro::Time deadline) -> coro::Task<Completion> {
      co_return co_await from.endpoint().Send(message, from.peer(1), {.deadline = deadline});
    };
    RetryOptions options;
    options.deadline = GiveUpTime();
    const Completion done = co_await WithRetries(policy, attempt, options);
    sent[i] = done.ok();
    if (status.ok()) status = from.endpoint().ToStatus(done, "send");
  }
  co_return status;
}

// Writes of bytes that stay the same are.
coro::Task<absl::Status> WriteIdempotently(Node& from, const BufferRef& source,
                                           RemoteBuffer target) {
  const RetryPolicy policy =
      RetryPolicy().On({ErrorCode::kPeerAborted, ErrorCode::kReceiverNotReady}, {.retries = 10});
  auto attempt = [&](coro::Time deadline) -> coro::Task<Completion> {
    co_return co_await from.endpoint().Write(source, target, from.peer(1), {.deadline = deadline});
  };
  for (int i = 0; i < 20; ++i) {
    RetryOptions options;
    options.idempotent = true;
    options.deadline = GiveUpTime();
    const Completion done = co_await WithRetries(policy, attempt, options);
    CO_RETURN_IF_ERROR(from.endpoint().ToStatus(done, "write"));
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> RetryUnderFaults(sim::explore::Trial& trial) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 2));
  Node &a = *machines[0], &b = *machines[1];
  CO_ASSIGN_OR_RETURN(const BufferRef out, a.Allocate(kMessages));
  CO_ASSIGN_OR_RETURN(const BufferRef room, b.Allocate(8 * 16));
  CO_ASSIGN_OR_RETURN(const BufferRef landed, b.Allocate(kMessages));
  MessageReceiver receiver(b.endpoint(), room, 8, 16, kMessages);
  std::array<bool, kMessages> sent{};
  const absl::Status sending = co_await SendAll(a, out, sent);
  const absl::Status writing = co_await WriteIdempotently(a, out, landed->region().remote());
  std::array<int, kMessages> came{};
  bool more = true;
  absl::Status receiving;
  while (more) {
    const absl::StatusOr<Message> message = co_await receiver.Next(GiveUpTime());
    more = message.ok();
    if (more && ++came[std::to_integer<std::size_t>(message->bytes[0])] > 1) {
      co_return harness::WrongData("a message came twice");
    }
    if (!more && !absl::IsDeadlineExceeded(message.status())) receiving = message.status();
  }
  if (writing.ok() && !std::ranges::equal(out->bytes(), landed->bytes())) {
    co_return harness::WrongData("a write that succeeded is not there");
  }
  for (std::size_t i = 0; i < kMessages; ++i) {
    // Sent, and its receive has failed or its completion was lost.
    if (sent[i] && came[i] == 0) co_return absl::UnknownError("a message was not seen");
  }
  CO_RETURN_IF_ERROR(receiving);
  co_return sending.ok() ? writing : sending;
}

DD_TEST_UNDER_FAULTS(RetryPolicyUnderFaults, RetryUnderFaults);

}  // namespace
}  // namespace drydock::fabric::async
