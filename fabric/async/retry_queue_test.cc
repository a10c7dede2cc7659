// The handling of "again", against an endpoint that a test plays by hand.

#include "drydock/fabric/async/retry_queue.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/credited_messages.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "drydock/testing/mocks/mock_fabric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::testing::_;
using ::testing::NiceMock;

class RetryTest : public ::testing::Test {
 protected:
  RetryTest() {
    auto queue = std::make_unique<NiceMock<MockCompletionQueue>>();
    queue_ = queue.get();
    ON_CALL(*queue_, Read).WillByDefault([this](std::span<Completion> entries) {
      ++reads_;
      std::size_t count = 0;
      for (; count < entries.size() && !completions_.empty(); ++count) {
        entries[count] = completions_.back();
        completions_.pop_back();
      }
      return ReadResult{count, ErrorCode::kOk};
    });
    auto raw = std::make_unique<NiceMock<MockEndpoint>>();
    raw_ = raw.get();
    ON_CALL(*raw_, Send(_)).WillByDefault([this](std::span<const SendRequest> requests) {
      attempts_.push_back({clock_.Now(), *requests[0].context});
      reads_at_attempt_.push_back(reads_);
      if (attempts_.size() <= refusals_) return PostResult{0, ErrorCode::kAgain};
      if (final_ == ErrorCode::kOk)
        completions_.push_back(Completion{.context = *requests[0].context});
      return PostResult{final_ == ErrorCode::kOk ? 1u : 0u, final_};
    });
    dispatcher_ = std::make_unique<CompletionDispatcher>(loop_, std::move(queue));
    endpoint_ = std::make_unique<AsyncEndpoint>(
        *dispatcher_, std::move(raw),
        AsyncEndpointOptions{.post_timeout = 100ms, .backoff = {.first = 1us, .most = 1ms}});
  }

  coro::Task<absl::Status> SendOne(ErrorCode expected) {
    const Completion done = co_await endpoint_->Send(BufferSlice(), Peer{1});
    EXPECT_EQ(done.error, expected);
    co_return absl::OkStatus();
  }

  // By an endpoint of its own, whose queue is full until the deadline of its post.
  std::size_t AttemptsInVain(const AsyncEndpointOptions& options) {
    auto raw = std::make_unique<NiceMock<MockEndpoint>>();
    std::size_t attempts = 0;
    ON_CALL(*raw, Send(_)).WillByDefault([&](std::span<const SendRequest>) {
      ++attempts;
      return PostResult{0, ErrorCode::kAgain};
    });
    AsyncEndpoint endpoint(*dispatcher_, std::move(raw), options);
    auto main = [&]() -> coro::Task<absl::Status> {
      const Completion done = co_await endpoint.Send(BufferSlice(), Peer{1});
      EXPECT_EQ(done.error, ErrorCode::kDeadlineExceeded);
      co_return absl::OkStatus();
    };
    EXPECT_THAT(loop_.Run(main()), IsOk());
    return attempts;
  }

  struct Attempt {
    coro::Time time;
    Context context;
  };

  coro::VirtualClock clock_;
  coro::EventLoop loop_{clock_};
  NiceMock<MockCompletionQueue>* queue_;
  NiceMock<MockEndpoint>* raw_;
  std::unique_ptr<CompletionDispatcher> dispatcher_;
  std::unique_ptr<AsyncEndpoint> endpoint_;
  std::vector<Attempt> attempts_;
  std::vector<int> reads_at_attempt_;
  std::vector<Completion> completions_;
  int reads_ = 0;
  std::size_t refusals_ = 0;
  ErrorCode final_ = ErrorCode::kOk;
};

TEST_F(RetryTest, QueueIsReadBetweenAnyTwoAttempts) {
  refusals_ = 8;
  EXPECT_THAT(loop_.Run(SendOne(ErrorCode::kOk)), IsOk());
  ASSERT_EQ(attempts_.size(), 9u);
  for (std::size_t i = 1; i < attempts_.size(); ++i) {
    EXPECT_GT(reads_at_attempt_[i], reads_at_attempt_[i - 1]) << i;
  }
}

