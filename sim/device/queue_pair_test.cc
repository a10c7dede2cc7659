// The rings of a queue pair, as the device reads them.

#include "drydock/sim/device/queue_pair.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

namespace efa = fabric::efa_queue;

using efa::DoorbellFault;
using fabric::OperationKind;

// ---- The send ring ----

// A send ring and the driver's side of it.
struct SendRing {
  SendRing(std::uint32_t entries, bool wide, std::uint32_t max_batch)
      : queue(entries, wide, max_batch), producer(entries, max_batch) {}
  void Write(const efa::SendWork& work) {
    efa::EncodeSend(work, queue.format(), producer.phase(), queue.Slot(producer.slot()));
    producer.Post();
  }
  DoorbellFault Ring() { return queue.Ring(producer.Ring()); }
  FetchResult Fetch(Operation& operation) { return queue.Fetch(operation); }

  SendQueue queue;
  efa::Producer producer;
};

efa::SendWork WriteWork(std::uint16_t id) {
  efa::SendWork work;
  work.request_id = id;
  work.operation = efa::Operation::kWrite;
  work.has_immediate = true;
  work.immediate = 0x1000u + id;
  work.address_handle = 5;
  work.destination_queue_pair = 6;
  work.qkey = 7;
  work.segment_count = 1;
  work.segments[0] = {.length = 100, .lkey = 8, .address = 9};
  work.remote = {.length = 100, .rkey = 10, .address = 11};
  return work;
}

TEST(SendQueueRingTest, FetchesWhatWasRungForInOrder) {
  SendRing ring(8, false, 4);
  std::uint16_t next = 0;
  for (std::uint16_t i = 0; i < 50; ++i) {
    ring.Write(WriteWork(i));
    EXPECT_EQ(ring.queue.unfetched(), 0u);  // nothing past the doorbell is looked at
    ASSERT_EQ(ring.Ring(), DoorbellFault::kNone);
    EXPECT_EQ(ring.queue.unfetched(), 1u);
    Operation operation;
    EXPECT_EQ(ring.Fetch(operation), FetchResult::kOk);
    EXPECT_EQ(operation.request_id, next++);
    EXPECT_EQ(operation.kind, OperationKind::kWrite);
    EXPECT_TRUE(operation.has_immediate);
    EXPECT_EQ(operation.immediate, 0x1000u + i);
    EXPECT_EQ(operation.address_handle, 5u);
    EXPECT_EQ(operation.destination_queue_pair, 6u);
    EXPECT_EQ(operation.destination_qkey, 7u);
    EXPECT_EQ(operation.length, 100u);
    EXPECT_EQ(operation.segment_count, 1u);
    EXPECT_EQ(operation.segments[0].lkey, 8u);
    EXPECT_EQ(operation.segments[0].address, 9u);
    EXPECT_EQ(operation.remote_key, 10u);
    EXPECT_EQ(operation.remote_address, 11u);
    ring.producer.Complete();
  }
}

TEST(SendQueueRingTest, InlineBytesAreTakenWhenTheWorkIsFetched) {
  for (const bool wide : {false, true}) {
    SendRing ring(8, wide, 4);
    const std::uint8_t bytes[] = {1, 2, 3, 4, 5};
    efa::SendWork work;
    work.is_inline = true;
    work.inline_bytes = 5;
    work.inline_data = bytes;
    void* slot = ring.queue.Slot(ring.producer.slot());
    ring.Write(work);
    ring.Ring();
    Operation operation;
    ASSERT_EQ(ring.Fetch(operation), FetchResult::kOk);
    std::memset(slot, 0xff, 64);  // the slot is the program's again
    EXPECT_TRUE(operation.is_inline);
    EXPECT_EQ(operation.length, 5u);
    EXPECT_EQ(std::memcmp(operation.inline_data.data(), bytes, 5), 0);
  }
}

TEST(SendQueueRingTest, WideEntriesAreTwiceAsLong) {
  SendRing narrow(8, false, 4);
  SendRing wide(8, true, 4);
  const auto distance = [](SendRing& ring) {
    return static_cast<std::byte*>(ring.queue.Slot(7)) -
           static_cast<std::byte*>(ring.queue.Slot(0));
  };
  EXPECT_EQ(distance(narrow), 7 * 64);
  EXPECT_EQ(distance(wide), 7 * 128);
}

TEST(SendQueueRingTest, EntryOfTheLapBeforeIsMalformed) {
  SendRing ring(4, false, 4);
  for (int lap = 0; lap < 3; ++lap) {
    for (std::uint16_t i = 0; i < 4; ++i) {
      ring.Write(WriteWork(i));
      ring.Ring();
      Operation operation;
      ASSERT_EQ(ring.Fetch(operation), FetchResult::kOk) << "lap " << lap;
      ring.producer.Complete();
    }
  }
  ring.producer.Post();  // rung for, and not written
  ring.Ring();
  Operation operation;
  EXPECT_EQ(ring.Fetch(operation), FetchResult::kMalformed);
  EXPECT_EQ(operation.request_id, 0u);  // what stands there
}

