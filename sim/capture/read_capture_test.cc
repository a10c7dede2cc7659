// Trace files that are no captures: each costs one line that says where and why.

#include "drydock/sim/capture/read_capture.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "drydock/sim/capture/capture.h"
#include "drydock/sim/capture/join.h"
#include "drydock/sim/capture/testing/trace_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::capture {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Capture> Read(const std::string& text) {
  const std::vector<TraceFile> files = {{"a.json", text}};
  absl::StatusOr<Capture> capture = ReadCapture(files);
  if (capture.ok()) {
    if (absl::Status joined = Join(*capture); !joined.ok()) return joined;
  }
  return capture;
}

TraceText Sound() {
  TraceText trace;
  trace.Post(2, 2, 1, "receive", 0, 4096);
  trace.Post(1, 3, 1, "send", 64, 8, TraceText::Data("abcdefgh"));
  trace.Poll(1, 5, {1});
  trace.Poll(2, 6, {1});
  return trace;
}

TEST(ReadCaptureTest, SoundTraceIsReadWhole) {
  const auto capture = Read(Sound().Text());
  ASSERT_TRUE(capture.ok()) << capture.status();
  ASSERT_EQ(capture->nodes.size(), 2u);
  const Node& node = capture->nodes[0];
  EXPECT_EQ(node.name, "node 1");
  EXPECT_EQ(node.operations.size(), 1u);
  EXPECT_EQ(node.operations[0].data, "abcdefgh");
  EXPECT_EQ(node.operations[0].status, fabric::ErrorCode::kOk);
  EXPECT_EQ(node.peers[0].endpoint.node, 1u);
  EXPECT_EQ(node.steps.size(), 5u);  // region, endpoint, peer, post, read
}

// In virtual time much happens in one nanosecond; tracks then say nothing of the order between
// them.
TEST(ReadCaptureTest, WhatIsUsedWasOpenedBefore) {
  TraceText trace;
  trace.Slice(1, 0, "post",
              R"("op":5,"kind":"receive","endpoint":13,"segments":[{"region":90,"offset":0,)"
              R"("length":8}],"at":4000)");
  trace.Close(1, 4.002, "region", 90, R"(,"at":4000)");
  trace.Region(1, 90, 4096, 4.003, R"(,"at":4000)");
  const auto capture = Read(trace.Text());
  ASSERT_TRUE(capture.ok()) << capture.status();
  const std::vector<Step>& steps = capture->nodes[0].steps;
  ASSERT_GE(steps.size(), 3u);
  EXPECT_EQ(steps[steps.size() - 3].kind, StepKind::kOpenRegion);
  EXPECT_EQ(steps[steps.size() - 2].kind, StepKind::kPost);
  EXPECT_EQ(steps[steps.size() - 1].kind, StepKind::kCloseRegion);
}

TEST(ReadCaptureTest, RefusedPostsAndForeignEventsAreNothing) {
  TraceText trace = Sound();
  trace.Slice(1, 7, "post", R"("op":9,"kind":"send","result":"Again")");
  trace.Slice(1, 7, "packet", R"("op":"what")");
  trace.Line(R"({"ph":"s","cat":"flow","name":"operation","id":"0.1"})");
  const auto capture = Read(trace.Text());
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_EQ(capture->nodes[0].operations.size(), 1u);
}

TEST(ReadCaptureTest, WhatCannotBeReplayedIsCounted) {
  TraceText trace = Sound();
  trace.Slice(1, 7, "post", R"("op":9,"kind":"atomic","endpoint":13)");
  trace.Poll(1, 8, {9});
  const auto capture = Read(trace.Text());
  ASSERT_TRUE(capture.ok()) << capture.status();
  ASSERT_EQ(capture->left_out.size(), 1u);
  EXPECT_EQ(capture->left_out[0].first, "atomic");
}

