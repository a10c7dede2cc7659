// The loops of two threads: what they post and when, and that they notice what did not happen.

#include "drydock/testing/benchmarks/two_threads.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "drydock/testing/benchmarks/path_of_ends.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::bench {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

// What lies between two ends: the writes that arrived and were not seen yet, and what goes wrong.
struct Wire {
  std::mutex mutex;
  std::deque<Burst> arrived[2];
  std::size_t most_in_flight = 0;  // of either side
  std::size_t most_in_a_post = 0;
  std::size_t held = 0;           // side 1 sees nothing before so many have arrived at once
  std::size_t most_at_once = 16;  // that a post takes
  std::uint64_t fails_after = UINT64_MAX;  // polls, on side 1
  std::uint64_t twice = UINT64_MAX;        // the write of side 0 that arrives twice
  std::size_t wrong_slot_by = 0;           // arrivals
  std::size_t wrong_length_by = 0;
  std::size_t wrong_context_by = 0;
  bool to_the_wrong_end = false;
};

class FakeEnd {
 public:
  FakeEnd(Wire& wire, int side) : wire_(wire), side_(side) {}

  BurstOutcome Post(const Burst& burst) {
    const std::lock_guard lock(wire_.mutex);
    std::deque<Burst>& there = wire_.arrived[wire_.to_the_wrong_end ? side_ : 1 - side_];
    const std::size_t count = std::min(burst.count, wire_.most_at_once);
    wire_.most_in_a_post = std::max(wire_.most_in_a_post, burst.count);
    for (std::size_t i = 0; i < count; ++i) {
      const Burst one{burst.offset_bytes, burst.bytes, burst.first + i, 1};
      for (int times = posted_++ == wire_.twice ? 2 : 1; times > 0; --times) there.push_back(one);
      ++own_.completions;
      own_.names += burst.first + i + wire_.wrong_context_by;
    }
    wire_.most_in_flight = std::max(wire_.most_in_flight, there.size());
    return {count};
  }
  bool Poll(Found& sent, Found& arrived) {
    const std::lock_guard lock(wire_.mutex);
    if (side_ == 1 && polls_++ >= wire_.fails_after) return false;
    sent.completions += std::exchange(own_.completions, 0);
    sent.names += std::exchange(own_.names, 0);
    std::deque<Burst>& here = wire_.arrived[side_];
    if (side_ == 1 && here.size() < wire_.held) return true;
    if (side_ == 1) wire_.held = 0;
    if (here.empty()) std::this_thread::yield();
    for (; !here.empty(); here.pop_front()) {
      ++arrived.completions;
      arrived.names += here.front().first + wire_.wrong_slot_by;
      arrived.bytes += here.front().bytes + wire_.wrong_length_by;
    }
    return true;
  }
  absl::Status error() const {
    return wire_.to_the_wrong_end ? absl::OkStatus() : absl::UnavailableError("the link is cut");
  }

 private:
  Wire& wire_;
  const int side_;
  Found own_;
  std::uint64_t posted_ = 0;
  std::uint64_t polls_ = 0;
};

class TwoThreadsTest : public ::testing::Test {
 protected:
  absl::Status PingPong(std::uint64_t count) { return Path().PingPong(64, count); }
  absl::Status WriteStream(std::uint64_t count, std::size_t at_once = kStreamBurst) {
    return Path().WriteStream(64, at_once, count);
  }
  absl::Status Write(std::uint64_t count) { return Path().Write({64, 16}, count); }
  // Both loops of two threads.
  void ExpectBothFail(absl::StatusCode code, const std::string& words) {
    EXPECT_THAT(PingPong(6400), StatusIs(code, HasSubstr(words)));
    EXPECT_THAT(WriteStream(6400), StatusIs(code, HasSubstr(words)));
  }

  Wire wire_;

 private:
  PathOfEnds<FakeEnd> Path() {
    for (std::deque<Burst>& arrived : wire_.arrived) arrived.clear();
    return {"fake", nullptr, nullptr, std::make_unique<FakeEnd>(wire_, 0),
            std::make_unique<FakeEnd>(wire_, 1)};
  }
};

TEST_F(TwoThreadsTest, PingPongHasOneWriteInFlight) {
  EXPECT_THAT(PingPong(2), IsOk());
  EXPECT_THAT(PingPong(1000), IsOk());
  EXPECT_EQ(wire_.most_in_flight, 1u);
}