TEST(SendQueueRingTest, MalformedWorkStillTellsItsId) {
  SendRing ring(4, false, 4);
  efa::SendWork work = WriteWork(77);
  work.operation = static_cast<efa::Operation>(9);
  ring.Write(work);
  work = WriteWork(78);
  work.remote.length = 1;
  ring.Write(work);
  ring.Ring();
  Operation operation;
  EXPECT_EQ(ring.Fetch(operation), FetchResult::kUnknownOperation);
  EXPECT_EQ(operation.request_id, 77u);
  EXPECT_EQ(ring.Fetch(operation), FetchResult::kMalformed);
  EXPECT_EQ(operation.request_id, 78u);
}

TEST(SendQueueRingTest, EntriesMayBeReadBeforeTheyAreTaken) {
  SendRing ring(4, false, 4);
  for (int lap = 0; lap < 3; ++lap) {
    for (std::uint16_t i = 0; i < 3; ++i) ring.Write(WriteWork(i));
    ring.Ring();
    for (std::uint32_t ahead = 0; ahead < 3; ++ahead) {
      efa::SendWork work;
      EXPECT_EQ(ring.queue.Decode(ahead, work), efa::Malformed::kNone);
      EXPECT_EQ(work.request_id, ahead);
    }
    EXPECT_EQ(ring.queue.unfetched(), 3u);
    for (std::uint16_t i = 0; i < 3; ++i) {
      Operation operation;
      EXPECT_EQ(ring.Fetch(operation), FetchResult::kOk);
      EXPECT_EQ(operation.request_id, i);
    }
    EXPECT_EQ(ring.queue.unfetched(), 0u);
    ring.producer.Complete(3);
  }
}

TEST(SendQueueRingTest, BadDoorbellsChangeNothing) {
  SendRing ring(16, false, 4);
  for (std::uint16_t i = 0; i < 4; ++i) ring.Write(WriteWork(i));
  EXPECT_EQ(ring.queue.Ring(0), DoorbellFault::kNothingNew);
  EXPECT_EQ(ring.queue.Ring(5), DoorbellFault::kOverBatch);
  EXPECT_EQ(ring.queue.Ring(17), DoorbellFault::kOverRing);
  EXPECT_EQ(ring.queue.Ring(0xffff), DoorbellFault::kOverRing);
  EXPECT_EQ(ring.queue.unfetched(), 0u);
  EXPECT_EQ(ring.queue.Ring(0x70000 + 4), DoorbellFault::kNone);  // only 16 bits count
  EXPECT_EQ(ring.queue.unfetched(), 4u);
}

TEST(SendQueueRingTest, CountersRunThroughTheEndOf16Bits) {
  SendRing ring(32, false, 8);
  for (std::uint32_t i = 0; i < 70000; ++i) {
    ring.Write(WriteWork(static_cast<std::uint16_t>(i)));
    ASSERT_EQ(ring.Ring(), DoorbellFault::kNone) << i;
    Operation operation;
    ASSERT_EQ(ring.Fetch(operation), FetchResult::kOk) << i;
    ASSERT_EQ(operation.request_id, static_cast<std::uint16_t>(i));
    ring.producer.Complete();
  }
}

// ---- The receive ring ----

struct ReceiveRing {
  explicit ReceiveRing(std::uint32_t descriptors, std::uint32_t max_segments = 3)
      : queue(descriptors, max_segments), producer(descriptors, descriptors) {}
  void Write(std::uint16_t id, const std::vector<std::uint32_t>& lengths) {
    efa::ReceiveWork work;
    work.request_id = id;
    for (const std::uint32_t length : lengths) {
      work.segments[work.segment_count++] = {.length = length, .lkey = 1, .address = 4096};
    }
    efa::EncodeReceive(work, queue.memory(), queue.descriptors(), producer.posted());
    producer.Post(work.segment_count);
  }
  DoorbellFault Ring() { return queue.Ring(producer.Ring()); }

  ReceiveQueue queue;
  efa::Producer producer;
};

