// The rings of an endpoint: when slots come back, the values that a doorbell may have, the cost of
// an overrun, which successes are reported.

#include <array>
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/sim/testing/raw_work.h"
#include "drydock/sim/testing/scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Completion;
using fabric::ErrorCode;
using fabric::OperationKind;
using fabric::efa_queue::DoorbellFault;

// Posts unsignalled or signalled writes until the queue is full; returns how many.
std::uint64_t FillSendQueue(Scene& s, std::uint64_t first_context) {
  std::uint64_t posted = 0;
  while (true) {
    const std::uint64_t context = first_context == 0 ? 0 : first_context + posted;
    const ErrorCode error = s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 64, context));
    if (error == ErrorCode::kAgain) return posted;
    EXPECT_EQ(error, ErrorCode::kOk);
    ++posted;
  }
}

// ---- Slots ----

TEST(SendQueueTest, SlotComesBackOnlyWhenItsCompletionWasRead) {
  for (const std::uint64_t context : {1u, 0u}) {  // told or not, it is the same slot
    Scene s;
    const std::size_t depth = s.a.endpoint->limits().send_queue_depth;
    EXPECT_EQ(FillSendQueue(s, context), depth);
    s.lab.world().timeline().RunFor(10ms);  // the device has long finished
    EXPECT_EQ(s.a.nic.counters().rdma_write_wrs, depth);
    EXPECT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 64, 9)), ErrorCode::kAgain);
    std::array<Completion, 1> one;
    const std::size_t read = s.a.queue->Read(one).count;
    EXPECT_EQ(read, context == 0 ? 0u : 1u);  // unsignalled ones are read past in silence
    EXPECT_EQ(FillSendQueue(s, 1000), context == 0 ? depth : 1u);
  }
}

TEST(SendQueueTest, ReadOfNoEntriesFreesNothing) {
  Scene s;
  FillSendQueue(s, 0);
  s.lab.world().timeline().RunFor(10ms);
  EXPECT_EQ(s.a.queue->Read({}).count, 0u);
  EXPECT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 64, 9)), ErrorCode::kAgain);
}

TEST(SendQueueTest, SendsWritesAndReadsShareIt) {
  Scene s;
  const std::size_t depth = s.a.endpoint->limits().send_queue_depth;
  for (std::size_t i = 0; i < depth; ++i) {
    ErrorCode error = ErrorCode::kOk;
    if (i % 3 == 0) error = s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 64, i + 1));
    if (i % 3 == 1) error = s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 64, i + 1));
    if (i % 3 == 2) error = s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, i + 1));
    ASSERT_EQ(error, ErrorCode::kOk) << i;
  }
  EXPECT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 64, 9)), ErrorCode::kAgain);
  EXPECT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 64, 9)), ErrorCode::kAgain);
  EXPECT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, 9)), ErrorCode::kAgain);
}

TEST(SendQueueTest, OneUnfinishedOperationDoesNotBlockTheOthers) {
  Scene s;
  const std::size_t depth = s.a.endpoint->limits().send_queue_depth;
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, 1)), ErrorCode::kOk);  // waits for ever
  for (std::size_t round = 0; round < 5; ++round) {
    EXPECT_EQ(FillSendQueue(s, 1000), depth - 1);
    s.lab.Watch();
    EXPECT_EQ(s.a.completions.size(), depth - 1);
    s.a.completions.clear();
  }
}

TEST(SendQueueTest, SpanIsAcceptedAsFarAsThereIsRoom) {
  Scene s;
  const std::size_t depth = s.a.endpoint->limits().send_queue_depth;
  const std::vector<fabric::WriteRequest> writes(depth + 7, s.a.WriteTo(s.b, 0, 64, 5));
  const fabric::PostResult result = s.a.endpoint->Write(writes);
  EXPECT_EQ(result.accepted, depth);
  EXPECT_EQ(result.error, ErrorCode::kAgain);
  s.lab.Watch();
  EXPECT_EQ(s.a.completions.size(), depth);
}

TEST(SendQueueTest, SpanEndsAtItsFirstBadRequest) {
  Scene s;
  std::vector<fabric::WriteRequest> writes(5, s.a.WriteTo(s.b, 0, 64, 5));
  writes[3].peer = fabric::kNoPeer;
  const fabric::PostResult result = s.a.endpoint->Write(writes);
  EXPECT_EQ(result.accepted, 3u);
  EXPECT_EQ(result.error, ErrorCode::kUnknownPeer);
  s.lab.Watch();
  EXPECT_EQ(s.a.completions.size(), 3u);
}

