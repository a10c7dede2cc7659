// The rings of a simulated NIC as a device drives them, well and badly. One thread: the device's
// part and the NIC's by turns, so that every run is the same.

#include "drydock/gpu/gda/sim_queue.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "drydock/gpu/gda/bell_ringer.h"
#include "drydock/gpu/gda/queue/device_queue.h"
#include "drydock/gpu/gda/testing/test_bed.h"
#include "drydock/sim/testing/lab.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda {
namespace {

namespace efa = fabric::efa_queue;
using sim_testing::Fill;
using sim_testing::Holds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kSeed = 1;

// The stores of a device whose entries linger on their way, as they may on PCIe, while its
// doorbells do not.
struct LingeringStores {
  struct OnTheWay {
    void* slot;
    std::vector<unsigned char> bytes;
  };
  std::vector<OnTheWay>* entries = nullptr;
  bool fences = true;

  void Entry(void* slot, const void* entry, unsigned bytes) {
    const auto* const begin = static_cast<const unsigned char*>(entry);
    entries->push_back({slot, {begin, begin + bytes}});
  }
  void Arrive() {
    for (const OnTheWay& one : *entries) {
      std::memcpy(one.slot, one.bytes.data(), one.bytes.size());
    }
    entries->clear();
  }
  void Fence() {
    if (fences) Arrive();
  }
  void Bell(std::uint32_t* word, std::uint32_t value) { StoreBell(word, value); }
};

class SimQueueTest : public ::testing::Test {
 protected:
  SimQueueTest() : bed_(kSeed), view_(bed_.a.queue.View()), device_(view_, &bed_.a.state) {}

  efa::SendWork Write(std::uint16_t id, std::size_t offset = 0, std::uint32_t length = 64) {
    return WorkOf(bed_.a.WriteTo(bed_.b, offset, length), bed_.to_b, id);
  }
  // The entry `ahead` of the next one, as bytes.
  unsigned char* Slot(std::uint32_t ahead) {
    return static_cast<unsigned char*>(view_.send.entries) +
           std::size_t{(device_.posted() + ahead) & (view_.send.entry_count - 1)} *
               view_.send.entry_bytes;
  }
  void RingRaw(std::uint32_t value) {
    StoreBell(view_.send.bell.word, value);
    bed_.engine.Step();
  }
  // What the device polls, in order of the request ids.
  std::vector<efa::Completion> Poll() {
    std::vector<efa::Completion> all;
    efa::Completion done;
    while (device_.Poll(done) == PollResult::kOk) all.push_back(done);
    std::sort(all.begin(), all.end(),
              [](const auto& x, const auto& y) { return x.request_id < y.request_id; });
    return all;
  }
  std::vector<int> Statuses() {
    std::vector<int> statuses;
    for (const efa::Completion& done : Poll()) statuses.push_back(static_cast<int>(done.status));
    return statuses;
  }
  // Exactly this was found wrong, once.
  void ExpectFault(QueueFaultKind kind, std::uint32_t counter, const std::string& text) {
    EXPECT_THAT(
        bed_.a.queue.faults(),
        ElementsAre(AllOf(Field(&QueueFault::kind, kind), Field(&QueueFault::counter, counter),
                          Field(&QueueFault::text, HasSubstr(text)))));
    for (int i = 0; i < kQueueFaultKinds; ++i) {
      const auto other = static_cast<QueueFaultKind>(i);
      EXPECT_EQ(bed_.a.queue.count(other), other == kind ? 1u : 0u) << QueueFaultName(other);
    }
  }

  TestBed bed_;
  const QueueView& view_;
  DeviceQueue<> device_;
};

// ---- What works ----

TEST_F(SimQueueTest, WritesAndReadsGoBothWaysAroundTheRing) {
  const std::uint32_t rounds = 2 * view_.send.entry_count + 5;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    const bool reads = i % 3 == 2;
    const std::size_t offset = (i % 512) * 64;
    Fill((reads ? bed_.b : bed_.a).side.Bytes(offset, 64), i);
    efa::SendWork work = Write(static_cast<std::uint16_t>(i), offset);
    if (reads) work.operation = efa::Operation::kRead;
    ASSERT_EQ(device_.Post(work), PostResult::kOk) << i;
    device_.Ring();
    bed_.engine.Step();
    const std::vector<efa::Completion> done = Poll();
    ASSERT_EQ(done.size(), 1u) << i;
    EXPECT_EQ(done[0].request_id, i & 0xFFFF);
    ASSERT_EQ(done[0].status, efa::CompletionStatus::kOk) << i;
    ASSERT_TRUE(Holds((reads ? bed_.a : bed_.b).side.Bytes(offset, 64), i)) << i;
  }
  EXPECT_EQ(device_.in_flight(), 0u);
  EXPECT_THAT(bed_.a.queue.faults(), IsEmpty());
}

