// A path that cheats must not look fast: every way of writing moves every byte, and the loop around
// it notices completions that are not those of its writes.

#include "drydock/testing/benchmarks/write_path.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drydock/testing/benchmarks/bare_paths.h"
#include "drydock/testing/benchmarks/sim_paths.h"
#include "drydock/testing/benchmarks/write_loop.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::bench {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kLength = 16 * 4096;

void ExpectMoves(WritePath& path, const Buffers& buffers) {
  for (const Shape shape : {Shape{1, 1}, Shape{64, 1}, Shape{64, 16}, Shape{4096, 16}}) {
    EXPECT_THAT(VerifyPath(path, buffers, shape), IsOk()) << path.name();
    EXPECT_THAT(path.Write(shape, 8 * shape.window), IsOk()) << path.name();
  }
}

TEST(WritePathTest, BarePathsMoveEveryByte) {
  const Buffers buffers(kLength);
  ExpectMoves(*MakeMemcpyPath(buffers), buffers);
  ExpectMoves(*MakeFloorPath(buffers), buffers);
}

TEST(WritePathTest, TheSimulatorMovesEveryByte) {
  const Buffers buffers(kLength);
  ASSERT_OK_AND_ASSIGN(const auto path, OpenVirtualTimePath(buffers));
  ExpectMoves(*path, buffers);
}

TEST(WritePathTest, TheFloorGoesRoundItsRingsManyTimes) {
  const Buffers buffers(kLength);
  const auto path = MakeFloorPath(buffers);
  EXPECT_THAT(path->Write({8, 1}, 1000), IsOk());
  EXPECT_THAT(path->Write({8, 16}, 1600), IsOk());
}

// Forgets the last slot of a window.
class ForgetfulPath final : public WritePath {
 public:
  explicit ForgetfulPath(const Buffers& buffers) : buffers_(buffers) {}
  std::string name() const override { return "forgetful"; }
  absl::Status Write(const Shape& shape, std::uint64_t) override {
    std::memcpy(buffers_.target(), buffers_.source(), (shape.window - 1) * shape.bytes);
    return absl::OkStatus();
  }

 private:
  const Buffers& buffers_;
};

TEST(WritePathTest, AMissingWriteIsNoticed) {
  const Buffers buffers(kLength);
  ForgetfulPath path(buffers);
  EXPECT_THAT(VerifyPath(path, buffers, {64, 4}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("4 writes of 64 B")));
}

// Two ends that do as they are told, and note what they were asked.
class ScriptedEnds {
 public:
  PostOutcome Post(std::size_t slot, std::size_t bytes) {
    if (refusals_ > 0) {
      --refusals_;
      asked_.push_back("refused");
      return PostOutcome::kAgain;
    }
    asked_.push_back("posted " + std::to_string(slot));
    ++in_flight_;
    contexts_ += slot + context_wrong_by_;
    immediates_ += slot + wrong_by_;
    bytes_ += bytes + bytes_wrong_by_;
    return PostOutcome::kPosted;
  }
  bool PollInitiator(Found& found) {
    asked_.push_back("polled");
    found.completions += in_flight_;
    found.names += std::exchange(contexts_, 0);
    return !fails_;
  }
  bool PollTarget(Found& found) {
    found.completions += std::exchange(in_flight_, 0);
    found.names += std::exchange(immediates_, 0);
    found.bytes += std::exchange(bytes_, 0);
    return true;
  }
  void Idle() {}
  absl::Status error() const { return absl::UnavailableError("the link is cut"); }

  std::size_t refusals_ = 0;
  std::size_t wrong_by_ = 0;
  std::size_t context_wrong_by_ = 0;
  std::size_t bytes_wrong_by_ = 0;
  bool fails_ = false;
  std::vector<std::string> asked_;

 private:
  std::size_t in_flight_ = 0;
  std::uint64_t contexts_ = 0;
  std::uint64_t immediates_ = 0;
  std::uint64_t bytes_ = 0;
};

TEST(WriteLoopTest, PostsAWindowThenReadsIt) {
  ScriptedEnds ends;
  ASSERT_THAT(WriteInWindows(ends, {64, 2}, 4), IsOk());
  EXPECT_THAT(ends.asked_,
              ElementsAre("posted 0", "posted 1", "polled", "posted 0", "posted 1", "polled"));
}

TEST(WriteLoopTest, ARefusedPostPollsAndTriesAgain) {
  ScriptedEnds ends;
  ends.refusals_ = 1;
  ASSERT_THAT(WriteInWindows(ends, {64, 2}, 2), IsOk());
  EXPECT_THAT(ends.asked_, ElementsAre("refused", "polled", "posted 0", "posted 1", "polled"));
}

TEST(WriteLoopTest, SaysWhyAPollFailed) {
  ScriptedEnds ends;
  ends.fails_ = true;
  EXPECT_THAT(WriteInWindows(ends, {64, 2}, 2),
              StatusIs(absl::StatusCode::kUnavailable, "the link is cut"));
}

TEST(WriteLoopTest, NoticesImmediatesThatWereNeverSent) {
  ScriptedEnds ends;
  ends.wrong_by_ = 1;
  EXPECT_THAT(WriteInWindows(ends, {64, 2}, 2),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("immediates")));
}

TEST(WriteLoopTest, NoticesContextsThatWereNeverPosted) {
  ScriptedEnds ends;
  ends.context_wrong_by_ = 1;
  EXPECT_THAT(WriteInWindows(ends, {64, 2}, 2),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("contexts")));
}

TEST(WriteLoopTest, NoticesWritesOfAnotherLength) {
  ScriptedEnds ends;
  ends.bytes_wrong_by_ = 1;
  EXPECT_THAT(WriteInWindows(ends, {64, 2}, 2),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("lengths")));
}

}  // namespace
}  // namespace drydock::bench