// A GPU posts past the program: the trace has the device's completion, and no post.
TEST(ReadCaptureTest, WorkThatADevicePostedIsCounted) {
  TraceText trace = Sound();
  const auto end = [&trace](int machine, const char* op, const char* queue, const char* kind) {
    trace.Slice(machine, 7, "completion",
                absl::StrCat(R"("op":)", op, R"(,"queue":)", queue, R"(,"status":"ok","kind":")",
                             kind, "\""));
  };
  end(1, R"(9,"op_node":0)", "11", "write");
  end(1, R"(9,"op_node":0)", "11", "write");  // of the same one: drawn again
  end(1, R"(10,"op_node":0)", "11", "write");
  end(2, R"(7,"op_node":1)", "21", "receive");
  end(1, R"(1,"op_node":0)", "11", "send");   // the program's own
  end(1, R"(5,"op_node":1)", "11", "write");  // a peer's, announced here
  end(1, R"(11,"op_node":0)", "0", "send");   // a protocol's, in a queue of its own
  const auto capture = Read(trace.Text());
  ASSERT_TRUE(capture.ok()) << capture.status();
  using LeftOut = std::vector<std::pair<std::string, std::uint64_t>>;
  EXPECT_EQ(capture->left_out,
            (LeftOut{{"receive posted by a device", 1}, {"write posted by a device", 2}}));
}

// Every prefix of a trace is refused, and none does harm.
TEST(ReadCaptureTest, TruncatedTraceIsRefused) {
  const std::string text = Sound().Text();
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    EXPECT_FALSE(Read(text.substr(0, length)).ok()) << length;
  }
}

// With any of its bytes wrong it is refused or read, and never more.
TEST(ReadCaptureTest, FlippedBytesDoNoHarm) {
  const std::string text = Sound().Text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string bad = text;
    bad[at] = static_cast<char>(bad[at] ^ (at % 7 == 0 ? 0x80 : 1 << at % 6));
    const auto capture = Read(bad);
    EXPECT_FALSE(absl::StrContains(capture.status().message(), '\n'));
  }
}

struct Wrong {
  const char* what;
  const char* with;
  const char* complaint;
};

