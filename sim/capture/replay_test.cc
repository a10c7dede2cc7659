// Replays of captures that were written by hand: memory, order, failures, several files.

#include "drydock/sim/capture/replay.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "drydock/fabric/capture/bytes_digest.h"
#include "drydock/sim/capture/capture.h"
#include "drydock/sim/capture/join.h"
#include "drydock/sim/capture/machine.h"
#include "drydock/sim/capture/read_capture.h"
#include "drydock/sim/capture/steer.h"
#include "drydock/sim/capture/testing/trace_text.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/rdm/sim_rdm_fabric.h"
#include "drydock/sim/world/world.h"
#include "gtest/gtest.h"

namespace drydock::sim::capture {
namespace {

constexpr std::uint64_t kBytes = TraceText::kRegionBytes;

// Memory as a test expects it.
class Bytes {
 public:
  Bytes& Put(std::uint64_t offset, const std::string& bytes) {
    bytes_.replace(offset, bytes.size(), bytes);
    return *this;
  }
  std::string Digest() const { return fabric::capture::DigestOf(std::as_bytes(std::span(bytes_))); }
  std::string Closing() const { return R"(,"digest":")" + Digest() + "\""; }

 private:
  std::string bytes_ = std::string(kBytes, '\0');
};

std::string Pattern(char first, std::size_t length) {
  std::string bytes(length, '\0');
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(first + i % 23);
  return bytes;
}

Capture Joined(const std::vector<std::string>& texts) {
  std::vector<TraceFile> files;
  for (const std::string& text : texts) files.push_back({"file", text});
  auto capture = ReadCapture(files);
  EXPECT_TRUE(capture.ok()) << capture.status();
  if (!capture.ok()) return {};
  EXPECT_TRUE(Join(*capture).ok()) << Join(*capture);
  return *std::move(capture);
}

SteerOptions Options(std::uint64_t seed = 1) {
  SteerOptions options;
  options.replay.seed = seed;
  options.replay.profile = &Profiles().front();
  return options;
}

Steered Steered1(const std::vector<std::string>& texts, const SteerOptions& options = Options()) {
  auto steered = Steer(Joined(texts), options);
  EXPECT_TRUE(steered.ok()) << steered.status();
  return steered.ok() ? *std::move(steered) : Steered{};
}

// A write with immediate, a message and a read, and the bytes of both memories in the end.
TraceText Everything() {
  TraceText trace;
  const std::string written = Pattern('a', 5000);
  const std::string sent = Pattern('A', 300);
  const std::string was = Pattern('0', 700);
  trace.Post(2, 2, 1, "receive", 20000, 4096);
  trace.Post(1, 3, 1, "write", 100, 5000,
             TraceText::At(2, 8000) + R"(,"imm":7)" + TraceText::Data(written));
  trace.Post(1, 3.5, 2, "send", 6000, 300, TraceText::Data(sent));
  trace.Poll(2, 10, {0, 1});
  trace.Poll(1, 11, {1, 2});
  trace.Post(1, 12, 3, "read", 30000, 700, TraceText::At(2, 40000));
  trace.Poll(1, 15, {3}, {}, R"(,"reads":[{"op":3)" + TraceText::Data(was) + "}]");
  trace.Close(1, 20, "region", 14,
              Bytes().Put(100, written).Put(6000, sent).Put(30000, was).Closing());
  trace.Close(2, 21, "region", 24,
              Bytes().Put(8000, written).Put(20000, sent).Put(40000, was).Closing());
  return trace;
}

TEST(ReplayTest, WriteSendAndReadEndInTheSameMemory) {
  for (const Timing timing : {Timing::kRecorded, Timing::kFast}) {
    SteerOptions options = Options();
    options.replay.timing = timing;
    const Steered steered = Steered1({Everything().Text()}, options);
    ASSERT_EQ(steered.regions.size(), 2u);
    EXPECT_EQ(steered.regions[0].replayed, steered.regions[0].recorded);
    EXPECT_EQ(steered.regions[1].replayed, steered.regions[1].recorded);
    EXPECT_TRUE(steered.same_memory());
    EXPECT_TRUE(steered.same_order());
    EXPECT_TRUE(steered.statuses.empty());
    EXPECT_TRUE(steered.run.missing.empty());
    EXPECT_TRUE(steered.run.findings.empty()) << steered.run.findings.front();
  }
}

// Two tagged messages are taken in the other order, by their tags; one receive ignores bits.
TraceText Tagged(const std::string& first, const std::string& second) {
  TraceText trace;
  trace.Post(2, 2, 1, "tagged receive", 1000, 500, R"(,"tag":"0x22","ignore":"0x0")");
  trace.Post(2, 2, 2, "tagged receive", 3000, 500, R"(,"tag":"0x10","ignore":"0xf")");
  trace.Post(1, 3, 1, "tagged send", 0, 400, R"(,"tag":"0x11")" + TraceText::Data(first));
  trace.Post(1, 4, 2, "tagged send", 500, 300,
             R"(,"tag":"0x22","imm":5)" + TraceText::Data(second));
  trace.Poll(2, 10, {2, 1});
  trace.Poll(1, 11, {1, 2});
  trace.Close(2, 21, "region", 24, Bytes().Put(3000, first).Put(1000, second).Closing());
  return trace;
}

SteerOptions OnEfa() {
  SteerOptions options = Options();
  options.replay.open = [](World& world, sim::Node& node) {
    return rdm::OpenSimRdmFabric(world, node);
  };
  return options;
}

TEST(ReplayTest, TaggedMessagesFindTheirReceives) {
  const Steered steered = Steered1({Tagged(Pattern('a', 400), Pattern('A', 300)).Text()}, OnEfa());
  EXPECT_TRUE(steered.same_memory());
  EXPECT_TRUE(steered.same_order());
  EXPECT_TRUE(steered.statuses.empty());
  EXPECT_TRUE(steered.run.missing.empty());
}

TEST(ReplayTest, ATagThatNobodyWaitsForIsMissed) {
  TraceText trace;
  trace.Post(2, 2, 1, "tagged receive", 0, 100, R"(,"tag":"0x2","ignore":"0x0")");
  trace.Post(1, 3, 1, "tagged send", 0, 100, R"(,"tag":"0x3")");
  trace.Poll(2, 10, {1});
  const Steered steered = Steered1({trace.Text()}, OnEfa());
  ASSERT_EQ(steered.statuses.size(), 1u);
  EXPECT_EQ(steered.statuses[0].replayed, "none");
}

TEST(ReplayTest, OtherMemoryIsToldApart) {
  TraceText trace;
  trace.Post(1, 3, 1, "write", 0, 64, TraceText::At(2, 0) + TraceText::Data(Pattern('a', 64)));
  trace.Poll(1, 5, {1});
  trace.Close(2, 9, "region", 24, Bytes().Put(0, Pattern('b', 64)).Closing());
  const Steered steered = Steered1({trace.Text()});
  EXPECT_FALSE(steered.same_memory());
}

TEST(ReplayTest, WithoutDigestsNothingIsTheSame) {
  TraceText trace;
  trace.Post(1, 3, 1, "write", 0, 64, TraceText::At(2, 0) + TraceText::Data(Pattern('a', 64)));
  trace.Poll(1, 5, {1});
  EXPECT_FALSE(Steered1({trace.Text()}).same_memory());
}

TEST(ReplayTest, RecordedTimesAreKeptAndFastOnesAreNot) {
  TraceText trace;
  trace.Post(1, 3000, 1, "write", 0, 64, TraceText::At(2, 0));
  trace.Poll(1, 3010, {1});
  SteerOptions options = Options();
  const Steered recorded = Steered1({trace.Text()}, options);
  EXPECT_GE(recorded.run.simulated, std::chrono::microseconds(3000));
  options.replay.timing = Timing::kFast;
  const Steered fast = Steered1({trace.Text()}, options);
  EXPECT_LT(fast.run.simulated, std::chrono::microseconds(1000));
}

TEST(ReplayTest, MissingDataIsFilledByTheOperationsNumber) {
  TraceText trace;
  trace.Post(1, 3, 5, "write", 0, 64, TraceText::At(2, 0));
  trace.Poll(1, 5, {5});
  std::string filled(64, '\0');
  FillFor(5, reinterpret_cast<std::byte*>(filled.data()), filled.size());
  trace.Close(2, 9, "region", 24, Bytes().Put(0, filled).Closing());
  EXPECT_TRUE(Steered1({trace.Text()}).same_memory());
}

// Their patterns differ, and the program may have sent the same bytes twice.
TEST(ReplayTest, TwoWritesOfOneBufferWithoutDataAreNoRace) {
  TraceText trace;
  trace.Post(1, 3, 1, "write", 0, 20000, TraceText::At(2, 0));
  trace.Post(1, 3, 2, "write", 0, 20000, TraceText::At(2, 20000));
  trace.Poll(1, 50, {1, 2});
  EXPECT_TRUE(Steered1({trace.Text()}).run.findings.empty());
}

TEST(ReplayTest, TwoWritesOfOneBufferThatChangedAreARace) {
  TraceText trace;
  trace.Post(1, 3, 1, "write", 0, 20000,
             TraceText::At(2, 0) + TraceText::Data(Pattern('a', 20000)));
  trace.Post(1, 3, 2, "write", 0, 20000,
             TraceText::At(2, 20000) + TraceText::Data(Pattern('b', 20000)));
  trace.Poll(1, 50, {1, 2});
  const std::vector<std::string> findings = Steered1({trace.Text()}).run.findings;
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].rfind("buffer-race", 0), 0u) << findings[0];
}