TEST(ReceiveQueueTest, SlotComesBackOnlyWhenItsCompletionWasRead) {
  Scene s;
  const std::size_t depth = s.b.endpoint->limits().receive_queue_depth;
  for (std::size_t i = 0; i < depth; ++i) {
    ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 64, i + 1)), ErrorCode::kOk) << i;
  }
  EXPECT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 64, 9)), ErrorCode::kAgain);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, 1)), ErrorCode::kOk);
  s.lab.world().timeline().RunFor(10ms);
  EXPECT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 64, 9)), ErrorCode::kAgain);
  EXPECT_TRUE(s.lab.Take(s.b, 1).ok());  // receives are taken in the order of posting
  EXPECT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 64, 9)), ErrorCode::kOk);
}

// ---- Request ids ----

// Many laps of the ring: completions come in any order, and each context comes back once.
TEST(RequestIdTest, ReusedSlotsGiveTheRightContexts) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Scene s(Small(), {}, seed);
    std::multiset<std::uint64_t> posted;
    std::multiset<std::uint64_t> told;
    std::uint64_t next = 1;
    for (int round = 0; round < 100; ++round) {
      for (int i = 0; i < 10; ++i) {
        const std::size_t length = i % 2 == 0 ? 20000 : 8;
        const ErrorCode error = s.a.endpoint->Write(s.a.WriteTo(s.b, 0, length, next));
        if (error == ErrorCode::kAgain) break;
        posted.insert(next++);
      }
      s.lab.Watch(5us);
    }
    s.lab.Watch();
    for (const Completion& completion : s.a.completions) told.insert(NumberOf(completion));
    EXPECT_EQ(posted, told);
    EXPECT_GT(posted.size(), 200u);
  }
}

// ---- An overrun of the completion queue ----

// The device knows how far its completion queues were read.
sim::Profile WithDoorbell() {
  sim::Profile profile = Small();
  profile.device.cq_doorbell = true;
  return profile;
}

TEST(OverrunTest, EntriesAreLostForEverAndTheirSlotsWithThem) {
  Scene s(WithDoorbell(), {.queue_depth = 16});
  ASSERT_EQ(s.a.queue->depth(), 16u);
  const std::size_t depth = s.a.endpoint->limits().send_queue_depth;
  EXPECT_EQ(FillSendQueue(s, 1), depth);
  s.lab.world().timeline().RunFor(10ms);
  EXPECT_EQ(s.a.nic.counters().completions_lost, depth - 16);
  s.lab.Watch();
  EXPECT_EQ(s.a.completions.size(), 16u);  // the oldest survive, the new ones found no room
  std::set<std::uint64_t> contexts;
  for (const Completion& completion : s.a.completions) contexts.insert(NumberOf(completion));
  EXPECT_EQ(contexts.size(), 16u);
  // The slots of the others can never be freed.
  EXPECT_EQ(FillSendQueue(s, 1000), 16u);
  s.lab.Watch(60s);
  EXPECT_EQ(FillSendQueue(s, 2000), 16u);
  s.lab.ExpectFinding(sim::Check::kCompletionQueueCapacity, s.a.nic.counters().completions_lost);
}

TEST(OverrunTest, LosingEverySlotLeavesAnEndpointThatSaysAgainForEver) {
  Scene s(WithDoorbell(), {.queue_depth = 1});
  fabric::WriteRequest write = s.b.WriteTo(s.a, 0, 64, 1);
  write.immediate = 1;
  ASSERT_EQ(s.b.endpoint->Write(write), ErrorCode::kOk);
  s.lab.world().timeline().RunFor(1ms);  // the queue is full, and is not read
  FillSendQueue(s, 1);
  s.lab.world().timeline().RunFor(10ms);
  s.lab.Watch(60s);
  EXPECT_EQ(s.a.completions.size(), 1u);  // the immediate
  EXPECT_EQ(FillSendQueue(s, 1), 0u);
  s.lab.ExpectFinding(sim::Check::kCompletionQueueCapacity, s.a.nic.counters().completions_lost);
}