TEST(ReadCaptureTest, WrongArgumentsAreNamed) {
  const std::vector<Wrong> cases = {
      {R"("format":"drydock-trace")", R"("format":"other")", "not a trace of Drydock"},
      {R"("version":1)", R"("version":2)", "a trace of version 2"},
      {R"("dropped":0)", R"("dropped":3)", "3 events did not fit"},
      {R"("offset":64,"length":8)", R"("offset":65530,"length":8)", "past the region's 65536"},
      {R"("offset":64,"length":8)", R"("offset":18446744073709551615,"length":8)", "past the"},
      {R"("offset":64,"length":8)", R"("offset":0,"length":99999999999)", "at most 1073741824"},
      {R"("offset":64)", R"("offset":-1)", "\"offset\" is no whole number"},
      {R"("offset":64)", R"("offset":1.5)", "\"offset\" is no whole number"},
      {R"("length":65536)", R"("length":4294967297)", "\"length\" is 4294967297: at most"},
      {R"("length":65536)", R"("length":0)", "\"length\" is 0"},
      {R"("length":65536)", R"("length":3221225472)", "all memory together"},
      {R"("endpoint":13)", R"("endpoint":14)", "is 14, which is no open endpoint"},
      {R"("endpoint":13)", R"("endpoint":23)", "is 23, which is no open endpoint"},
      {R"("endpoint":13)", R"("endpoint":"me")", "\"endpoint\" is no whole number"},
      {R"("send_queue":11)", R"("send_queue":13)", "is 13, which is no open completion queue"},
      {R"("kind":"send")", R"("kind":"shout")", "\"kind\" is no kind of operation"},
      {R"("kind":"send")", R"("kind":"write")", "\"remote\" is missing"},
      {R"("kind":"send")", R"("kind":["send"])", "\"kind\" is no text"},
      {R"("address":"0a000001")", R"("address":"0a0")", "is no hexadecimal address"},
      {R"("data":"YWJjZGVmZ2g=")", R"("data":"YWJj")", "holds 3 bytes of 8"},
      {R"("data":"YWJjZGVmZ2g=")", R"("data":"#")", "is not base64"},
      {R"("statuses":["ok"])", R"("statuses":["fine"])", "no error is called fine"},
      {R"("statuses":["ok"])", R"("statuses":["ok","ok"])", "not as many"},
      {R"("ops":[1])", R"("ops":[1,1])", "not as many"},
      {R"("ops":[1])", R"("ops":[77])", "holds 77, which was not posted"},
      {R"("ops":[1])", R"("ops":[null])", "holds what is no number"},
      {R"("ts":3.000)", R"("ts":"soon")", "\"ts\" is no time"},
      {R"("ts":3.000)", R"("ts":-3)", "\"ts\" is no time"},
      {R"("ts":3.000)", R"("ts":1e300)", "\"ts\" is no time"},
      {R"("event":"open","object":"peer")", R"("event":"ajar","object":"peer")",
       "neither open nor"},
      {R"("type":"reliable")", R"("type":"datagram")", "is not reliable"},
      {R"("pid":1)", R"("pid":[[[[[[[[[[[[1]]]]]]]]]]]])", "nested too deeply"},
      {R"("ph":"X")", R"("ph":7)", "\"ph\" is no text"},
      {R"("args":{)", R"("args":7,"x":{)", "\"args\" is no object"},
  };
  const std::string text = Sound().Text();
  ASSERT_TRUE(Read(text).ok());
  for (const Wrong& wrong : cases) {
    const std::string bad = absl::StrReplaceAll(text, {{wrong.what, wrong.with}});
    ASSERT_NE(bad, text) << wrong.what;
    const auto capture = Read(bad);
    ASSERT_FALSE(capture.ok()) << wrong.with;
    EXPECT_THAT(std::string(capture.status().message()), HasSubstr(wrong.complaint));
    EXPECT_THAT(std::string(capture.status().message()), ::testing::StartsWith("a.json: "));
    EXPECT_FALSE(absl::StrContains(capture.status().message(), '\n'));
  }
}

TEST(ReadCaptureTest, TwiceIsRefused) {
  TraceText post = Sound();
  post.Post(1, 9, 1, "send", 0, 8);
  EXPECT_THAT(std::string(Read(post.Text()).status().message()), HasSubstr("for the second time"));
  TraceText poll = Sound();
  poll.Poll(1, 9, {1});
  EXPECT_THAT(std::string(Read(poll.Text()).status().message()), HasSubstr("for the second time"));
  TraceText open = Sound();
  open.Open(1, 9, "nic", 14, R"("name":"n")");
  EXPECT_THAT(std::string(Read(open.Text()).status().message()), HasSubstr("which is open"));
  TraceText close = Sound();
  close.Close(1, 9, "region", 14);
  close.Close(1, 10, "region", 14);
  EXPECT_THAT(std::string(Read(close.Text()).status().message()), HasSubstr("no open region"));
}

TEST(ReadCaptureTest, WritesHaveOneSegment) {
  TraceText trace = Sound();
  trace.Slice(1, 9, "post",
              R"("op":9,"kind":"write","endpoint":13,"peer":0,"segments":[{"address":"0x1",)"
              R"("length":8},{"address":"0x9","length":8}])" +
                  TraceText::At(2, 0));
  EXPECT_THAT(std::string(Read(trace.Text()).status().message()), HasSubstr("more than one"));
}

TEST(ReadCaptureTest, PeerWhoseTraceIsMissingIsNamed) {
  TraceText trace({1});
  trace.Post(1, 3, 1, "send", 0, 8);
  trace.Poll(1, 5, {1});
  EXPECT_THAT(std::string(Read(trace.Text()).status().message()),
              HasSubstr("(0a000002) that is in none of these traces"));
}

TEST(ReadCaptureTest, OtherJsonIsNoTrace) {
  for (const char* text :
       {"", "[]", "{}", "null", "7", "\"text\"", R"({"traceEvents":[]})", R"({"traceEvents":[7]})",
        R"({"traceEvents":{"a":{}}})", R"({"otherData":7,"traceEvents":[]})"}) {
    EXPECT_FALSE(Read(text).ok()) << text;
  }
}

}  // namespace
}  // namespace drydock::sim::capture