TEST(ReplayTest, BytesThatARegionBeganWithAreThere) {
  TraceText trace;
  const std::string began = Pattern('x', 128);
  trace.Slice(2, 1, "object",
              R"("event":"open","object":"region","id":90,"nic":"eth0","length":128,)"
              R"("memory":"0x10","address":"0x10","key":"0x77")" +
                  TraceText::Data(began));
  std::string in_the_end = began;
  in_the_end.replace(10, 3, "abc");
  trace.Post(1, 3, 1, "write", 0, 3,
             R"(,"remote":{"address":"0x1a","key":"0x77"})" + TraceText::Data("abc"));
  trace.Poll(1, 9, {1});
  trace.Close(
      2, 12, "region", 90,
      R"(,"digest":")" + fabric::capture::DigestOf(std::as_bytes(std::span(in_the_end))) + "\"");
  EXPECT_TRUE(Steered1({trace.Text()}).same_memory());
}

// Small operations end in any order on a device; here they end in the captured order: of 5 orders,
// one may come by itself, and not all.
TEST(ReplayTest, CompletionsComeInTheRecordedOrder) {
  const std::vector<std::vector<int>> orders = {
      {1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}, {3, 1, 5, 2, 4}, {2, 4, 1, 5, 3}, {4, 5, 1, 2, 3}};
  std::uint64_t held = 0;
  for (const std::vector<int>& order : orders) {
    TraceText trace;
    for (int op = 1; op <= 5; ++op) {
      trace.Post(1, 3, op, "write", 0, 4096, TraceText::At(2, 4096 * op));
    }
    for (std::size_t i = 0; i < order.size(); ++i) trace.Poll(1, 30. + i, {order[i]});
    const Steered steered = Steered1({trace.Text()});
    EXPECT_TRUE(steered.same_order());
    EXPECT_LE(steered.attempts, 6u);
    held += steered.held;
  }
  EXPECT_GE(held, 4u);
}