TEST(OverrunTest, UnsolicitedImmediatesOverrunASlowTarget) {
  Lab lab(1, WithDoorbell());
  Side& a = lab.Add("fast");
  Side& b = lab.Add("slow", {.queue_depth = 8});
  lab.Introduce();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    fabric::WriteRequest write = a.WriteTo(b, 0, 64, i);
    write.immediate = static_cast<std::uint32_t>(i);
    ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
  }
  lab.world().timeline().RunFor(10ms);
  EXPECT_EQ(b.nic.counters().completions_lost, 12u);
  // The initiator is none the wiser.
  for (std::uint64_t i = 1; i <= 20; ++i) EXPECT_TRUE(lab.Take(a, i).ok());
  lab.Watch();
  EXPECT_EQ(b.completions.size(), 8u);
  lab.ExpectWorks(a, b);
  lab.ExpectFinding(sim::Check::kCompletionQueueCapacity, 12);
}

// Without a doorbell the device overwrites entries that were not read, and its reader is blind for
// a lap.
TEST(OverrunTest, WithoutADoorbellOneEntryTooManyHidesAllOthers) {
  Lab lab(1);
  Side& a = lab.Add("fast");
  Side& b = lab.Add("slow", {.queue_depth = 8});
  lab.Introduce();
  std::uint32_t written = 0;
  const auto write = [&](std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      fabric::WriteRequest request = a.WriteTo(b, 0, 64, ++written);
      request.immediate = written;
      ASSERT_EQ(a.endpoint->Write(request), ErrorCode::kOk);
    }
    lab.world().timeline().RunFor(10ms);  // the queue is not read
    lab.Watch();
  };
  write(8);
  EXPECT_EQ(b.completions.size(), 8u);  // the right way: as many as there is room for
  b.completions.clear();
  write(9);
  EXPECT_EQ(b.nic.counters().completions_lost, 1u);
  EXPECT_TRUE(b.completions.empty());
  write(7);  // read in time, and in vain
  EXPECT_TRUE(b.completions.empty());
  write(1);
  ASSERT_EQ(b.completions.size(), 1u);
  EXPECT_EQ(b.completions[0].immediate, written);
  b.completions.clear();
  write(8);  // it is as good as new
  EXPECT_EQ(b.completions.size(), 8u);
  EXPECT_EQ(a.completions.size(), written);  // the initiator is none the wiser
  lab.ExpectFinding(sim::Check::kCompletionQueueCapacity, 9);
}

// Nor does the reader find, when it sees again, entries of a closed endpoint whose number and
// request ids another one has now.
TEST(OverrunTest, HiddenEntriesOfAClosedEndpointAreNotItsSuccessors) {
  for (std::uint64_t unread = 1; unread <= 24; ++unread) {
    Lab lab(1);
    Side& a = lab.Add("slow", {.queue_depth = 8});
    Side& b = lab.Add("fast");
    Side& dead = lab.Add("dead");
    lab.Introduce();
    lab.AllowFindings(sim::Check::kCompletionQueueCapacity);
    dead.node.Kill();
    auto closed = Must(a.domain->OpenEndpoint(a.Parts()));
    const std::uint16_t number = closed->power<sim::QueueAccess>()->queue_pair().number;
    for (std::uint64_t i = 1; i <= unread; ++i) {
      ASSERT_EQ(closed->Write(a.WriteTo(b, 0, 64, i)), ErrorCode::kOk);
    }
    lab.world().timeline().RunFor(1ms);  // the queue is not read
    ASSERT_TRUE(closed->Close().ok());
    auto next = Must(a.domain->OpenEndpoint(a.Parts()));
    ASSERT_EQ(next->power<sim::QueueAccess>()->queue_pair().number, number);
    for (std::uint64_t i = 1; i <= unread; ++i) {
      ASSERT_EQ(next->Write(a.WriteTo(dead, 0, 64, i)), ErrorCode::kOk);
    }
    for (std::uint32_t i = 1; i <= 32; ++i) {  // brings the device around
      fabric::WriteRequest write = b.WriteTo(a, 0, 64, i);
      write.immediate = i;
      ASSERT_EQ(b.endpoint->Write(write), ErrorCode::kOk);
      lab.world().timeline().RunFor(1ms);
      lab.Pump();
    }
    EXPECT_FALSE(a.completions.empty());
    for (const Completion& completion : a.completions) {
      EXPECT_EQ(completion.kind, OperationKind::kRemoteWrite) << unread << " unread";
    }
  }
}