TEST_F(RetryTest, WaitDoublesUpToItsLimit) {
  refusals_ = 16;
  EXPECT_THAT(loop_.Run(SendOne(ErrorCode::kOk)), IsOk());
  ASSERT_EQ(attempts_.size(), 17u);
  EXPECT_EQ(attempts_[1].time, attempts_[0].time);  // the first retry follows the poll at once
  coro::Duration expected = 1us;
  for (std::size_t i = 2; i < attempts_.size(); ++i) {
    EXPECT_EQ(attempts_[i].time - attempts_[i - 1].time, expected) << i;
    expected = std::min<coro::Duration>(2 * expected, 1ms);
  }
}

// Waits of no time would hold a clock that stands still while something happens, and with it the
// deadline.
TEST_F(RetryTest, TimePassesBetweenAttemptsWithoutAWait) {
  // One a nanosecond, and the first.
  EXPECT_EQ(AttemptsInVain({.post_timeout = 1us, .backoff = {.first = 0ns, .most = 0ns}}), 1001u);
}

// The receives of a NIC have a ring of their own: they do not wait for room among the sends.
TEST_F(RetryTest, AReceiveOvertakesSendsThatWait) {
  refusals_ = 1'000'000;
  bool posted = false;
  ON_CALL(*raw_, Recv(_)).WillByDefault([&](std::span<const RecvRequest> requests) {
    posted = true;
    completions_.push_back(
        Completion{.context = *requests[0].context, .kind = OperationKind::kReceive});
    return PostResult{1, ErrorCode::kOk};
  });
  const coro::Time start = clock_.Now();
  auto main = [&]() -> coro::Task<absl::Status> {
    coro::Scope sending;
    sending.Spawn(SendOne(ErrorCode::kDeadlineExceeded));
    const Completion received = co_await endpoint_->Recv(BufferSlice());
    EXPECT_TRUE(received.ok());
    EXPECT_TRUE(posted);
    EXPECT_LT(clock_.Now() - start, 50ms);  // the send is not given up yet
    co_return co_await sending.Join();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

// ---- A receiver above it ----

// A peer that dies in the middle of a message has used a receive up: others go on sending.
TEST_F(RetryTest, AReceiverOutlivesAPeerThatDies) {
  int posts = 0;
  ON_CALL(*raw_, Recv(_)).WillByDefault([&](std::span<const RecvRequest> requests) {
    if (posts++ < 2) {
      completions_.push_back(
          Completion{.context = *requests[0].context,
                     .kind = OperationKind::kReceive,
                     .error = posts == 1 ? ErrorCode::kPeerAborted : ErrorCode::kOk});
    }
    return PostResult{1, ErrorCode::kOk};
  });
  auto main = [&]() -> coro::Task<absl::Status> {
    std::array<std::byte, 8> memory{};
    auto region = std::make_unique<NiceMock<MockMemoryRegion>>();
    ON_CALL(*region, data()).WillByDefault(::testing::Return(memory.data()));
    ON_CALL(*region, length_bytes()).WillByDefault(::testing::Return(memory.size()));
    const BufferRef room(std::make_unique<RegisteredBuffer>(nullptr, std::move(region)));
    MessageReceiver receiver(*endpoint_, room, 1, memory.size(), /*backlog=*/1);
    const absl::StatusOr<Message> message = co_await receiver.Next();
    EXPECT_THAT(message, IsOk());
    EXPECT_EQ(receiver.broken_off(), 1u);
    EXPECT_EQ(posts, 3);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

// A message that was given up, or whose task was cancelled, before the NIC took it: no receiver
// will ever give its credit back.
TEST_F(RetryTest, WhatWasNeverPostedKeepsNoCredit) {
  refusals_ = 1'000'000;
  auto main = [this]() -> coro::Task<absl::Status> {
    CreditedSender sender(*endpoint_, Peer{1}, {.credits = 1});
    OperationOptions options;
    options.deadline = coro::After(loop_.Now(), 1ms);
    const Completion late = co_await sender.Send(BufferSlice(), options);
    EXPECT_EQ(late.error, ErrorCode::kDeadlineExceeded);
    EXPECT_EQ(sender.window().available(), 1u);
    {
      auto send = [&]() -> coro::Task<absl::Status> {
        co_await sender.Send(BufferSlice());
        co_return absl::OkStatus();
      };
      coro::Scope cancelled;
      cancelled.Spawn(send());
      co_await coro::Sleep(1ms);
      EXPECT_EQ(sender.window().available(), 0u);
    }
    EXPECT_EQ(sender.window().available(), 1u);
    refusals_ = 0;
    const Completion sent = co_await sender.Send(BufferSlice());
    EXPECT_TRUE(sent.ok());
    EXPECT_EQ(sender.window().available(), 0u);  // it is under way until the receiver says so
    co_return absl::OkStatus();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

// Bounded by a deadline and not by a count.
TEST_F(RetryTest, RefusalForLongerThanThePostTimeoutFails) {
  refusals_ = 1'000'000;
  const coro::Time start = clock_.Now();
  EXPECT_THAT(loop_.Run(SendOne(ErrorCode::kDeadlineExceeded)), IsOk());
  EXPECT_EQ(clock_.Now() - start, 100ms);
  EXPECT_EQ(dispatcher_->slots().in_flight(), 0u);
}

// A wait that grew for operations that were given up is not that of the next one.
TEST_F(RetryTest, WaitsStartAnewOnceNoneIsLeft) {
  refusals_ = 1'000'000;
  EXPECT_THAT(loop_.Run(SendOne(ErrorCode::kDeadlineExceeded)), IsOk());
  const std::size_t before = attempts_.size();
  refusals_ = before + 3;
  EXPECT_THAT(loop_.Run(SendOne(ErrorCode::kOk)), IsOk());
  ASSERT_EQ(attempts_.size(), before + 4);
  const coro::Time start = attempts_[before].time;
  EXPECT_EQ(attempts_[before + 1].time, start);
  EXPECT_EQ(attempts_[before + 2].time, start + 1us);
  EXPECT_EQ(attempts_[before + 3].time, start + 3us);
}

// Twice the wait is no Duration then, of which the builds with a sanitizer tell.
TEST_F(RetryTest, WaitMayBeAsLongAsADuration) {
  constexpr coro::Duration kLongest = coro::Duration::max();
  // The first, and the retry that is due at once.
  EXPECT_EQ(AttemptsInVain({.post_timeout = 100ms,
                            .backoff = {.first = kLongest / 2 + 1ns, .most = kLongest}}),
            2u);
}

TEST_F(RetryTest, RefusalForGoodEndsTheOperation) {
  refusals_ = 3;
  final_ = ErrorCode::kUnsupported;
  EXPECT_THAT(loop_.Run(SendOne(ErrorCode::kUnsupported)), IsOk());
  EXPECT_EQ(attempts_.size(), 4u);
  EXPECT_EQ(dispatcher_->slots().in_flight(), 0u);
}

TEST_F(RetryTest, OperationsKeepTheirOrder) {
  refusals_ = 5;
  auto main = [this]() -> coro::Task<absl::Status> {
    coro::Scope scope;
    for (int i = 0; i < 4; ++i) scope.Spawn(SendOne(ErrorCode::kOk));
    co_return co_await scope.Join();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
  // The first is tried until it is taken; only then come the others, in order, each once.
  ASSERT_EQ(attempts_.size(), 9u);
  for (std::size_t i = 1; i <= 5; ++i) EXPECT_EQ(attempts_[i].context, attempts_[0].context);
  for (std::size_t i = 6; i < 9; ++i) EXPECT_NE(attempts_[i].context, attempts_[i - 1].context);
}

TEST_F(RetryTest, CompletionOfAnotherOperationTriggersAnAttempt) {
  // Taken at once; its completion is held back.
  Context first{};
  EXPECT_CALL(*raw_, Recv(_)).WillOnce([&](std::span<const RecvRequest> requests) {
    first = *requests[0].context;
    return PostResult{1, ErrorCode::kOk};
  });
  refusals_ = 12;
  auto main = [&]() -> coro::Task<void> {
    coro::Scope scope;
    auto receive = [&]() -> coro::Task<absl::Status> {
      const Completion done = co_await endpoint_->Recv(BufferSlice());
      EXPECT_TRUE(done.ok());
      co_return absl::OkStatus();
    };
    scope.Spawn(receive());
    scope.Spawn(SendOne(ErrorCode::kOk));
    while (attempts_.size() < 12) co_await coro::Sleep(1us);
    const coro::Time now = clock_.Now();
    completions_.push_back(Completion{.context = first});
    EXPECT_THAT(co_await scope.Join(), IsOk());
    EXPECT_EQ(attempts_.size(), 13u);
    EXPECT_EQ(attempts_[12].time, now);  // long before the timer, which waits 512 us by now
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

}  // namespace
}  // namespace drydock::fabric::async