TEST(ReplayTest, OrderIsLeftAloneIfNobodyWantsIt) {
  TraceText trace;
  for (int op = 1; op <= 5; ++op) trace.Post(1, 3, op, "write", 0, 64, TraceText::At(2, 64 * op));
  trace.Poll(1, 30, {5, 3, 4, 1, 2});
  SteerOptions options = Options();
  options.keep_order = false;
  const Steered steered = Steered1({trace.Text()}, options);
  EXPECT_EQ(steered.attempts, 1u);
  EXPECT_EQ(steered.held, 0u);
  EXPECT_FALSE(steered.same_order());
}

// Completions that peers cause are held back as well: a message that was read after an immediate.
TEST(ReplayTest, ArrivalsComeInTheRecordedOrder) {
  for (const std::vector<int>& order : {std::vector<int>{0, 1, 0}, {1, 0, 0}, {0, 0, 1}}) {
    TraceText trace;
    trace.Post(2, 2, 1, "receive", 0, 4096);
    trace.Post(1, 3, 1, "write", 0, 64, TraceText::At(2, 8192) + R"(,"imm":1)");
    trace.Post(1, 3, 2, "write", 0, 64, TraceText::At(2, 12288) + R"(,"imm":2)");
    trace.Post(1, 3, 3, "send", 0, 64);
    trace.Poll(2, 20, order);
    EXPECT_TRUE(Steered1({trace.Text()}).same_order());
  }
}

