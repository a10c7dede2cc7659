// The recorded events, and the file that is made of them.

#include "drydock/fabric/trace/perfetto.h"

#include <cstddef>
#include <sstream>
#include <string>

#include "drydock/coro/virtual_clock.h"
#include "drydock/fabric/trace/recorder.h"
#include "drydock/fabric/trace/testing/trace_checker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RecorderOptions Options(std::size_t capacity = 1000) {
  RecorderOptions options;
  options.info = {.program = "test", .backend = "none", .simulated = true, .seed = 7};
  options.capacity = capacity;
  options.flight = false;
  return options;
}

CheckedTrace Written(Recorder& recorder) {
  std::ostringstream out;
  WriteTrace(recorder.Take(), out);
  return CheckTrace(out.str());
}

// A recorder with two machines, of which one posts.
class TraceTest : public ::testing::Test {
 protected:
  Event At(std::int64_t time, Kind kind, std::uint32_t track, std::uint64_t op = 0) {
    Event event;
    event.time_ns = time;
    event.kind = kind;
    event.track = track;
    event.op = op;
    return event;
  }

  Recorder recorder_{Options()};
  const std::uint16_t client_ = recorder_.Node("client");
  const std::uint16_t server_ = recorder_.Node("server");
  const std::uint32_t sends_ = recorder_.TrackOf({client_, TrackKind::kSendQueue, 0, "nic"});
  const std::uint32_t wire_ = recorder_.TrackOf({client_, TrackKind::kWire, 0, "nic"});
  const std::uint32_t memory_ = recorder_.TrackOf({server_, TrackKind::kMemory, 0, "nic"});
  const std::uint32_t marks_ = recorder_.TrackOf({server_, TrackKind::kMarks, 0, ""});
};

TEST_F(TraceTest, NothingIsAFileToo) {
  const CheckedTrace trace = Written(recorder_);
  EXPECT_THAT(trace.problems, IsEmpty());
  EXPECT_EQ(trace.other_data.at("seed"), "7");
  EXPECT_EQ(trace.tracks.at({1, 1}), "nic endpoint 0 send queue");
  EXPECT_EQ(trace.tracks.at({2, 4}), "faults and checks");
}

TEST_F(TraceTest, AnOperationIsOneFlow) {
  recorder_.Record(At(300, Kind::kPlace, memory_, 1));  // recorded before the post returned
  recorder_.Record(At(200, Kind::kPacket, wire_, 1));
  Event post = At(100, Kind::kPost, sends_, 1);
  post.duration_ns = 400;
  recorder_.Record(post);
  recorder_.Record(At(600, Kind::kPost, sends_, 2));  // nothing more is known of this one
  const CheckedTrace trace = Written(recorder_);
  EXPECT_THAT(trace.problems, IsEmpty());
  EXPECT_EQ(trace.PathOf("0.1"), "post packet place");
  EXPECT_EQ(trace.flows.size(), 1u);
  EXPECT_EQ(trace.slices[0].duration_ns, 400);
  EXPECT_EQ(trace.slices[1].duration_ns, 100);
}

TEST_F(TraceTest, WhatHappensAtOnceIsDrawnSideBySide) {
  for (std::uint64_t op = 1; op <= 3; ++op) recorder_.Record(At(50, Kind::kPlace, memory_, op));
  Event post = At(50, Kind::kPost, sends_, 3);
  recorder_.Record(post);
  const CheckedTrace trace = Written(recorder_);
  EXPECT_THAT(trace.problems, IsEmpty());
  ASSERT_EQ(trace.slices.size(), 4u);
  std::vector<std::string> at;
  for (const CheckedSlice& slice : trace.Of("place")) {
    at.push_back(slice.arguments.count("at") != 0 ? slice.arguments.at("at") : "-");
  }
  EXPECT_THAT(at, ElementsAre("-", "50", "50"));
}