TEST(OverrunTest, LostReceiveCompletionsLeakReceiveSlots) {
  Lab lab(1, WithDoorbell());
  Side& a = lab.Add("a");
  Side& b = lab.Add("b", {.queue_depth = 4});
  lab.Introduce();
  const std::size_t depth = b.endpoint->limits().receive_queue_depth;
  for (std::size_t i = 0; i < depth; ++i) {
    ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, 64, i + 1)), ErrorCode::kOk);
  }
  for (std::uint64_t i = 1; i <= 10; ++i) {
    ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 64, i)), ErrorCode::kOk);
  }
  lab.world().timeline().RunFor(10ms);
  EXPECT_EQ(b.nic.counters().completions_lost, 6u);
  for (std::uint64_t i = 1; i <= 10; ++i) EXPECT_TRUE(lab.Take(a, i).ok());
  std::size_t room = 0;
  while (b.endpoint->Recv(b.RecvAt(0, 64, 99)) == ErrorCode::kOk) ++room;
  EXPECT_EQ(room, 4u);
  lab.ExpectFinding(sim::Check::kCompletionQueueCapacity, 6);
}

// ---- Doorbells ----

TEST(DoorbellTest, LongSpanRingsOncePerBatch) {
  Scene s;
  const std::size_t depth = s.a.endpoint->limits().send_queue_depth;
  const std::uint32_t batch = s.a.rings().queue_pair().send.max_batch();
  ASSERT_LT(batch, depth);
  const coro::Time start = s.lab.world().Now();
  const std::vector<fabric::WriteRequest> writes(depth, s.a.WriteTo(s.b, 0, 64, 5));
  EXPECT_EQ(s.a.endpoint->Write(writes).accepted, depth);
  const sim::Profile& profile = s.lab.world().profile();
  const std::size_t rings = (depth + batch - 1) / batch;
  EXPECT_EQ(s.lab.world().Now() - start, rings * profile.doorbell_cost + depth * profile.post_cost);
  EXPECT_EQ(s.a.nic.counters().doorbell_faults, 0u);
  EXPECT_EQ(s.a.rings().queue_pair().last_doorbell_fault, DoorbellFault::kNone);
}

TEST(DoorbellTest, CountInsteadOfTheCounterIsNoticed) {
  Scene s;
  sim::QueueAccess& rings = s.a.rings();
  PlaceRaw(s.a, RawWrite(s.a, s.b, 0, 64));
  PlaceRaw(s.a, RawWrite(s.a, s.b, 0, 64));
  rings.nic().RingSend(rings.queue_pair(), 2);  // the first time both are equal
  EXPECT_EQ(s.a.nic.counters().doorbell_faults, 0u);
  PlaceRaw(s.a, RawWrite(s.a, s.b, 0, 64));
  PlaceRaw(s.a, RawWrite(s.a, s.b, 0, 64));
  rings.nic().RingSend(rings.queue_pair(), 2);  // 4 entries were posted
  EXPECT_EQ(s.a.nic.counters().doorbell_faults, 1u);
  EXPECT_EQ(rings.queue_pair().last_doorbell_fault, DoorbellFault::kNothingNew);
  s.lab.Watch();
  EXPECT_EQ(s.a.nic.counters().rdma_write_wrs,
            2u);  // the device looks at nothing past the doorbell
}

TEST(DoorbellTest, MoreThanABatchIsRefused) {
  Scene s;
  sim::QueueAccess& rings = s.a.rings();
  const std::uint32_t batch = rings.queue_pair().send.max_batch();
  for (std::uint32_t i = 0; i <= batch; ++i) PlaceRaw(s.a, RawWrite(s.a, s.b, 0, 64));
  RingRaw(s.a);
  EXPECT_EQ(s.a.nic.counters().doorbell_faults, 1u);
  EXPECT_EQ(rings.queue_pair().last_doorbell_fault, DoorbellFault::kOverBatch);
  s.lab.Watch();
  EXPECT_EQ(s.a.nic.counters().rdma_write_wrs, 0u);
}

TEST(DoorbellTest, ValueThatGoesBackIsRefused) {
  Scene s;
  sim::QueueAccess& rings = s.a.rings();
  PlaceRaw(s.a, RawWrite(s.a, s.b, 0, 64));
  PlaceRaw(s.a, RawWrite(s.a, s.b, 0, 64));
  rings.nic().RingSend(rings.queue_pair(), 2);
  rings.nic().RingSend(rings.queue_pair(), 1);
  EXPECT_EQ(s.a.nic.counters().doorbell_faults, 1u);
  EXPECT_EQ(rings.queue_pair().last_doorbell_fault, DoorbellFault::kOverRing);
}