// A wrong key fails by itself. A status that nothing here would give is made by a rule, and whether
// the operation's bytes had landed all the same is told by the memory.
TEST(ReplayTest, FailuresAreTheSame) {
  for (const bool landed : {false, true}) {
    TraceText trace;
    trace.Post(
        1, 3, 1, "write", 0, 64,
        R"(,"remote":{"address":"0x1000","key":"0xbad"})" + TraceText::Data(Pattern('z', 64)));
    trace.Post(1, 4, 2, "write", 0, 64, TraceText::At(2, 0) + TraceText::Data(Pattern('z', 64)));
    trace.Poll(1, 50, {1, 2}, {"RemoteAccess", "PeerUnresponsive"});
    trace.Close(2, 90, "region", 24,
                (landed ? Bytes().Put(0, Pattern('z', 64)) : Bytes()).Closing());
    const Steered steered = Steered1({trace.Text()});
    EXPECT_TRUE(steered.statuses.empty());
    EXPECT_EQ(steered.failed, 1u);
    EXPECT_TRUE(steered.same_memory());
  }
}

TEST(ReplayTest, FailureThatNoFaultMakesIsReported) {
  TraceText trace;
  trace.Post(1, 4, 1, "write", 0, 64, TraceText::At(2, 0));
  trace.Poll(1, 50, {1}, {"Other"});
  const Steered steered = Steered1({trace.Text()});
  ASSERT_EQ(steered.statuses.size(), 1u);
  EXPECT_EQ(steered.statuses[0].recorded, "Other");
  EXPECT_EQ(steered.statuses[0].replayed, "ok");
}

TEST(ReplayTest, RegionThatWasClosedBeforeTheWriteIsClosed) {
  for (const Timing timing : {Timing::kRecorded, Timing::kFast}) {
    TraceText trace;
    trace.Close(2, 2, "region", 24, Bytes().Closing());
    trace.Post(1, 30, 1, "write", 0, 64, TraceText::At(2, 0) + TraceText::Data(Pattern('z', 64)));
    trace.Poll(1, 50, {1}, {"RemoteAccess"});
    SteerOptions options = Options();
    options.replay.timing = timing;
    const Steered steered = Steered1({trace.Text()}, options);
    EXPECT_TRUE(steered.statuses.empty());
    EXPECT_EQ(steered.failed, 0u);  // by itself
    EXPECT_TRUE(steered.same_memory());
  }
}

