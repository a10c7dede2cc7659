#include "drydock/apps/goal/recording.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/goal/player.h"
#include "drydock/apps/goal/text.h"
#include "drydock/sim/capture/capture.h"
#include "drydock/sim/capture/join.h"
#include "drydock/sim/capture/read_capture.h"
#include "drydock/sim/capture/testing/trace_text.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::goal {
namespace {

using sim::capture::TraceText;

Recording Recorded(const TraceText& trace) {
  const std::vector<sim::capture::TraceFile> files = {{"trace", trace.Text()}};
  sim::capture::Capture capture = *sim::capture::ReadCapture(files);
  EXPECT_TRUE(sim::capture::Join(capture).ok());
  return *ScheduleOf(capture);
}

std::string TextOf(const Recording& recording) {
  std::ostringstream out;
  WriteGoal(recording.schedule, out);
  return out.str();
}

// The receiver computes for 30 us after it has heard of the write, less the nanosecond that its
// look takes in this trace, then writes back.
TEST(RecordingTest, AProgramComputesBetweenWhatItReadsAndWhatItPosts) {
  TraceText trace;
  trace.Post(1, 10, 1, "write", 0, 100, TraceText::At(2, 0) + R"(,"imm":7)");
  trace.Poll(1, 30, {1});
  trace.Poll(2, 20, {0}, {}, R"(,"unsolicited":1)");
  trace.Post(2, 50, 1, "write", 0, 200, TraceText::At(1, 0) + R"(,"imm":8)");
  trace.Poll(2, 70, {1});
  trace.Poll(1, 60, {0});
  const Recording recording = Recorded(trace);
  EXPECT_EQ(recording.left_out, 0u);
  EXPECT_EQ(TextOf(recording), R"(num_ranks 2

rank 0 {
l1: calc 10000 cpu 0
l2: send 100b to 1 tag 0 cpu 0 nic 0
l3: recv 200b from 1 tag 2 cpu 0 nic 0
l2 requires l1
}

rank 1 {
l1: recv 100b from 0 tag 0 cpu 0 nic 0
l2: calc 29999 cpu 0
l3: send 200b to 0 tag 2 cpu 0 nic 0
l2 requires l1
l3 requires l2
}
)");
}

// A read asks the peer's NIC, whose program takes no part.
TEST(RecordingTest, AReadIsARequestAndAnAnswerOfTheDevice) {
  TraceText trace;
  trace.Post(1, 10, 1, "read", 0, 300, TraceText::At(2, 0));
  trace.Poll(1, 30, {1});
  EXPECT_EQ(TextOf(Recorded(trace)), R"(num_ranks 2

rank 0 {
l1: calc 10000 cpu 0
l2: send 0b to 1 tag 0 cpu 0 nic 0
l3: recv 300b from 1 tag 1 cpu 0 nic 0
l2 requires l1
l3 irequires l2
}

rank 1 {
l1: recv 0b from 0 tag 0 cpu 1 nic 0
l2: send 300b to 0 tag 1 cpu 1 nic 0
l2 requires l1
}
)");
}

TEST(RecordingTest, AMessageIsReceivedWhereItsCompletionWasRead) {
  TraceText trace;
  trace.Post(2, 5, 1, "receive", 0, 4096);
  trace.Post(1, 10, 1, "send", 0, 64);
  trace.Poll(1, 30, {1});
  trace.Poll(2, 25, {1});
  trace.Post(2, 26, 2, "write", 0, 8, TraceText::At(1, 0));  // that its target is not told of
  trace.Poll(2, 45, {2});
  EXPECT_EQ(TextOf(Recorded(trace)), R"(num_ranks 2

rank 0 {
l1: calc 10000 cpu 0
l2: send 64b to 1 tag 0 cpu 0 nic 0
l3: recv 8b from 1 tag 2 cpu 1 nic 0
l2 requires l1
}

rank 1 {
l1: recv 64b from 0 tag 0 cpu 0 nic 0
l2: calc 999 cpu 0
l3: send 8b to 0 tag 2 cpu 0 nic 0
l2 requires l1
l3 requires l2
}
)");
}

// The message was posted later, and is what the receive took.
TEST(RecordingTest, AReceiveTakesAMessageAndNoImmediate) {
  TraceText trace;
  trace.Post(2, 5, 1, "receive", 0, 4096);
  trace.Post(1, 10, 1, "write", 0, 100, TraceText::At(2, 0) + R"(,"imm":7)");
  trace.Post(1, 10, 2, "send", 0, 64);
  trace.Poll(1, 30, {1, 2});
  trace.Poll(2, 25, {1});
  trace.Poll(2, 35, {0});
  EXPECT_THAT(TextOf(Recorded(trace)), ::testing::HasSubstr(R"(rank 1 {
l1: recv 64b from 0 tag 2 cpu 0 nic 0
l2: recv 100b from 0 tag 0 cpu 0 nic 0
})"));
}

TEST(RecordingTest, WhatFailedIsLeftOut) {
  TraceText trace;
  trace.Post(1, 10, 1, "write", 0, 100, TraceText::At(2, 0));
  trace.Poll(1, 30, {1}, {"RemoteAccess"});
  trace.Post(1, 40, 2, "write", 0, 100, TraceText::At(2, 0));  // whose end was not seen
  const Recording recording = Recorded(trace);
  EXPECT_EQ(recording.left_out, 2u);
  EXPECT_EQ(TextOf(recording), "num_ranks 2\n");
}

TEST(RecordingTest, MoreMachinesThanAScheduleHasRanksAreRefused) {
  sim::capture::Capture capture;
  capture.nodes.resize(kMostRanks + 1);
  EXPECT_THAT(ScheduleOf(capture).status(),
              testing_matchers::StatusIs(absl::StatusCode::kInvalidArgument,
                                         "the traces are of 65537 machines: at most 65536"));
}

TEST(RecordingTest, WhatWasRecordedRuns) {
  TraceText trace;
  for (int i = 0; i < 20; ++i) {
    trace.Post(1, 10 + 10 * i, i + 1, "write", 0, 1000, TraceText::At(2, 0) + R"(,"imm":7)");
    trace.Poll(2, 15 + 10 * i, {0});
    trace.Poll(1, 18 + 10 * i, {i + 1});
  }
  const Recording recording = Recorded(trace);
  ASSERT_OK_AND_ASSIGN(const PlayResult result,
                       Play(recording.schedule, **sim::FindProfile("small")));
  EXPECT_EQ(result.ranks[0].bytes, 20000u);
  EXPECT_EQ(result.unreceived, 0u);
}

}  // namespace
}  // namespace drydock::apps::goal