TEST_F(SimQueueTest, MessagesAndImmediatesReachTheOtherDevice) {
  DeviceQueue<> receiver(bed_.b.queue.View(), &bed_.b.state);
  efa::ReceiveWork receive;
  receive.request_id = 7;
  receive.segment_count = 1;
  receive.segments[0] = {100, bed_.b.lkey(),
                         reinterpret_cast<std::uint64_t>(bed_.b.side.memory().data() + 4096)};
  ASSERT_EQ(receiver.PostReceive(receive), PostResult::kOk);
  receiver.RingReceive();
  efa::Completion done;
  EXPECT_EQ(receiver.PollReceive(done), PollResult::kEmpty);

  Fill(bed_.a.side.Bytes(0, 100), 5);
  Transfer message = bed_.a.WriteTo(bed_.b, 0, 100);
  message.operation = efa::Operation::kSend;
  message.has_immediate = true;
  message.immediate = 0xabcd;
  Transfer write = bed_.a.WriteTo(bed_.b, 0, 100);
  write.has_immediate = true;
  write.immediate = 0x1234;
  ASSERT_EQ(device_.Post(WorkOf(message, bed_.to_b, 1)), PostResult::kOk);
  ASSERT_EQ(device_.Post(WorkOf(write, bed_.to_b, 2)), PostResult::kOk);
  device_.Ring();
  while (bed_.engine.Step()) {
  }
  EXPECT_THAT(Statuses(), ElementsAre(0, 0));
  std::set<std::uint32_t> immediates;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(receiver.PollReceive(done), PollResult::kOk);
    immediates.insert(done.immediate);
    EXPECT_EQ(done.length, 100u);
    EXPECT_EQ(done.unsolicited, done.immediate == 0x1234);
    if (done.unsolicited) continue;
    EXPECT_EQ(done.request_id, 7u);
    receiver.FreeReceive(1);
  }
  EXPECT_EQ(immediates, (std::set<std::uint32_t>{0xabcd, 0x1234}));
  EXPECT_TRUE(Holds(bed_.b.side.Bytes(0, 100), 5));
  EXPECT_TRUE(Holds(bed_.b.side.Bytes(4096, 100), 5));
}

TEST_F(SimQueueTest, ARingThatIsFullTakesNoMore) {
  std::uint32_t posted = 0;
  for (int busy = 0; busy < 1000;) {
    const PostResult result = device_.Post(Write(static_cast<std::uint16_t>(posted)));
    if (result == PostResult::kFull) break;
    if (result == PostResult::kOk) {
      ++posted;
    } else {
      ASSERT_EQ(result, PostResult::kBellBusy);  // the NIC has not looked yet
      ++busy;
      bed_.engine.Step();
    }
  }
  EXPECT_EQ(posted, view_.send.entry_count);
  device_.Ring();
  bed_.engine.Step();
  efa::Completion done;
  ASSERT_EQ(device_.Poll(done), PollResult::kOk);
  EXPECT_EQ(device_.Post(Write(1)), PostResult::kOk);
  EXPECT_EQ(device_.Post(Write(2)), PostResult::kFull);
  EXPECT_EQ(device_.Reserve(view_.send.max_batch + 1), PostResult::kTooMany);
  EXPECT_THAT(bed_.a.queue.faults(), IsEmpty());
}