// A peer of which there is no trace may be one that never answered.
TEST(ReplayTest, PeerOfNoTraceIsNobody) {
  TraceText trace({1});
  trace.Post(1, 4, 1, "write", 0, 64, TraceText::At(2, 0));
  trace.Poll(1, 50, {1}, {"Unreachable"});
  EXPECT_TRUE(Steered1({trace.Text()}).statuses.empty());
}

TEST(ReplayTest, CompletionThatNeverComesEndsNothing) {
  TraceText trace;
  trace.Post(2, 2, 1, "receive", 0, 4096);
  trace.Poll(2, 20, {1});  // of a message that was never sent
  trace.Post(2, 30, 2, "receive", 4096, 4096);
  const Steered steered = Steered1({trace.Text()});
  ASSERT_EQ(steered.run.missing.size(), 1u);
  EXPECT_EQ(steered.run.missing[0].operation, 0u);
  ASSERT_EQ(steered.statuses.size(), 1u);
  EXPECT_EQ(steered.statuses[0].replayed, "none");
  EXPECT_FALSE(steered.same_order());
}

// Clocks of two processes begin at their own first event: what one sent, the other must not have
// seen before, however far they are apart.
TEST(ReplayTest, TwoFilesOfOneRun) {
  for (const double later : {0., 5000., 250000.}) {
    TraceText server({1});
    TraceText client({2});
    const std::string request = Pattern('r', 100);
    const std::string page = Pattern('p', 4096);
    server.Post(1, 2, 1, "receive", 0, 4096);
    client.Post(2, 2, 1, "send", 0, 100, TraceText::Data(request));
    client.Poll(2, 3, {1});
    server.Poll(1, later + 10, {1});
    server.Post(1, later + 20, 2, "write", 8192, 4096,
                TraceText::At(2, 4096) + R"(,"imm":9)" + TraceText::Data(page));
    server.Poll(1, later + 30, {2});
    client.Poll(2, 40, {0});
    client.Close(2, 50, "region", 24, Bytes().Put(0, request).Put(4096, page).Closing());
    server.Close(1, later + 60, "region", 14, Bytes().Put(0, request).Put(8192, page).Closing());
    for (const bool first : {true, false}) {
      std::vector<std::string> texts = {server.Text(), client.Text()};
      if (!first) std::swap(texts[0], texts[1]);
      const Steered steered = Steered1(texts);
      EXPECT_TRUE(steered.same_memory());
      EXPECT_TRUE(steered.same_order());
      EXPECT_TRUE(steered.run.missing.empty());
      // The clocks are aligned: neither machine waits for the other one's beginning. A packet may
      // be lost and come 100 us later.
      EXPECT_LT(steered.run.simulated, std::chrono::microseconds(static_cast<int>(later) + 300));
    }
  }
}

void ExpectWhatArrivedWasSentJustBefore(const std::string& tagged, const std::string& tag,
                                        const std::string& ignore) {
  for (const double later : {0., 5000., 250000.}) {
    TraceText server({1});
    TraceText client({2});
    server.Post(1, 2, 1, tagged + "receive", 0, 4096, tag + ignore);
    client.Post(2, 900, 1, tagged + "send", 0, 100, tag);
    server.Poll(1, later + 10, {1});
    server.Post(1, later + 20, 2, "write", 0, 64, TraceText::At(2, 0) + R"(,"imm":9)");
    client.Poll(2, 940, {0});
    for (const bool first : {true, false}) {
      std::vector<std::string> texts = {server.Text(), client.Text()};
      if (!first) std::swap(texts[0], texts[1]);
      const Capture capture = Joined(texts);
      ASSERT_EQ(capture.nodes.size(), 2u);
      const Node& of_server = capture.nodes[first ? 0 : 1];
      const Node& of_client = capture.nodes[first ? 1 : 0];
      const coro::Duration sent = of_client.operations[0].posted;
      const coro::Duration received = of_server.steps[of_server.steps.size() - 2].time;
      const coro::Duration written = of_server.operations[1].posted;
      const coro::Duration announced = of_client.steps.back().time;
      EXPECT_LE(sent, received);
      EXPECT_LT(received, written);
      EXPECT_LE(written, announced);
      // As on its own clock; a poll ends a nanosecond after it began.
      EXPECT_EQ(announced - sent, std::chrono::nanoseconds(40001));
    }
  }
}