TEST_F(TwoThreadsTest, StreamKeepsTwoBurstsInFlight) {
  EXPECT_THAT(WriteStream(16), IsOk());
  EXPECT_EQ(wire_.most_in_flight, 16u);
  wire_.held = 32;
  EXPECT_THAT(WriteStream(16000), IsOk());
  EXPECT_EQ(wire_.most_in_flight, 32u);
  EXPECT_EQ(wire_.most_in_a_post, 16u);
}

TEST_F(TwoThreadsTest, StreamOfSinglePostsKeepsAsManyInFlight) {
  wire_.held = 32;
  EXPECT_THAT(WriteStream(16000, 1), IsOk());
  EXPECT_EQ(wire_.most_in_flight, 32u);
  EXPECT_EQ(wire_.most_in_a_post, 1u);
}

TEST_F(TwoThreadsTest, BurstThatIsTakenInPartsIsPostedToItsEnd) {
  wire_.most_at_once = 3;
  EXPECT_THAT(PingPong(100), IsOk());
  EXPECT_THAT(WriteStream(1600), IsOk());
  EXPECT_LE(wire_.most_in_flight, 32u);
}

// The other one, which waits for what will not come, ends at once, and is not the one to blame.
TEST_F(TwoThreadsTest, FailureOfOneSideEndsBoth) {
  wire_.fails_after = 10;
  ExpectBothFail(absl::StatusCode::kUnavailable, "the link is cut");
}

// By one thread, too, which looks at one half of what each end has seen.
TEST_F(TwoThreadsTest, FailureAtTheTargetIsSeenByOneThread) {
  wire_.fails_after = 10;
  EXPECT_THAT(Write(6400), StatusIs(absl::StatusCode::kUnavailable, "the link is cut"));
}

TEST_F(TwoThreadsTest, NoticesImmediatesThatWereNeverSent) {
  wire_.wrong_slot_by = 1;
  ExpectBothFail(absl::StatusCode::kDataLoss, "immediates");
}

TEST_F(TwoThreadsTest, NoticesWritesOfAnotherLength) {
  wire_.wrong_length_by = 1;
  ExpectBothFail(absl::StatusCode::kDataLoss, "lengths");
}

TEST_F(TwoThreadsTest, NoticesContextsThatWereNeverPosted) {
  wire_.wrong_context_by = 1;
  ExpectBothFail(absl::StatusCode::kDataLoss, "contexts");
}

TEST_F(TwoThreadsTest, NoticesAWriteThatArrivesTwice) {
  wire_.twice = 6399;
  EXPECT_THAT(WriteStream(6400), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("immediates")));
}

TEST_F(TwoThreadsTest, NoticesOneTooManyOfWhichNothingIsTold) {
  wire_.wrong_length_by = std::size_t{0} - 64;  // as on tcp
  EXPECT_THAT(Write(16), IsOk());
  wire_.twice = 0;  // slot 0, that adds nothing to the names
  EXPECT_THAT(Write(16), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("immediates")));
}

TEST_F(TwoThreadsTest, NoticesACompletionAtTheWrongEnd) {
  wire_.to_the_wrong_end = true;
  EXPECT_THAT(Write(16), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("other end")));
}

TEST_F(TwoThreadsTest, AThreadThatWaitsEndsWhenTheOtherHasFailed) {
  const std::atomic<bool> over{true};
  Patience patience(over);
  std::uint64_t polls = 1;
  while (!patience.IsExhausted()) ++polls;
  EXPECT_LE(polls, 1u << 20);
}

TEST_F(TwoThreadsTest, FirstFailureIsTold) {
  const auto second = [](const std::atomic<bool>& over) {
    while (!over) std::this_thread::yield();
    return absl::AbortedError("second");
  };
  const auto first = [](const std::atomic<bool>&) { return absl::InternalError("first"); };
  EXPECT_THAT(InTwoThreads(first, second), StatusIs(absl::StatusCode::kInternal, "first"));
  EXPECT_THAT(InTwoThreads(second, first), StatusIs(absl::StatusCode::kInternal, "first"));
}

}  // namespace
}  // namespace drydock::bench