TEST_F(TraceTest, TellsWhatARequestSays) {
  const std::uint32_t nic = recorder_.NicOf(client_, "nic");
  recorder_.AddRegion(nic, {5, 0x1000, 0x100}, 77, 78);
  Event post = At(0, Kind::kPost, sends_, 1);
  post.operation = OperationKind::kWrite;
  post.bytes = 24;
  post.address = UINT64_MAX;
  post.key = 0xffffffffffffffff;
  post.immediate = UINT32_MAX;
  post.flags = kHasImmediate | kHasRemote | kHasPeer | kSignalled;
  Event inside = At(0, Kind::kSegment, kNone);
  inside.address = 0x1010;
  inside.bytes = 16;
  EXPECT_TRUE(recorder_.Locate(nic, 77, inside));
  Event outside = inside;
  outside.object = kNone;
  outside.address = 0x1100;
  outside.bytes = 8;
  EXPECT_FALSE(recorder_.Locate(nic, 77, outside));
  recorder_.Record(std::array{post, inside, outside});
  const CheckedTrace trace = Written(recorder_);
  EXPECT_THAT(trace.problems, IsEmpty());
  ASSERT_EQ(trace.slices.size(), 1u);
  EXPECT_EQ(trace.slices[0].name, "write 24 B");
  EXPECT_EQ(trace.slices[0].arguments.at("segments"),
            R"([{"length":16,"offset":16,"region":5},{"address":"0x1100","length":8}])");
  EXPECT_EQ(trace.slices[0].arguments.at("remote"),
            R"({"address":"0xffffffffffffffff","key":"0xffffffffffffffff"})");
  EXPECT_EQ(trace.slices[0].arguments.at("imm"), "4294967295");
}

TEST_F(TraceTest, KeysAreEachNicsOwn) {
  const std::uint32_t nics[] = {recorder_.NicOf(client_, "nic"), recorder_.NicOf(client_, "other"),
                                recorder_.NicOf(server_, "nic")};
  for (std::uint32_t i = 0; i < 3; ++i) {
    recorder_.AddRegion(nics[i], {i + 1, 0x1000, 0x100}, 77, 77);
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    Event segment = At(0, Kind::kSegment, kNone);
    segment.address = 0x1010;
    EXPECT_TRUE(recorder_.Locate(nics[i], 77, segment));
    EXPECT_EQ(segment.object, i + 1);
  }
  EXPECT_EQ(recorder_.NicOf(client_, "nic"), nics[0]);
}

TEST_F(TraceTest, FaultsAndChecksAreMarks) {
  Event fault = At(10, Kind::kFault, marks_);
  fault.text = recorder_.Text(R"("rule":"r","what":"lost \"completion\"")");
  recorder_.Record(fault);
  Event packet = At(20, Kind::kPacket, wire_, 1);
  packet.immediate = 3;
  recorder_.Record(packet);
  const CheckedTrace trace = Written(recorder_);
  EXPECT_THAT(trace.problems, IsEmpty());
  ASSERT_EQ(trace.marks.size(), 1u);
  EXPECT_EQ(trace.marks[0].name, "fault lost \"completion\"");
  EXPECT_EQ(trace.marks[0].pid, 2);
  EXPECT_EQ(trace.Of("packet")[0].arguments.at("fate"), "\"lost\"");
  EXPECT_EQ(trace.Of("packet")[0].name, "packet 3, 0 B lost");
}

TEST(RecorderTest, KeepsTheFirstAndCountsTheRest) {
  Recorder recorder(Options(10));
  recorder.Node("one");
  Event event;
  event.kind = Kind::kResume;
  event.track = recorder.TrackOf({0, TrackKind::kProgram, 0, ""});
  for (int i = 0; i < 25; ++i) recorder.Record(event);
  const CheckedTrace trace = Written(recorder);
  EXPECT_THAT(trace.problems, IsEmpty());
  EXPECT_EQ(trace.slices.size(), 10u);
  EXPECT_EQ(trace.other_data.at("dropped"), "15");
}

TEST(RecorderTest, TimeNeverGoesBackAndStandsWithoutAClock) {
  Recorder recorder(Options());
  coro::VirtualClock clock;
  const coro::Time start = clock.Now();
  recorder.UseClock(&clock, start);
  EXPECT_EQ(recorder.Now(), 0);
  clock.WaitUntil(start + std::chrono::nanoseconds(70));
  EXPECT_EQ(recorder.Now(), 70);
  recorder.UseClock(nullptr, {});
  EXPECT_EQ(recorder.Now(), 70);
}

TEST(RecorderTest, NamesOfPeersDoNoHarm) {
  RecorderOptions options = Options();
  options.info.backend = "a\"b\\c\n\x01\xff\xc3(\xe2\x82\xac</script>";
  Recorder recorder(options);
  recorder.Node("n\"\xf0\x9f");
  const CheckedTrace trace = Written(recorder);
  EXPECT_THAT(trace.problems, IsEmpty());
  EXPECT_THAT(trace.other_data.at("backend"), HasSubstr("\xe2\x82\xac</script>"));
}

}  // namespace
}  // namespace drydock::fabric::trace
