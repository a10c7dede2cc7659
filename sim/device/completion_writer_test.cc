// When a device writes its completion entries, and to which queue.

#include "drydock/sim/device/completion_writer.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using sim::CompletionVerdict;
using sim::DeviceCompletion;
using Lines = std::vector<std::string>;
using Queue = sim::CompletionWriter::Queue;
using When = CompletionVerdict::When;

struct CompletionWriterTest : testing::Test {
  void Write(std::uint16_t id) { writer.Write(queue_pair, Queue::kSend, Of(id)); }
  void Write(std::uint16_t id, const CompletionVerdict& verdict) {
    writer.Write(queue_pair, Queue::kSend, Of(id), verdict);
  }
  DeviceCompletion Of(std::uint16_t id) const {
    return {.request_id = id, .queue_pair = queue_pair.number};
  }
  // Request ids of the entries that were written to the send queue since the last call.
  std::vector<std::uint64_t> Written() {
    std::vector<std::uint64_t> ids;
    for (const Entry& entry : Bench::Sent(queue_pair)) ids.push_back(entry.request_id);
    return ids;
  }

  Bench bench;
  BenchNic& nic = bench.AddNic();
  sim::QueuePair& queue_pair = nic.OpenQueuePair();
  sim::CompletionWriter writer{nic.state, bench.around};
};

using Ids = std::vector<std::uint64_t>;

TEST_F(CompletionWriterTest, WritesToTheQueueThatIsNamedAndWakesTheProgram) {
  writer.Write(queue_pair, Queue::kSend, Of(7));
  EXPECT_TRUE(bench.timeline.TakeWake());
  writer.Write(queue_pair, Queue::kReceive,
               {.request_id = 8, .status = 5, .kind = fabric::OperationKind::kReceive});
  const std::vector<Entry> sent = Bench::Sent(queue_pair);
  const std::vector<Entry> received = Bench::Received(queue_pair);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].request_id, 7u);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].request_id, 8u);
  EXPECT_EQ(static_cast<int>(received[0].status), 5);
  EXPECT_EQ(bench.told.Take(), (Lines{"reported 7: 0", "reported 8: 5"}));
}

TEST_F(CompletionWriterTest, EntryThatFindsItsQueueFullIsLostAndCounted) {
  for (std::uint16_t id = 0; id < 16; ++id) Write(id);
  EXPECT_EQ(nic.state.counters.completions_lost, 0u);
  bench.told.Take();
  Write(16);
  EXPECT_EQ(nic.state.counters.completions_lost, 1u);
  EXPECT_EQ(bench.told.Take(), Lines{"lost 16: 0"});
  EXPECT_EQ(Written().size(), 16u);
  Write(17);
  EXPECT_EQ(Written(), Ids{17});
}

TEST_F(CompletionWriterTest, EntryThatLapsAQueueWithoutADoorbellIsCountedAndTold) {
  sim::QueuePair& blind = nic.OpenQueuePair(
      {.send_ring = std::make_shared<sim::CompletionRing>(9, 9, 4, nullptr, false)});
  for (std::uint16_t id = 0; id < 4; ++id) writer.Write(blind, Queue::kSend, Of(id));
  bench.told.Take();
  writer.Write(blind, Queue::kSend, Of(4));
  EXPECT_EQ(nic.state.counters.completions_lost, 1u);
  EXPECT_EQ(bench.told.Take(), Lines{"overwrote 4: 0"});
  EXPECT_TRUE(Bench::Sent(blind).empty());
}

TEST_F(CompletionWriterTest, VerdictWithoutADelayWritesAtOnceAsOftenAsItSays) {
  Write(7, {});
  EXPECT_EQ(Written(), Ids{7});
  Write(8, {.repeats = 2});
  EXPECT_EQ(Written(), (Ids{8, 8, 8}));
  EXPECT_EQ(bench.told.Count("withheld 8"), 0u);
}

TEST_F(CompletionWriterTest, LateEntryIsWrittenWhenItsDelayIsOver) {
  Write(7, {.when = When::kLater, .delay = 100us});
  EXPECT_EQ(bench.told.Take(), Lines{"withheld 7"});
  bench.RunFor(99us);
  EXPECT_TRUE(Written().empty());
  EXPECT_FALSE(bench.timeline.TakeWake());
  bench.RunFor(1us);
  EXPECT_EQ(Written(), Ids{7});
  EXPECT_TRUE(bench.timeline.TakeWake());
}