TEST(DoorbellTest, ReceiveRingHasItsOwn) {
  Scene s;
  sim::QueuePair& queue_pair = s.b.rings().queue_pair();
  s.b.nic.RingReceive(queue_pair, queue_pair.receive.descriptors() + 1);
  EXPECT_EQ(s.b.nic.counters().doorbell_faults, 1u);
  EXPECT_EQ(queue_pair.last_doorbell_fault, DoorbellFault::kOverRing);
  s.b.nic.RingReceive(queue_pair, 0);
  EXPECT_EQ(queue_pair.last_doorbell_fault, DoorbellFault::kNothingNew);
}

// ---- Rings driven by others beside the driver ----

TEST(QueueAccessTest, RawWorkAndPostsAlternate) {
  Scene s;
  const std::size_t depth = s.a.endpoint->limits().send_queue_depth;
  for (std::uint64_t i = 0; i < 3 * depth; ++i) {
    Fill(s.a.Bytes(0, 64), i + 1);
    if (i % 2 == 0) {
      PlaceRaw(s.a, RawWrite(s.a, s.b, 0, 64));
      RingRaw(s.a);
      s.lab.Watch(1ms);  // its success is not reported: no context came with it
      EXPECT_TRUE(s.a.completions.empty());
    } else {
      ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 64, i)), ErrorCode::kOk) << i;
      EXPECT_TRUE(s.lab.Take(s.a, i).ok());
    }
    EXPECT_TRUE(Holds(s.b.Bytes(0, 64), i + 1));
  }
  EXPECT_EQ(s.a.rings().send_producer().in_flight(), 0u);
}

TEST(QueueAccessTest, MalformedReceiveFailsAloneAndIsGone) {
  Scene s;
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 64, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(64, 64, 2)), ErrorCode::kOk);
  auto* ring =
      static_cast<fabric::efa_queue::ReceiveDescriptor*>(s.b.rings().queue_pair().receive.memory());
  ring[0].lkey_ctrl |= 1u << 24;  // reserved
  for (std::uint64_t i = 1; i <= 2; ++i) {
    ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, i)), ErrorCode::kOk);
  }
  EXPECT_EQ(s.lab.Take(s.b, 1).provider_error, 5);
  EXPECT_EQ(s.lab.Take(s.b, 2).provider_error, 0);
  s.lab.Watch();
  ASSERT_EQ(s.a.completions.size(), 2u);
  EXPECT_NE(s.a.completions[0].ok(), s.a.completions[1].ok());
  s.a.completions.clear();
  s.ExpectTheOthersUnharmed();
}

// ---- Wide work requests ----

TEST(WideWorkRequestTest, HalveTheSendQueue) {
  Scene s(Small(), {.inject_bytes = 80});
  EXPECT_EQ(s.a.endpoint->limits().send_queue_depth,
            s.lab.world().profile().limits.send_queue_depth / 2);
  EXPECT_EQ(s.a.endpoint->limits().inject_bytes, 80u);
  EXPECT_EQ(s.a.endpoint->limits().inject_rma_bytes, 80u);
  EXPECT_EQ(s.a.rings().queue_pair().send.format().entry_bytes(), 128u);
  EXPECT_EQ(FillSendQueue(s, 1), s.a.endpoint->limits().send_queue_depth);
}

TEST(WideWorkRequestTest, CarryInjectedWritesAndMessages) {
  Scene s(Small(), {.inject_bytes = 80});
  for (std::size_t length : {0u, 1u, 8u, 79u, 80u}) {
    std::vector<std::byte> unregistered(80);
    Fill(unregistered, length + 1);
    fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 0, 1);
    write.source = {.data = unregistered.data(), .length_bytes = length, .local_key = 0};
    write.inject = true;
    fabric::SendRequest send = s.a.SendTo(s.b, 0, 0, 2);
    send.buffer = write.source;
    send.inject = true;
    ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(4096, 80, 3)), ErrorCode::kOk);
    ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
    ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
    std::fill(unregistered.begin(), unregistered.end(), std::byte{0});  // ours again at once
    EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
    EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
    EXPECT_EQ(s.lab.Take(s.b, 3).length_bytes, length);
    EXPECT_TRUE(Holds(s.b.Bytes(0, length), length + 1));
    EXPECT_TRUE(Holds(s.b.Bytes(4096, length), length + 1));
  }
  fabric::WriteRequest long_write = s.a.WriteTo(s.b, 0, 81, 1);
  long_write.inject = true;
  EXPECT_EQ(s.a.endpoint->Write(long_write), ErrorCode::kMessageTooLong);
  fabric::SendRequest long_send = s.a.SendTo(s.b, 0, 81, 1);
  long_send.inject = true;
  EXPECT_EQ(s.a.endpoint->Send(long_send), ErrorCode::kMessageTooLong);
  s.lab.ExpectNoMore();
}