// A device that never looks at its completions cannot overrun their ring; one that looks at the
// wrong place sees that it was overrun.
TEST(SimQueueDepthTest, TheCompletionRingIsAccountedFor) {
  TestBed bed(kSeed, sim_testing::Small(), {.queue_depth = 16});
  const QueueView& view = bed.a.queue.View();
  ASSERT_EQ(view.send_done.entry_count, 16u);
  ASSERT_GT(view.send.entry_count, 16u);
  DeviceQueue<> device(view, &bed.a.state);
  QueueState stale = FreshState(view);
  const efa::SendWork work = WorkOf(bed.a.WriteTo(bed.b, 0, 8), bed.to_b, 3);
  efa::Completion done;
  for (int i = 0; i < 16; ++i) {
    while (device.Post(work) == PostResult::kBellBusy) bed.engine.Step();
  }
  EXPECT_EQ(device.Post(work), PostResult::kFull);
  device.Ring();
  bed.engine.Step();
  for (int i = 0; i < 16; ++i) ASSERT_EQ(device.Poll(done), PollResult::kOk) << i;
  ASSERT_EQ(device.Post(work), PostResult::kOk);
  device.Ring();
  bed.engine.Step();  // the seventeenth completion
  DeviceQueue<> late(view, &stale);
  PollResult result = PollResult::kEmpty;
  for (int i = 0; i < 1000 && result == PollResult::kEmpty; ++i) result = late.Poll(done);
  EXPECT_EQ(result, PollResult::kOverrun);
  EXPECT_EQ(device.Poll(done), PollResult::kOk);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(device.Poll(done), PollResult::kEmpty);
}

TEST_F(SimQueueTest, ACompletionOfNothingIsNoticed) {
  QueueState other = FreshState(view_);
  ASSERT_EQ(device_.Post(Write(1)), PostResult::kOk);
  device_.Ring();
  bed_.engine.Step();
  DeviceQueue<> innocent(view_, &other);
  efa::Completion done;
  EXPECT_EQ(innocent.Poll(done), PollResult::kUnexpected);
}

TEST_F(SimQueueTest, TheStateGoesFromKernelToKernel) {
  for (std::uint16_t i = 0; i < 5; ++i) {
    DeviceQueue<> kernel(view_, &bed_.a.state);
    ASSERT_EQ(kernel.Post(Write(i)), PostResult::kOk);
    kernel.Ring();
    bed_.engine.Step();
    efa::Completion done;
    ASSERT_EQ(kernel.Poll(done), PollResult::kOk);
    EXPECT_EQ(done.request_id, i);
    kernel.Save();
  }
}

// The host rings for the device: every batch for itself, though the record is one word.
TEST_F(SimQueueTest, ADoorbellRecordIsRungForEveryBatch) {
  BellRinger ringer = sim_testing::Must(BellRinger::Open(view_));
  QueueState state = FreshState(view_);
  DeviceQueue<> device(ringer.View(), &state);
  const std::uint32_t count = 5 * view_.send.max_batch;
  std::uint32_t rung = 0, done = 0;
  for (std::uint32_t i = 0; i < count;) {
    if (device.Post(Write(static_cast<std::uint16_t>(i))) == PostResult::kOk) {
      ++i;
    } else {
      rung += ringer.Step() ? 1 : 0;
      bed_.engine.Step();
    }
  }
  device.Ring();
  efa::Completion completion;
  for (int i = 0; i < 1000 && done < count; ++i) {
    rung += ringer.Step() ? 1 : 0;
    bed_.engine.Step();
    while (device.Poll(completion) == PollResult::kOk) ++done;
  }
  EXPECT_EQ(done, count);
  EXPECT_EQ(rung, 5u);
  EXPECT_THAT(bed_.a.queue.faults(), IsEmpty());
}