// A server that was started again has its old address, and a trace of its own, given in any order.
TEST(JoinTest, OfTwoLivesOfAnAddressTheLaterOneIsMeant) {
  TraceText client({2});
  client.Close(2, 150, "peer", 25);
  client.Open(
      2, 200, "peer", 26,
      absl::StrCat(R"("address_vector":22,"peer":0,"address":")", TraceText::Address(1), "\""));
  for (const Index later : {Index{0}, Index{1}}) {
    const std::vector<TraceFile> files = {{"server", TraceText({1}).Text()},
                                          {"server", TraceText({1}).Text()},
                                          {"client", client.Text()}};
    auto capture = ReadCapture(files);
    ASSERT_TRUE(capture.ok()) << capture.status();
    capture->nodes[later].endpoints[0].opened = std::chrono::microseconds(100);
    ASSERT_TRUE(Join(*capture).ok());
    EXPECT_EQ(capture->nodes[2].peers[0].endpoint.node, 1 - later);
    EXPECT_EQ(capture->nodes[2].peers[1].endpoint.node, later);
  }
}

TEST(JoinTest, WhatArrivedWasSentJustBefore) { ExpectWhatArrivedWasSentJustBefore("", "", ""); }

TEST(JoinTest, WhatArrivedWithATagWasSentJustBefore) {
  ExpectWhatArrivedWasSentJustBefore("tagged ", R"(,"tag":"0x1")", R"(,"ignore":"0x0")");
}

// Clocks may drift so that no shift is right. Then one machine has to go first.
TEST(ReplayTest, ClocksThatDisagreeCostNothing) {
  TraceText server({1});
  TraceText client({2});
  server.Post(1, 2, 1, "receive", 0, 4096);
  client.Post(2, 2, 1, "send", 0, 100);
  client.Poll(2, 3, {1});
  server.Poll(1, 10, {1});
  server.Region(1, 90, 4096, 11, R"(,"zero":true)");
  server.Post(1, 20, 2, "write", 8192, 64, TraceText::At(2, 4096) + R"(,"imm":9)");
  server.Poll(1, 30, {2});
  client.Poll(2, 4, {0});  // 16 us too early, beside the first message
  const Steered steered = Steered1({server.Text(), client.Text()});
  EXPECT_TRUE(steered.run.missing.empty());
  EXPECT_TRUE(steered.same_order());
}

TEST(ReplayTest, OneBufferRegisteredTwiceIsOneBuffer) {
  TraceText trace;
  // The second half of machine 2's region, under a key of its own.
  trace.Open(
      2, 1, "region", 90,
      absl::StrFormat(R"("nic":"eth0","length":%d,"memory":"0x%x","address":"0x0","key":"0x77")",
                      kBytes / 2, TraceText::Remote(2) + kBytes / 2));
  trace.Post(1, 3, 1, "write", 0, 64,
             R"(,"remote":{"address":"0x10","key":"0x77"})" + TraceText::Data(Pattern('a', 64)));
  trace.Poll(1, 9, {1});
  trace.Close(2, 12, "region", 24, Bytes().Put(kBytes / 2 + 16, Pattern('a', 64)).Closing());
  EXPECT_TRUE(Steered1({trace.Text()}).same_memory());
}

