#include "drydock/fabric/async/operation_slots.h"

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/async/orphan.h"
#include "drydock/testing/mocks/mock_fabric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::NiceMock;
using ::testing::Not;

class RecordingWaiter final : public OperationWaiter {
 public:
  void Resolve(const Completion& completion) override { results.push_back(completion); }
  std::vector<Completion> results;
};

Completion Success(std::uint64_t length) {
  Completion completion;
  completion.length_bytes = length;
  return completion;
}

class OperationSlotsTest : public ::testing::Test {
 protected:
  BufferRef buffer_ = BufferRef(
      std::make_unique<RegisteredBuffer>(nullptr, std::make_unique<NiceMock<MockMemoryRegion>>()));
  RecordingWaiter waiter_;
  OperationSlots slots_;
};

TEST_F(OperationSlotsTest, CompletionReachesItsWaiterOnceAndFreesTheBuffer) {
  const Context context = slots_.Acquire(waiter_, buffer_, this);
  EXPECT_EQ(buffer_.use_count(), 2u);
  EXPECT_EQ(slots_.in_flight(), 1u);
  EXPECT_TRUE(slots_.Complete(context, Success(5)));
  ASSERT_EQ(waiter_.results.size(), 1u);
  EXPECT_EQ(waiter_.results[0].length_bytes, 5u);
  EXPECT_EQ(buffer_.use_count(), 1u);
  EXPECT_EQ(slots_.in_flight(), 0u);
  EXPECT_FALSE(slots_.Complete(context, Success(6)));  // a duplicate
  EXPECT_EQ(waiter_.results.size(), 1u);
}

TEST_F(OperationSlotsTest, HeirIsResolvedUntilItGoes) {
  RecordingWaiter heir;
  const Context completed = slots_.Acquire(waiter_, buffer_, this);
  const Context canceled = slots_.Acquire(waiter_, buffer_, this);
  slots_.Abandon(completed, std::nullopt, &heir);
  slots_.Abandon(canceled, std::nullopt, &heir);
  EXPECT_TRUE(slots_.Complete(completed, Success(5)));
  EXPECT_FALSE(slots_.Complete(completed, Success(6)));  // a duplicate
  ASSERT_EQ(heir.results.size(), 1u);
  EXPECT_EQ(heir.results[0].length_bytes, 5u);
  slots_.CancelAll(this);
  ASSERT_EQ(heir.results.size(), 2u);
  EXPECT_EQ(heir.results[1].error, ErrorCode::kCanceled);

  const Context nobodys = slots_.Acquire(waiter_, buffer_, this);
  slots_.Abandon(nobodys, std::nullopt, &heir);
  slots_.Disinherit(heir);
  EXPECT_TRUE(slots_.Complete(nobodys, Success(7)));
  EXPECT_EQ(heir.results.size(), 2u);
  EXPECT_TRUE(waiter_.results.empty());
  EXPECT_EQ(slots_.abandoned(), 0u);
}

TEST_F(OperationSlotsTest, AbandonedOperationKeepsItsBufferUntilItsCompletion) {
  const Context context = slots_.Acquire(waiter_, buffer_, this);
  slots_.Abandon(context, std::nullopt);
  EXPECT_EQ(slots_.abandoned(), 1u);
  EXPECT_EQ(buffer_.use_count(), 2u);
  EXPECT_TRUE(slots_.Complete(context, Success(1)));
  EXPECT_TRUE(waiter_.results.empty());
  EXPECT_EQ(buffer_.use_count(), 1u);
  EXPECT_EQ(slots_.abandoned(), 0u);
}

// The slot of an ended operation is used again; a completion of the old one must not resolve the
// new one.
TEST_F(OperationSlotsTest, LateCompletionDoesNotTouchTheSlotsNextOperation) {
  const Context old_context = slots_.Acquire(waiter_, buffer_, this);
  slots_.Complete(old_context, Success(1));
  RecordingWaiter next;
  const Context new_context = slots_.Acquire(next, buffer_, this);
  EXPECT_NE(old_context, new_context);
  EXPECT_FALSE(slots_.Complete(old_context, Success(2)));
  EXPECT_TRUE(next.results.empty());
  EXPECT_TRUE(slots_.Complete(new_context, Success(3)));
  EXPECT_EQ(next.results.size(), 1u);
}

TEST_F(OperationSlotsTest, ContextsOfNobodyAreRefused) {
  EXPECT_FALSE(slots_.Complete(Context{0}, Success(1)));
  EXPECT_FALSE(slots_.Complete(Context{~0ull}, Success(1)));
  slots_.Acquire(waiter_, buffer_, this);
  EXPECT_FALSE(slots_.Complete(Context{0}, Success(1)));  // slot 0, generation 0
  EXPECT_TRUE(waiter_.results.empty());
}

TEST_F(OperationSlotsTest, CancelAllResolvesOneEndpointsOperations) {
  int one = 0, other = 0;
  RecordingWaiter a, b, c;
  slots_.Acquire(a, buffer_, &one);
  const Context of_other = slots_.Acquire(b, buffer_, &other);
  slots_.Abandon(slots_.Acquire(c, buffer_, &one), std::nullopt);
  slots_.CancelAll(&one);
  ASSERT_EQ(a.results.size(), 1u);
  EXPECT_EQ(a.results[0].error, ErrorCode::kCanceled);
  EXPECT_TRUE(c.results.empty());
  EXPECT_EQ(slots_.in_flight(), 1u);
  EXPECT_EQ(slots_.abandoned(), 0u);
  EXPECT_EQ(buffer_.use_count(), 2u);
  EXPECT_TRUE(slots_.Complete(of_other, Success(1)));
}

TEST_F(OperationSlotsTest, EachEndpointLeavesItsOwnOrphans) {
  int one = 0, other = 0;
  Orphan orphan;
  orphan.awaited.function = "Ours";
  slots_.Abandon(slots_.Acquire(waiter_, buffer_, &one), orphan);
  orphan.awaited.function = "Theirs";
  const Context theirs = slots_.Acquire(waiter_, buffer_, &other);
  slots_.Abandon(theirs, orphan);
  const coro::Time now = coro::After(orphan.since, std::chrono::seconds(1));
  EXPECT_THAT(slots_.DescribeOrphansOf(&one, now),
              AllOf(HasSubstr("Ours"), Not(HasSubstr("Theirs"))));
  slots_.CancelAll(&one);
  EXPECT_THAT(slots_.DescribeOrphans(now), AllOf(HasSubstr("Theirs"), Not(HasSubstr("Ours"))));
  slots_.Complete(theirs, Success(1));
  EXPECT_EQ(slots_.DescribeOrphans(now), "");
}

TEST_F(OperationSlotsTest, RefusesMisuse) {
  const Context context = slots_.Acquire(waiter_, buffer_, this);
  slots_.Abandon(context, std::nullopt);
  EXPECT_DEATH(slots_.Abandon(context, std::nullopt), "abandoning an operation twice");
  slots_.Complete(context, Success(1));
  EXPECT_DEATH(slots_.Release(context), "releasing an operation that is not in flight");
}

}  // namespace
}  // namespace drydock::fabric::async
