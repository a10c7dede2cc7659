// Sleeping until there is something to read.

#include <array>
#include <chrono>
#include <cstdint>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using namespace std::chrono_literals;
using fabric::BlockingWait;
using fabric::Capability;
using fabric::Completion;
using fabric::ErrorCode;

const Needs kNeeds("WaitContract", {Capability::kBlockingWait});

class WaitContract : public ContractTest {
 protected:
  fabric::CompletionQueueOptions QueueOptions() override { return {.blocking_wait = true}; }

  // Reads and sleeps in turn until `side` has this many completions; the other side only works when
  // it is spoken to.
  bool SleepUntil(Side& side, Side& other, std::size_t completions) {
    const coro::Time deadline = backend_->Now() + backend_->Patience();
    while (side.completions.size() < completions && backend_->Now() < deadline) {
      ReadQueue(other);
      ReadQueue(side);
      if (side.completions.size() < completions) {
        side.queue->power<BlockingWait>()->Wait(backend_->Now() + 10ms);
      }
    }
    return side.completions.size() >= completions;
  }
};

TEST_F(WaitContract, SleeperWakesForAMessage) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 100, 2), ErrorCode::kOk);
  EXPECT_TRUE(SleepUntil(target_, initiator_, 1));
  EXPECT_EQ(Take(target_, 1).length_bytes, 100u);
}

TEST_F(WaitContract, SleeperWakesForItsOwnRequests) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(Write(0, 5000, target_.Remote(0), i, 1), ErrorCode::kOk);
  }
  EXPECT_TRUE(SleepUntil(initiator_, target_, 20));
}

TEST_F(WaitContract, WaitEndsByItself) {
  BlockingWait* wait = target_.queue->power<BlockingWait>();
  wait->Wait(backend_->Now() + 5ms);
  wait->Wait(backend_->Now());
  wait->Wait(backend_->Now() - 1s);
  EXPECT_TRUE(target_.completions.empty());
}

// There is something to read, or it is on its way: a wait without a deadline ends.
TEST_F(WaitContract, NobodySleepsOverACompletion) {
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 1, 5), ErrorCode::kOk);
  ASSERT_TRUE(SleepUntil(target_, initiator_, 1));
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 2, 6), ErrorCode::kOk);
  Take(initiator_, 2);
  // Take has read the target's queue as well: one more is on its way, and it is waited for.
  ASSERT_EQ(Write(0, 8, target_.Remote(0), 3, 7), ErrorCode::kOk);
  while (target_.completions.size() < 3) {
    ReadQueue(initiator_);
    ReadQueue(target_);
    if (target_.completions.size() < 3) {
      target_.queue->power<BlockingWait>()->Wait(coro::kNever);
    }
  }
  EXPECT_EQ(target_.completions.back().immediate, 7u);
}

}  // namespace
}  // namespace drydock::contract
