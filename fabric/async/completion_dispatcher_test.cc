// Completions that belong to no operation of ours, from a queue that a test plays by hand.

#include "drydock/fabric/async/completion_dispatcher.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/testing/mocks/mock_fabric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using ::testing::NiceMock;

class StrayTest : public ::testing::Test {
 protected:
  StrayTest() {
    auto queue = std::make_unique<NiceMock<MockCompletionQueue>>();
    ON_CALL(*queue, Read).WillByDefault([this](std::span<Completion> entries) {
      if (completions_.empty()) return ReadResult{0, ErrorCode::kOk};
      entries[0] = completions_.back();
      completions_.pop_back();
      return ReadResult{1, ErrorCode::kOk};
    });
    dispatcher_ = std::make_unique<CompletionDispatcher>(loop_, std::move(queue));
  }

  // A peer's write with an immediate ended here, and took the receive of this context.
  void Arrive(std::uint32_t immediate, ErrorCode error,
              std::optional<Context> receive = std::nullopt) {
    Completion completion;
    completion.context = receive;
    completion.kind = OperationKind::kRemoteWrite;
    completion.immediate = immediate;
    completion.error = error;
    completions_.push_back(completion);
    dispatcher_->Poll(1);
  }

  coro::VirtualClock clock_;
  coro::EventLoop loop_{clock_};
  std::vector<Completion> completions_;
  std::unique_ptr<CompletionDispatcher> dispatcher_;
};

TEST_F(StrayTest, ImmediateIsCountedByItsCounterOnly) {
  ImmediateCounter five(*dispatcher_, 5);
  ImmediateCounter six(*dispatcher_, 6);
  Arrive(5, ErrorCode::kOk);
  EXPECT_EQ(five.count(), 1u);
  EXPECT_EQ(six.count(), 0u);
  EXPECT_EQ(dispatcher_->counters().unexpected_immediates, 0u);
}

TEST_F(StrayTest, ImmediateThatNobodyCountsIsUnexpected) {
  Arrive(7, ErrorCode::kOk);
  EXPECT_EQ(dispatcher_->counters().unexpected_immediates, 1u);
}

// Its bytes are not all here: it must not count as one that came.
TEST_F(StrayTest, WriteThatFailedHereIsNotCounted) {
  ImmediateCounter five(*dispatcher_, 5);
  Arrive(5, ErrorCode::kRemoteAccess);
  EXPECT_EQ(five.count(), 0u);
  EXPECT_EQ(dispatcher_->counters().stray_errors, 1u);
}

// Its receive's waiter is told as well; here that has gone, and nothing else is counted.
TEST_F(StrayTest, ImmediateThatTookAReceiveIsCounted) {
  ImmediateCounter five(*dispatcher_, 5);
  Arrive(5, ErrorCode::kOk, Context{123});
  Arrive(7, ErrorCode::kOk, Context{123});
  Arrive(5, ErrorCode::kCanceled, Context{123});
  EXPECT_EQ(five.count(), 1u);
  EXPECT_EQ(dispatcher_->counters().unexpected_immediates, 0u);
}

// Whoever waits for a completion that is lost is never resumed: the loop is told, once.
TEST(QueueFailureTest, IsReportedOnce) {
  coro::VirtualClock clock;
  coro::EventLoop loop{clock};
  std::vector<std::string> reports;
  loop.set_reporter([&](const std::string& text) { reports.push_back(text); });
  auto queue = std::make_unique<NiceMock<MockCompletionQueue>>();
  ON_CALL(*queue, Read).WillByDefault([](std::span<Completion>) {
    return ReadResult{0, ErrorCode::kOverrun};
  });
  CompletionDispatcher dispatcher(loop, std::move(queue));
  for (int i = 0; i < 3; ++i) dispatcher.Poll(8);
  EXPECT_EQ(dispatcher.counters().queue_errors, 3u);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_THAT(reports[0], ::testing::HasSubstr("a completion queue has failed"));
}

}  // namespace
}  // namespace drydock::fabric::async