TEST(ReceiveQueueRingTest, PeekLooksAndConsumeTakes) {
  ReceiveRing ring(8);
  ReceiveWork work;
  EXPECT_FALSE(ring.queue.Peek(work));
  ring.Write(1, {10, 20});
  ring.Write(2, {30});
  EXPECT_FALSE(ring.queue.Peek(work));  // not rung for
  EXPECT_EQ(ring.Ring(), DoorbellFault::kNone);
  EXPECT_EQ(ring.queue.posted(), 3u);
  EXPECT_EQ(ring.queue.receives(), 2u);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(ring.queue.Peek(work));
    EXPECT_EQ(work.request_id, 1u);
    EXPECT_EQ(work.length, 30u);
    EXPECT_EQ(work.segment_count, 2u);
    EXPECT_EQ(work.descriptors, 2u);
    EXPECT_FALSE(work.malformed);
  }
  ring.queue.Consume(work);
  ASSERT_TRUE(ring.queue.Peek(work));
  EXPECT_EQ(work.request_id, 2u);
  ring.queue.Consume(work);
  EXPECT_FALSE(ring.queue.Peek(work));
  EXPECT_EQ(ring.queue.receives(), 0u);
}

TEST(ReceiveQueueRingTest, ReceivesMayCrossTheEndOfTheRing) {
  ReceiveRing ring(8);
  for (std::uint16_t i = 0; i < 100; ++i) {
    ring.Write(i, {1, 2, 3});
    ASSERT_EQ(ring.Ring(), DoorbellFault::kNone);
    ReceiveWork work;
    ASSERT_TRUE(ring.queue.Peek(work));
    EXPECT_EQ(work.request_id, i);
    EXPECT_EQ(work.length, 6u);
    EXPECT_FALSE(work.malformed);
    ring.queue.Consume(work);
    ring.producer.Complete(3);
  }
}

TEST(ReceiveQueueRingTest, MalformedDescriptorIsOneReceiveOfNothing) {
  ReceiveRing ring(8);
  ring.Write(1, {10, 20, 30});
  ring.Write(2, {40});
  ring.Ring();
  auto* descriptors = static_cast<efa::ReceiveDescriptor*>(ring.queue.memory());
  descriptors[0].lkey_ctrl |= 1u << 25;     // reserved
  descriptors[2].lkey_ctrl &= ~(1u << 31);  // and the last one of the receive does not say so
  ReceiveWork work;
  std::uint32_t consumed = 0;
  while (ring.queue.Peek(work)) {
    if (!work.malformed) break;
    EXPECT_EQ(work.segment_count, 0u);
    EXPECT_EQ(work.length, 0u);
    EXPECT_EQ(work.descriptors, 1u);
    consumed += work.descriptors;
    ring.queue.Consume(work);
  }
  EXPECT_GE(consumed, 1u);  // it goes on, and ends
  while (ring.queue.Peek(work)) ring.queue.Consume(work);
  EXPECT_EQ(ring.queue.posted(), 0u);
}

TEST(ReceiveQueueRingTest, ReceiveThatDoesNotEndWithinTheDoorbellIsMalformed) {
  ReceiveRing ring(8);
  ring.Write(1, {10, 20, 30});
  EXPECT_EQ(ring.queue.Ring(2), DoorbellFault::kNone);
  ReceiveWork work;
  ASSERT_TRUE(ring.queue.Peek(work));
  EXPECT_TRUE(work.malformed);
}

TEST(ReceiveQueueRingTest, MoreSegmentsThanTheDeviceTakesAreMalformed) {
  ReceiveRing ring(8, 2);
  ring.Write(1, {10, 20, 30});
  ring.Ring();
  ReceiveWork work;
  ASSERT_TRUE(ring.queue.Peek(work));
  EXPECT_TRUE(work.malformed);
}

TEST(ReceiveQueueRingTest, DoorbellOverTheRingIsRefused) {
  ReceiveRing ring(8);
  EXPECT_EQ(ring.queue.Ring(9), DoorbellFault::kOverRing);
  EXPECT_EQ(ring.queue.Ring(8), DoorbellFault::kNone);
  EXPECT_EQ(ring.queue.Ring(9), DoorbellFault::kOverRing);
}

// ---- The pair ----

TEST(QueuePairTest, HasWhatWasAskedFor) {
  QueuePairAttributes attributes;
  attributes.type = QueuePairType::kUd;
  attributes.domain = 4;
  attributes.send_entries = 16;
  attributes.wide = true;
  attributes.receive_descriptors = 32;
  attributes.rnr_retries = 3;
  attributes.unsolicited_immediates = false;
  QueuePair queue_pair(attributes, 5, 3);
  EXPECT_EQ(queue_pair.type, QueuePairType::kUd);
  EXPECT_EQ(queue_pair.state, QueuePairState::kReadyToSend);
  EXPECT_EQ(queue_pair.domain, 4u);
  EXPECT_EQ(queue_pair.rnr_retries, 3u);
  EXPECT_FALSE(queue_pair.unsolicited_immediates);
  EXPECT_EQ(queue_pair.send.entries(), 16u);
  EXPECT_EQ(queue_pair.send.max_batch(), 5u);
  EXPECT_TRUE(queue_pair.send.format().wide);
  EXPECT_EQ(queue_pair.receive.descriptors(), 32u);
}

}  // namespace
}  // namespace drydock::sim