TEST_F(SimQueueTest, OnlyQueuesOfNobodyElseInRealTimeAreGivenAway) {
  sim_testing::Side& used = bed_.lab.AddBeside(bed_.a.side);
  used.Insert(bed_.b.side);
  ASSERT_EQ(used.endpoint->Recv(used.RecvAt(0, 64, 1)), fabric::ErrorCode::kOk);
  EXPECT_EQ(bed_.engine.Open(*used.endpoint).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(SimQueue::Open(*bed_.a.side.endpoint, /*real_time=*/false).status().message(),
              HasSubstr("virtual time"));
  EXPECT_EQ(bed_.a.queue.PeerOf(fabric::Peer{99}, used.endpoint->address()).status().code(),
            absl::StatusCode::kNotFound);
}

// ---- What is wrong, and how it is said ----

TEST_F(SimQueueTest, WrongPhase) {
  ASSERT_EQ(device_.Reserve(1), PostResult::kOk);
  efa::EncodeSend(Write(9), {}, /*phase=*/1, Slot(0));  // 0 in the first lap
  device_.Commit(1);
  device_.Ring();
  bed_.engine.Step();
  ExpectFault(QueueFaultKind::kWrongPhase, 0, "send entry 0 (slot 0): wrong phase");
  EXPECT_THAT(Statuses(), ElementsAre(2));
}

TEST_F(SimQueueTest, SkippedSlot) {
  ASSERT_EQ(device_.Reserve(3), PostResult::kOk);
  device_.Fill(0, Write(10));
  device_.Fill(2, Write(12));
  device_.Commit(3);
  device_.Ring();
  bed_.engine.Step();
  ExpectFault(QueueFaultKind::kSkippedSlot, 1, "send entry 1 (slot 1): the doorbell covers it");
  EXPECT_THAT(Statuses(), ElementsAre(2, 0, 0));  // the empty slot has request id 0
}

// The same in a later lap, where the slot holds an entry: the last lap's.
TEST_F(SimQueueTest, SkippedSlotOfALaterLap) {
  for (std::uint32_t i = 0; i < view_.send.entry_count; ++i) {
    ASSERT_EQ(device_.Post(Write(1)), PostResult::kOk);
    device_.Ring();
    bed_.engine.Step();
    ASSERT_THAT(Statuses(), ElementsAre(0));
  }
  ASSERT_EQ(device_.Reserve(1), PostResult::kOk);
  device_.Commit(1);
  device_.Ring();
  bed_.engine.Step();
  ExpectFault(QueueFaultKind::kSkippedSlot, view_.send.entry_count, "nothing was written there");
  EXPECT_THAT(Statuses(), ElementsAre(2));
}

TEST_F(SimQueueTest, ReservedBits) {
  ASSERT_EQ(device_.Reserve(1), PostResult::kOk);
  device_.Fill(0, Write(9));
  Slot(0)[15] = 1;
  device_.Commit(1);
  device_.Ring();
  bed_.engine.Step();
  ExpectFault(QueueFaultKind::kReservedBits, 0, "reserved bit set");
  EXPECT_THAT(Statuses(), ElementsAre(2));
}

TEST_F(SimQueueTest, OtherNonsense) {
  efa::SendWork work = Write(9);
  work.remote.length = 63;
  ASSERT_EQ(device_.Post(work), PostResult::kOk);
  device_.Ring();
  bed_.engine.Step();
  ExpectFault(QueueFaultKind::kMalformed, 0, "local and remote length disagree");
  EXPECT_THAT(Statuses(), ElementsAre(2));
}

TEST_F(SimQueueTest, MoreThanABatch) {
  const std::uint32_t count = view_.send.max_batch + 1;
  for (std::uint32_t i = 0; i < count; ++i) efa::EncodeSend(Write(9), {}, 0, Slot(i));
  RingRaw(count);
  ExpectFault(QueueFaultKind::kOverBatch, 0, "more than a batch of 11");
  EXPECT_THAT(Statuses(), IsEmpty());
  EXPECT_EQ(bed_.a.side.nic.counters().doorbell_faults, 1u);
}

TEST_F(SimQueueTest, MissingFence) {
  std::vector<LingeringStores::OnTheWay> on_the_way;
  LingeringStores stores{&on_the_way, /*fences=*/false};
  QueueState state = FreshState(view_);
  DeviceQueue<LingeringStores> careless(view_, &state, stores);
  ASSERT_EQ(careless.Post(Write(9)), PostResult::kOk);
  careless.Ring();
  bed_.engine.Step();
  EXPECT_EQ(bed_.a.queue.count(QueueFaultKind::kSkippedSlot), 1u);  // as far as can be known
  stores.Arrive();
  bed_.engine.Step();
  ExpectFault(QueueFaultKind::kMissingFence, 0, "became visible after the doorbell that covers it");
  efa::Completion done;
  ASSERT_EQ(careless.Poll(done), PollResult::kOk);
  EXPECT_EQ(done.status, efa::CompletionStatus::kLocalQpInternalError);
}

TEST_F(SimQueueTest, AFenceIsAllThatIsMissing) {
  std::vector<LingeringStores::OnTheWay> on_the_way;
  QueueState state = FreshState(view_);
  DeviceQueue<LingeringStores> careful(view_, &state, {&on_the_way, /*fences=*/true});
  ASSERT_EQ(careful.Post(Write(9)), PostResult::kOk);
  careful.Ring();
  bed_.engine.Step();
  EXPECT_THAT(bed_.a.queue.faults(), IsEmpty());
  efa::Completion done;
  ASSERT_EQ(careful.Poll(done), PollResult::kOk);
  EXPECT_EQ(done.status, efa::CompletionStatus::kOk);
}

TEST_F(SimQueueTest, StaleKeys) {
  bed_.lab.AllowFindings(sim::Check::kUseAfterDeregister);
  auto here = bed_.a.side.Register(0, 4096, fabric::Access::kAll);
  auto there = bed_.b.side.Register(0, 4096, fabric::Access::kAll);
  efa::SendWork stale_here = Write(1);
  stale_here.segments[0].lkey = static_cast<std::uint32_t>(here->local_key());
  efa::SendWork stale_there = Write(2);
  stale_there.remote.rkey = static_cast<std::uint32_t>(there->remote().key);
  for (const bool closed : {false, true}) {
    if (closed) {
      ASSERT_TRUE(here->Close().ok());
      ASSERT_TRUE(there->Close().ok());
    }
    ASSERT_EQ(device_.Post(stale_here), PostResult::kOk);
    ASSERT_EQ(device_.Post(stale_there), PostResult::kOk);
    device_.Ring();
    bed_.engine.Step();
    EXPECT_THAT(Statuses(), closed ? ElementsAre(5, 7) : ElementsAre(0, 0));
  }
  EXPECT_EQ(bed_.a.queue.count(QueueFaultKind::kBadKey), 2u);
  EXPECT_THAT(bed_.a.queue.faults(),
              Contains(Field(&QueueFault::text, HasSubstr("request 1: status 5, "))));
  EXPECT_THAT(bed_.a.queue.faults(),
              Contains(Field(&QueueFault::text, HasSubstr("request 2: status 7, "))));
}

TEST_F(SimQueueTest, ADoorbellThatIsACount) {
  const auto write_four = [&] {
    ASSERT_EQ(device_.Reserve(4), PostResult::kOk);
    for (std::uint32_t i = 0; i < 4; ++i) device_.Fill(i, Write(static_cast<std::uint16_t>(i)));
    device_.Commit(4);
  };
  write_four();
  device_.Ring();
  bed_.engine.Step();
  EXPECT_THAT(Statuses(), ElementsAre(0, 0, 0, 0));
  write_four();
  RingRaw(4);  // 8 would be the counter
  ExpectFault(QueueFaultKind::kCountNotCounter, 4,
              "4 entries are new: a doorbell takes the running counter, 8");
  EXPECT_THAT(Statuses(), IsEmpty());
  device_.Ring();
  bed_.engine.Step();
  EXPECT_THAT(Statuses(), ElementsAre(0, 0, 0, 0));
}

TEST_F(SimQueueTest, ADoorbellThatSaysNothingNew) {
  RingRaw(0);
  ExpectFault(QueueFaultKind::kNothingNew, 0, "send doorbell 0 after 0: ");
}

TEST_F(SimQueueTest, ADoorbellThatGoesBack) {
  ASSERT_EQ(device_.Post(Write(1)), PostResult::kOk);
  device_.Ring();
  bed_.engine.Step();
  RingRaw(0);
  ExpectFault(QueueFaultKind::kOverRing, 1, "send doorbell 0 after 1: ");
}

TEST_F(SimQueueTest, AReceiveDoorbellIsHeldToTheSame) {
  StoreBell(view_.receive.bell.word, (view_.receive.entry_count + 1) & 0xFFFF);
  bed_.engine.Step();
  ExpectFault(QueueFaultKind::kOverRing, 0, "receive doorbell");
}

}  // namespace
}  // namespace drydock::gpu::gda