TEST(InjectTest, NarrowWorkRequestsCarry32BytesOfAMessageAndNoWrite) {
  Scene s;
  EXPECT_EQ(s.a.endpoint->limits().inject_bytes, 32u);
  EXPECT_EQ(s.a.endpoint->limits().inject_rma_bytes, 0u);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 8, 1);
  write.inject = true;
  EXPECT_EQ(s.a.endpoint->Write(write), ErrorCode::kMessageTooLong);
  fabric::SendRequest send = s.a.SendTo(s.b, 0, 33, 1);
  send.inject = true;
  EXPECT_EQ(s.a.endpoint->Send(send), ErrorCode::kMessageTooLong);
}

TEST(InjectTest, TakesTheBytesOfSeveralUnregisteredSegmentsAtOnce) {
  Scene s;
  std::array<std::byte, 32> bytes;
  Fill(bytes, 4);
  fabric::SendRequest send = s.a.SendTo(s.b, 0, 0, 1);
  send.buffer = {.data = bytes.data(), .length_bytes = 10, .local_key = UINT64_MAX};
  const fabric::LocalBuffer rest{
      .data = bytes.data() + 10, .length_bytes = 22, .local_key = UINT64_MAX};
  send.more = {&rest, 1};
  send.inject = true;
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 32, 2)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
  bytes.fill(std::byte{0});
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_TRUE(s.lab.Take(s.b, 2).ok());
  EXPECT_TRUE(Holds(s.b.Bytes(0, 32), 4));
}

// ---- Which completions are told ----

TEST(SelectiveCompletionTest, SuccessOfUnsignalledWorkIsNotTold) {
  Scene s;
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 64, 0)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 64, 0)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 64, 0)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, 0)), ErrorCode::kOk);
  s.lab.ExpectNoMore();
  EXPECT_EQ(s.b.nic.counters().recv_wrs, 1u);
  EXPECT_EQ(s.a.rings().send_producer().in_flight(), 0u);
}

TEST(SelectiveCompletionTest, FailureOfUnsignalledWorkIsToldWithoutAContext) {
  Scene s;
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 64, 0);
  write.target.key ^= 2;
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  const Completion failed = s.lab.TakeNameless(s.a);
  EXPECT_EQ(failed.provider_error, 7);
  EXPECT_EQ(failed.kind, OperationKind::kWrite);
  EXPECT_FALSE(failed.context.has_value());
  s.ExpectTheOthersUnharmed();
}

// A completion entry does not tell a read from a send, and without a context nothing else does.
TEST(SelectiveCompletionTest, FailingReadWithoutAContextLooksLikeASend) {
  Scene s;
  fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, 64, 0);
  read.source.key ^= 2;
  ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
  const Completion failed = s.lab.TakeNameless(s.a);
  EXPECT_EQ(failed.provider_error, 7);
  EXPECT_EQ(failed.kind, OperationKind::kSend);
  s.ExpectTheOthersUnharmed();
}

TEST(SelectiveCompletionTest, FailingReceiveWithoutAContextIsTold) {
  Scene s;
  auto region = s.b.Register(0, 4096, fabric::Access::kAll);
  fabric::RecvRequest receive = s.b.RecvAt(0, 64, 0);
  receive.buffer = region->Local(0, 64);
  ASSERT_EQ(s.b.endpoint->Recv(receive), ErrorCode::kOk);
  ASSERT_TRUE(region->Close().ok());
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, 1)), ErrorCode::kOk);
  const Completion failed = s.lab.TakeNameless(s.b);
  EXPECT_EQ(failed.provider_error, 5);
  EXPECT_EQ(failed.kind, OperationKind::kReceive);
  s.lab.Take(s.a, 1);
  s.lab.ExpectFinding(sim::Check::kUseAfterDeregister, 1);
}

}  // namespace
}  // namespace drydock::sim_testing
