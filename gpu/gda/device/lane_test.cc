// One queue of a port against a NIC that is this test: completions in any order, laps, what cannot
// be, and what is left of an earlier connection.

#include "drydock/gpu/gda/device/lane.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda {
namespace {

namespace efa = fabric::efa_queue;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kEntries = 8;
constexpr std::uint32_t kBatch = 4;
constexpr std::uint64_t kNoPatience = 1'000'000;  // ns: for waits without an answer

struct Failure {
  std::uint8_t status;
  PortOperation operation;
  std::uint32_t peer;
  bool operator==(const Failure&) const = default;
};

template <typename TheLane>
class LaneTest : public ::testing::Test {
 protected:
  LaneTest() {
    view_.queue.send = {send_.data(), kEntries, 64, kBatch, {&bell_, nullptr}};
    view_.queue.send_done = {done_.data(), kEntries, 32};
    view_.state = &state_;
    view_.laps = laps_.data();
    view_.notes = notes_.data();
  }

  auto failed() {
    return [this](std::uint8_t status, Note note) {
      failures_.push_back({status, note.operation, note.peer});
    };
  }
  Outcome Post(TheLane& lane, std::uint32_t peer, bool ring = true) {
    std::uint32_t first = 0;
    const Outcome taken = lane.Take(1, kNoPatience, failed(), first);
    if (taken != Outcome::kOk) return taken;
    efa::SendWork work;
    work.operation = efa::Operation::kWrite;
    work.segment_count = 1;
    lane.Fill(first, work, {PortOperation::kPut, peer});
    return lane.HandOver(first, 1, ring, kNoPatience, failed());
  }
  // The NIC ends the request in `slot`, of connection `epoch`.
  void End(std::uint32_t slot, efa::CompletionStatus status = efa::CompletionStatus::kOk,
           std::uint32_t epoch = 0) {
    efa::Completion done;
    done.request_id = slot | epoch << 12;
    done.operation = efa::Operation::kWrite;
    done.status = status;
    efa::EncodeCompletion(done, efa::CqeSize::k32, nic_.phase(), done_.data() + 4 * nic_.slot());
    nic_.Push();
  }

  alignas(64) std::array<std::uint64_t, kEntries * 8> send_{};
  alignas(64) std::array<std::uint64_t, kEntries * 4> done_{};
  std::uint32_t bell_ = 0;
  LaneState state_;
  std::array<std::uint32_t, kEntries> laps_{};
  std::array<std::uint32_t, kEntries> notes_{};
  efa::CompletionProducer nic_{kEntries};
  LaneView view_;
  std::vector<Failure> failures_;
};

using Lanes = ::testing::Types<Lane<Sharing::kExclusive>, Lane<Sharing::kShared>>;
TYPED_TEST_SUITE(LaneTest, Lanes);

// The slot of a straggler is not given away, however many others have completed.
TYPED_TEST(LaneTest, ASlotIsFreeWhenItsOwnEntryHasCompleted) {
  TypeParam lane(this->view_, 0);
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    ASSERT_EQ(this->Post(lane, i), Outcome::kOk) << i;
    if (i != 0) this->End(i);  // all but the first
  }
  EXPECT_EQ(this->bell_, kEntries);
  // Seven slots are free, and none of them is the next one's.
  EXPECT_EQ(this->Post(lane, 8), Outcome::kTimedOut);
}

TYPED_TEST(LaneTest, StragglersAreAwaitedAndTheRingGoesRound) {
  TypeParam lane(this->view_, 0);
  for (std::uint32_t i = 0; i < 5 * kEntries; i += 2) {
    ASSERT_EQ(this->Post(lane, i), Outcome::kOk) << i;
    ASSERT_EQ(this->Post(lane, i + 1), Outcome::kOk) << i;
    this->End((i + 1) % kEntries);
    this->End(i % kEntries);
  }
  EXPECT_EQ(lane.Quiet(kNoPatience, this->failed()), Outcome::kOk);
  EXPECT_EQ(this->bell_, 5 * kEntries);
  EXPECT_THAT(this->failures_, IsEmpty());
}