// Neither of the two holds the other, and the one that begins first was registered last.
TEST(ReplayTest, BuffersThatOverlapShareWhatTheyShare) {
  TraceText trace;
  trace.Open(
      2, 1, "region", 90,
      absl::StrFormat(R"("nic":"eth0","length":%d,"memory":"0x%x","address":"0x0","key":"0x77")",
                      kBytes, TraceText::Remote(2) - kBytes / 2));
  trace.Post(1, 3, 1, "write", 0, 64,
             absl::StrFormat(R"(,"remote":{"address":"0x%x","key":"0x77"})", kBytes / 2 + 16) +
                 TraceText::Data(Pattern('a', 64)));
  trace.Poll(1, 9, {1});
  trace.Close(2, 12, "region", 24, Bytes().Put(16, Pattern('a', 64)).Closing());
  EXPECT_TRUE(Steered1({trace.Text()}).same_memory());
}

TEST(ReplayTest, ABufferThatIsRegisteredAgainIsZero) {
  TraceText trace;
  trace.Post(1, 3, 1, "write", 0, 64, TraceText::At(2, 16) + TraceText::Data(Pattern('a', 64)));
  trace.Poll(1, 9, {1});
  trace.Close(2, 12, "region", 24, Bytes().Put(16, Pattern('a', 64)).Closing());
  trace.Region(2, 90, kBytes, 13);
  trace.Close(2, 14, "region", 90, Bytes().Closing());
  EXPECT_TRUE(Steered1({trace.Text()}).same_memory());
}

// A program may register one buffer for each operation: there is no memory for each time.
TEST(MachineTest, ABufferThatIsRegisteredAgainLiesWhereItLayAndIsZero) {
  TraceText trace({1});
  trace.Close(1, 1, "region", 14);
  for (int time = 2; time <= 5; ++time) {
    trace.Region(1, 90 + time, kBytes, time);
    trace.Close(1, time + .5, "region", 90 + time);
  }
  const Capture capture = Joined({trace.Text()});
  ASSERT_EQ(capture.nodes.size(), 1u);
  World world(1, Profiles().front());
  auto machine = Machine::Open(capture.nodes[0], OpenSimFabric(world, world.AddNode("node 1")));
  ASSERT_TRUE(machine.ok()) << machine.status();
  const std::size_t times = capture.nodes[0].regions.size();
  ASSERT_EQ(times, 5u);
  for (Index time = 0; time < times; ++time) {
    ASSERT_TRUE((*machine)->OpenRegion(time).ok());
    const std::span<std::byte> bytes((*machine)->bytes(time), kBytes);
    EXPECT_EQ(bytes.data(), (*machine)->bytes(0));
    EXPECT_EQ(std::ranges::count(bytes, std::byte{0}), static_cast<std::ptrdiff_t>(kBytes));
    std::ranges::fill(bytes, std::byte{7});
    // Locked pages cannot be given back. Not everyone may lock some: then all times are alike.
    if (time == 2) static_cast<void>(mlock(bytes.data(), bytes.size()));
    (*machine)->CloseRegion(time);
  }
}

TEST(ReplayTest, ReplayIsAFunctionOfCaptureAndSeed) {
  const std::string text = Everything().Text();
  const Steered one = Steered1({text}, Options(3));
  EXPECT_EQ(Steered1({text}, Options(3)).run.digest, one.run.digest);
  EXPECT_NE(Steered1({text}, Options(4)).run.digest, one.run.digest);
}

TEST(ReplayTest, MoreNicsThanTheMachineHasAreRefused) {
  TraceText trace;
  for (int nic = 1; nic < 64; ++nic) {
    trace.Open(1, 1, "nic", 100 + nic, absl::StrFormat(R"("name":"eth%d")", nic));
  }
  const auto steered = Steer(Joined({trace.Text()}), Options());
  ASSERT_FALSE(steered.ok());
  EXPECT_NE(steered.status().message().find("take another --profile"), std::string::npos);
}

}  // namespace
}  // namespace drydock::sim::capture