TEST_F(CompletionWriterTest, RepeatsOfALateEntryComeAtOnce) {
  Write(7, {.when = When::kLater, .delay = 100us, .repeats = 2});
  EXPECT_EQ(Written(), (Ids{7, 7}));
  bench.RunFor(1ms);
  EXPECT_EQ(Written(), Ids{7});
}

TEST_F(CompletionWriterTest, LateEntryOfAQueuePairThatIsGoneIsNotWritten) {
  const std::shared_ptr<sim::CompletionRing> ring = queue_pair.send_ring;
  const std::uint16_t number = queue_pair.number;
  Write(7, {.when = When::kLater, .delay = 100us});
  nic.state.queue_pairs.Erase(number);
  sim::QueuePair& successor = nic.OpenQueuePair({.send_ring = ring});
  ASSERT_EQ(successor.number, number);  // the same number, and another key
  bench.RunFor(1ms);
  EXPECT_TRUE(Bench::Take(*ring).empty());
}

TEST_F(CompletionWriterTest, LateEntryOfADeadNicIsNotWritten) {
  Write(7, {.when = When::kLater, .delay = 100us});
  nic.state.port.alive = false;
  bench.RunFor(1ms);
  EXPECT_TRUE(Written().empty());
}

TEST_F(CompletionWriterTest, HeldEntryComesAfterSoManyOthersOfItsRing) {
  sim::QueuePair& other = nic.OpenQueuePair();
  Write(7, {.when = When::kAfterOthers, .delay = 1ms, .others = 2});
  writer.Write(other, Queue::kSend, Of(1));
  writer.Write(queue_pair, Queue::kReceive, Of(2));
  writer.Write(other, Queue::kSend, Of(3));
  EXPECT_TRUE(Written().empty());
  Write(4);
  EXPECT_EQ(Written(), Ids{4});
  Write(5);
  EXPECT_EQ(Written(), (Ids{5, 7}));
  bench.RunFor(10ms);  // its time comes as well, and it was written
  EXPECT_TRUE(Written().empty());
}

TEST_F(CompletionWriterTest, HeldEntryComesAfterItsDelayWhereOthersAreMissing) {
  Write(7, {.when = When::kAfterOthers, .delay = 1ms, .others = 2});
  Write(8);
  bench.RunFor(999us);
  EXPECT_EQ(Written(), Ids{8});
  bench.RunFor(1us);
  EXPECT_EQ(Written(), Ids{7});
  Write(9);
  EXPECT_EQ(Written(), Ids{9});
}

TEST_F(CompletionWriterTest, HeldEntryThatIsWrittenCountsForOthers) {
  Write(1, {.when = When::kAfterOthers, .delay = 1ms, .others = 2});
  Write(2, {.when = When::kAfterOthers, .delay = 1ms, .others = 1});
  Write(3);
  EXPECT_EQ(Written(), (Ids{3, 2, 1}));
}

TEST_F(CompletionWriterTest, QueuePairsThatShareARingCountForEachOther) {
  sim::QueuePair& other = nic.OpenQueuePair({.send_ring = queue_pair.send_ring});
  Write(7, {.when = When::kAfterOthers, .delay = 1ms, .others = 1});
  writer.Write(other, Queue::kSend, Of(8));
  EXPECT_EQ(Written(), (Ids{8, 7}));
}

TEST_F(CompletionWriterTest, LostEntryIsNeverWrittenAndAnOverrunIsCountedAsWell) {
  Write(7, {.when = When::kNever});
  EXPECT_EQ(nic.state.counters.completions_lost, 0u);
  Write(8, {.when = When::kOverrun});
  EXPECT_EQ(nic.state.counters.completions_lost, 1u);
  bench.RunFor(1s);
  EXPECT_TRUE(Written().empty());
  EXPECT_EQ(bench.told.Take(), (Lines{"withheld 7", "withheld 8"}));
}

}  // namespace
}  // namespace drydock::sim_testing