TYPED_TEST(LaneTest, QuietIsNotOverBeforeTheLastOne) {
  TypeParam lane(this->view_, 0);
  ASSERT_EQ(this->Post(lane, 3), Outcome::kOk);
  ASSERT_EQ(this->Post(lane, 4), Outcome::kOk);
  this->End(0);
  EXPECT_EQ(lane.Quiet(kNoPatience, this->failed()), Outcome::kTimedOut);
  EXPECT_EQ(lane.Pending().peer, 4u);
  EXPECT_EQ(lane.Pending().operation, PortOperation::kPut);
}

TYPED_TEST(LaneTest, LaterMeansWithTheNextDoorbellButNotMoreThanABatch) {
  TypeParam lane(this->view_, 0);
  for (std::uint32_t i = 0; i < kBatch; ++i) {
    ASSERT_EQ(this->Post(lane, i, /*ring=*/false), Outcome::kOk);
    EXPECT_EQ(this->bell_, 0u);
  }
  ASSERT_EQ(this->Post(lane, 9, /*ring=*/false), Outcome::kOk);  // a fifth is not staged before
  EXPECT_EQ(this->bell_, kBatch);
  EXPECT_EQ(lane.Flush(kNoPatience, this->failed()), Outcome::kOk);
  EXPECT_EQ(this->bell_, kBatch + 1);
}

TYPED_TEST(LaneTest, FailuresSayWhatFailed) {
  TypeParam lane(this->view_, 0);
  ASSERT_EQ(this->Post(lane, 5), Outcome::kOk);
  ASSERT_EQ(this->Post(lane, 6), Outcome::kOk);
  this->End(1, efa::CompletionStatus::kRemoteBadAddress);
  this->End(0);
  EXPECT_EQ(lane.Quiet(kNoPatience, this->failed()), Outcome::kOk);
  EXPECT_THAT(this->failures_, ElementsAre(Failure{7, PortOperation::kPut, 6}));
  EXPECT_EQ(lane.failures(), 1u);
}

// A completion of the last connection, whose queue had the same number, ends nothing of this one.
TYPED_TEST(LaneTest, StaleCompletionsAreDropped) {
  TypeParam lane(this->view_, /*epoch=*/2);
  ASSERT_EQ(this->Post(lane, 5), Outcome::kOk);
  this->End(0, efa::CompletionStatus::kOk, /*epoch=*/1);
  this->End(0, efa::CompletionStatus::kFlushed, /*epoch=*/1);
  EXPECT_EQ(lane.Quiet(kNoPatience, this->failed()), Outcome::kTimedOut);
  EXPECT_EQ(lane.stale(), 2u);
  EXPECT_THAT(this->failures_, IsEmpty());
}

TYPED_TEST(LaneTest, TheRightEpochCountsBehindStaleOnes) {
  TypeParam lane(this->view_, /*epoch=*/2);
  ASSERT_EQ(this->Post(lane, 5), Outcome::kOk);
  this->End(0, efa::CompletionStatus::kOk, /*epoch=*/1);
  this->End(0, efa::CompletionStatus::kOk, /*epoch=*/2);
  EXPECT_EQ(lane.Quiet(kNoPatience, this->failed()), Outcome::kOk);
  EXPECT_EQ(lane.stale(), 1u);
}

TYPED_TEST(LaneTest, CompletionsOfNothingBreakTheQueue) {
  TypeParam lane(this->view_, 0);
  ASSERT_EQ(this->Post(lane, 5), Outcome::kOk);
  this->End(0);
  this->End(5);  // nothing is there
  Outcome outcome = Outcome::kOk;
  for (int i = 0; i < 3 && outcome == Outcome::kOk; ++i) {
    outcome = this->Post(lane, 6);
    if (outcome == Outcome::kOk) outcome = lane.Quiet(kNoPatience, this->failed());
  }
  EXPECT_EQ(outcome, Outcome::kBroken);
  EXPECT_EQ(this->Post(lane, 7), Outcome::kBroken);  // from now on
}

TYPED_TEST(LaneTest, TheNextKernelGoesOn) {
  {
    TypeParam lane(this->view_, 0);
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_EQ(this->Post(lane, i), Outcome::kOk);
    lane.Save();
  }
  this->End(2);
  TypeParam lane(this->view_, 0);
  ASSERT_EQ(this->Post(lane, 3), Outcome::kOk);
  this->End(3);
  this->End(0);
  this->End(1);
  EXPECT_EQ(lane.Quiet(kNoPatience, this->failed()), Outcome::kOk);
  EXPECT_EQ(this->bell_, 4u);
}

}  // namespace
}  // namespace drydock::gpu::gda
