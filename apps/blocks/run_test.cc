#include "drydock/apps/blocks/run.h"

#include <chrono>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::blocks {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

Settings Small() {
  Settings settings;
  settings.clients = 3;
  settings.blocks = 10;
  settings.rounds = 3;
  return settings;
}

TEST(RunTest, EveryReadIsOfItsRoundAndEveryCallIsTold) {
  const absl::StatusOr<Report> report = RunBlocks(Small());
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->total.writes, 30u);
  EXPECT_EQ(report->total.reads, 90u);
  EXPECT_EQ(report->total.wrong, 0u);
  EXPECT_EQ(report->records, 120u);
}

TEST(RunTest, OneClientAlone) {
  Settings settings = Small();
  settings.clients = 1;
  settings.window = 1;
  const absl::StatusOr<Report> report = RunBlocks(settings);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->total.reads, 30u);
  EXPECT_EQ(report->total.wrong, 0u);
}

TEST(RunTest, SameSeedIsTheSameRun) {
  const absl::StatusOr<Report> first = RunBlocks(Small());
  const absl::StatusOr<Report> second = RunBlocks(Small());
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(first->elapsed, second->elapsed);
}

TEST(RunTest, ImpatientReadsTakeTheFirstAnswer) {
  Settings settings = Small();
  settings.hedge = 0us;
  const absl::StatusOr<Report> report = RunBlocks(settings);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->total.reads, 90u);
  EXPECT_EQ(report->total.wrong, 0u);
  EXPECT_GT(report->total.hedged, 45u);
  EXPECT_GT(report->total.second_won, 0u);
  settings.hedge = 1s;
  EXPECT_EQ(RunBlocks(settings)->total.hedged, 0u);
}

// More calls than a server handles at a time, and of twice as many the answer is not awaited.
TEST(RunTest, AnswersOfAWideWindowAllCome) {
  Settings settings = Small();
  settings.window = 32;
  settings.blocks = 256;
  settings.hedge = 0us;
  const absl::StatusOr<Report> report = RunBlocks(settings);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->total.reads, 3u * 3 * 256);
  EXPECT_EQ(report->total.wrong, 0u);
}

TEST(RunTest, WhatTakesTooLongIsEnded) {
  Settings settings = Small();
  settings.timeout = 50us;
  EXPECT_THAT(RunBlocks(settings), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                            HasSubstr("not over after 50 us of simulated time")));
}

TEST(RunTest, RefusesWhatCannotBe) {
  Settings settings = Small();
  settings.clients = 0;
  EXPECT_THAT(RunBlocks(settings),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--clients")));
  settings = Small();
  settings.profile = "p9";
  EXPECT_THAT(RunBlocks(settings), StatusIs(absl::StatusCode::kNotFound, HasSubstr("p9")));
  settings.profile = "p4d";
  EXPECT_THAT(RunBlocks(settings),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("no RDMA writes")));
}

}  // namespace
}  // namespace drydock::apps::blocks
