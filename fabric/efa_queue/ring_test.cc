#include "drydock/fabric/efa_queue/ring.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "gtest/gtest.h"

namespace drydock::fabric::efa_queue {
namespace {

TEST(RingSize, IsAPowerOfTwo) {
  for (const std::uint32_t entries : {1u, 2u, 4u, 4096u, 32768u, 0x80000000u}) {
    EXPECT_TRUE(IsRingSize(entries)) << entries;
  }
  for (const std::uint32_t entries : {0u, 3u, 6u, 4095u, 4097u, 0xFFFFFFFFu}) {
    EXPECT_FALSE(IsRingSize(entries)) << entries;
  }
}

TEST(MaxBatchRule, CountsUnitsOf64Bytes) {
  EXPECT_EQ(MaxBatch(11, 64, 4096, 0), 11u);
  EXPECT_EQ(MaxBatch(11, 128, 4096, 0), 5u);
  EXPECT_EQ(MaxBatch(0, 64, 4096, 0), 65535u);
  EXPECT_EQ(MaxBatch(0, 64, 4096, 32), 4095u);
  EXPECT_EQ(MaxBatch(11, 64, 8, 8), 7u);
  EXPECT_EQ(MaxBatch(11, 64, 8, 0), 11u);
  EXPECT_EQ(MaxBatch(1, 128, 8, 8), 1u);
}

TEST(Producer, PhaseStartsAtZeroAndFlipsEveryLap) {
  Producer ring(4, 4);
  std::string phases;
  std::string slots;
  for (int i = 0; i < 12; ++i) {
    phases += static_cast<char>('0' + ring.phase());
    slots += static_cast<char>('0' + ring.slot());
    ring.Post();
    ring.Ring();
    ring.Complete();
  }
  EXPECT_EQ(phases, "000011110000");
  EXPECT_EQ(slots, "012301230123");
}

TEST(Producer, PositionsAheadAreThoseOfLaterPosts) {
  for (std::uint32_t start = 0; start < 9; ++start) {
    Producer ring(4, 4);
    ring.Post(start);
    ring.Complete(start);
    Producer later = ring;
    for (std::uint32_t ahead = 0; ahead < 9; ++ahead) {
      EXPECT_EQ(ring.slot(ahead), later.slot());
      EXPECT_EQ(ring.phase(ahead), later.phase());
      later.Post();
    }
  }
}

TEST(Producer, IsFullWhenAllEntriesAreInFlight) {
  Producer ring(8, 8);
  EXPECT_EQ(ring.room(), 8u);
  ring.Post(8);
  EXPECT_TRUE(ring.full());
  EXPECT_EQ(ring.room(), 0u);
  ring.Ring();
  EXPECT_TRUE(ring.full()) << "the doorbell frees nothing";
  ring.Complete(3);
  EXPECT_FALSE(ring.full());
  EXPECT_EQ(ring.in_flight(), 5u);
  EXPECT_EQ(ring.free(), 3u);
  EXPECT_EQ(ring.room(), 3u);
}

TEST(Producer, RoomEndsWithTheBatch) {
  Producer ring(8, 3);
  EXPECT_EQ(ring.room(), 3u);
  ring.Post(2);
  EXPECT_EQ(ring.unannounced(), 2u);
  EXPECT_EQ(ring.room(), 1u);
  ring.Post();
  EXPECT_EQ(ring.room(), 0u);
  EXPECT_FALSE(ring.full());
  EXPECT_EQ(ring.Ring(), 3u);
  EXPECT_EQ(ring.unannounced(), 0u);
  EXPECT_EQ(ring.room(), 3u);
}

TEST(Producer, DoorbellIsTheRunningCounterAndNotASlot) {
  Producer ring(4, 4);
  std::vector<std::uint32_t> values;
  for (int i = 0; i < 3; ++i) {
    ring.Post(4);
    values.push_back(ring.Ring());
    ring.Complete(4);
  }
  EXPECT_EQ(values, (std::vector<std::uint32_t>{4, 8, 12}));
}

// Driver and device together, over several wraps of the 16 bits of the doorbell.
TEST(Fetcher, FollowsTheProducerAcrossTheWrapOfTheDoorbell) {
  for (const std::uint32_t entries : {1u, 16u, 32768u}) {
    Producer driver(entries, entries);
    Fetcher device(entries, entries);
    const std::uint32_t step = entries == 1 ? 1 : entries - 1;
    std::uint64_t total = 0;
    while (total < 200'000) {
      const std::uint32_t slot = driver.slot();
      const unsigned phase = driver.phase();
      driver.Post(step);
      const std::uint32_t doorbell = driver.Ring();
      ASSERT_EQ(doorbell, (total + step) % 65536);
      ASSERT_EQ(device.Announce(doorbell), DoorbellFault::kNone);
      ASSERT_EQ(device.pending(), step);
      ASSERT_EQ(device.slot(), slot);
      ASSERT_EQ(device.phase(), phase);
      ASSERT_EQ(phase, (total / entries) % 2) << "parity of the lap";
      device.Fetch(step);
      driver.Complete(step);
      total += step;
      ASSERT_EQ(device.fetched(), total);
    }
  }
}

TEST(Fetcher, IgnoresTheUpperHalfOfTheDoorbell) {
  Fetcher device(16, 16);
  EXPECT_EQ(device.Announce(0xABCD0003), DoorbellFault::kNone);
  EXPECT_EQ(device.pending(), 3u);
}

TEST(Fetcher, TakesSeveralDoorbellsBeforeItFetches) {
  Fetcher device(16, 8);
  EXPECT_EQ(device.Announce(8), DoorbellFault::kNone);
  EXPECT_EQ(device.Announce(16), DoorbellFault::kNone);
  EXPECT_EQ(device.pending(), 16u);
}

TEST(Fetcher, RefusesWrongDoorbells) {
  Fetcher device(16, 4);
  EXPECT_EQ(device.Announce(0), DoorbellFault::kNothingNew);
  EXPECT_EQ(device.Announce(1), DoorbellFault::kNone);
  EXPECT_EQ(device.Announce(1), DoorbellFault::kNothingNew) << "a count, written twice";
  EXPECT_EQ(device.Announce(6), DoorbellFault::kOverBatch);
  EXPECT_EQ(device.Announce(0), DoorbellFault::kOverRing) << "going back";
  EXPECT_EQ(device.Announce(18), DoorbellFault::kOverRing);
  EXPECT_EQ(device.pending(), 1u) << "a refused doorbell changes nothing";
  EXPECT_EQ(device.Announce(5), DoorbellFault::kNone);
  EXPECT_EQ(device.pending(), 5u);
}

TEST(Fetcher, RefusesToOverrunWhatItHasNotFetched) {
  Fetcher device(8, 8);
  EXPECT_EQ(device.Announce(8), DoorbellFault::kNone);
  EXPECT_EQ(device.Announce(9), DoorbellFault::kOverRing);
  device.Fetch(1);
  EXPECT_EQ(device.Announce(9), DoorbellFault::kNone);
}

TEST(DoorbellFaultNames, AreAllDifferent) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(DoorbellFault::kOverRing); ++i) {
    const std::string name = DoorbellFaultName(static_cast<DoorbellFault>(i));
    EXPECT_NE(name, "unknown") << i;
    for (const std::string& other : names) EXPECT_NE(name, other) << i;
    names.push_back(name);
  }
  EXPECT_STREQ(DoorbellFaultName(static_cast<DoorbellFault>(99)), "unknown");
}

TEST(CompletionRings, ExpectPhaseOneFirstAndFlipEveryLap) {
  CompletionConsumer consumer(4);
  CompletionProducer producer(4);
  std::string phases;
  std::string slots;
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(consumer.phase(), producer.phase());
    EXPECT_EQ(consumer.slot(), producer.slot());
    phases += static_cast<char>('0' + consumer.phase());
    slots += static_cast<char>('0' + consumer.slot());
    consumer.Pop();
    producer.Push();
  }
  EXPECT_EQ(phases, "111100001111");
  EXPECT_EQ(slots, "012301230123");
  EXPECT_EQ(consumer.consumed(), 12u);
  EXPECT_EQ(producer.produced(), 12u);
}

TEST(CompletionRings, ConsumerLooksAhead) {
  CompletionConsumer consumer(4);
  consumer.Pop(2);
  EXPECT_EQ(consumer.slot(1), 3u);
  EXPECT_EQ(consumer.phase(1), 1u);
  EXPECT_EQ(consumer.slot(2), 0u);
  EXPECT_EQ(consumer.phase(2), 0u);
}

TEST(CompletionRings, ProducerKnowsWhenItWouldOverwrite) {
  CompletionProducer producer(4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(producer.full(0));
    producer.Push();
  }
  EXPECT_TRUE(producer.full(0));
  EXPECT_FALSE(producer.full(1));
}

TEST(CompletionRings, DoorbellHoldsCounterSequenceAndArm) {
  CompletionConsumer consumer(16);
  EXPECT_EQ(consumer.Doorbell(false), 0u);
  EXPECT_EQ(consumer.Doorbell(true), 0x80000000u);
  consumer.Pop(65536 + 0x1234);
  EXPECT_EQ(consumer.Doorbell(false), 0x00001234u) << "16 bits of the counter, not the slot";
  consumer.NoteEvent();
  EXPECT_EQ(consumer.Doorbell(false), 0x20001234u);
  consumer.NoteEvent();
  consumer.NoteEvent();
  EXPECT_EQ(consumer.Doorbell(true), 0xE0001234u);
  consumer.NoteEvent();
  EXPECT_EQ(consumer.Doorbell(false), 0x00001234u) << "two bits of sequence";
}

TEST(CompletionRings, DoorbellIsReadBack) {
  const CompletionDoorbell read = ReadCompletionDoorbell(0xE0001234);
  EXPECT_EQ(read.consumed, 0x1234);
  EXPECT_EQ(read.sequence, 3);
  EXPECT_TRUE(read.arm);
  const CompletionDoorbell other = ReadCompletionDoorbell(0x3FFFFFFF);
  EXPECT_EQ(other.consumed, 0xFFFF);
  EXPECT_EQ(other.sequence, 1) << "bits 28:16 mean nothing";
  EXPECT_FALSE(other.arm);
}

// A reader that sees the phase of an entry sees all of it: one thread writes, another polls.
TEST(CompletionRings, EntriesAreNeverSeenHalfWritten) {
  constexpr std::uint32_t kEntries = 8;
  constexpr std::uint32_t kCount = 20'000;
  ExtendedReceiveCompletion ring[kEntries] = {};
  std::atomic<std::uint32_t> consumed{0};
  std::thread device([&] {
    CompletionProducer producer(kEntries);
    for (std::uint32_t i = 0; i < kCount; ++i) {
      while (producer.full(consumed.load(std::memory_order_acquire))) std::this_thread::yield();
      Completion completion;
      completion.queue = QueueType::kReceive;
      completion.operation = Operation::kWrite;
      completion.has_immediate = true;
      completion.unsolicited = true;
      completion.immediate = i;
      completion.length = i << 14;
      EncodeCompletion(completion, CqeSize::k32, producer.phase(), &ring[producer.slot()]);
      producer.Push();
    }
  });
  CompletionConsumer consumer(kEntries);
  std::uint32_t wrong = 0;
  while (consumer.consumed() < kCount) {
    Completion completion;
    const Malformed why =
        DecodeCompletion(&ring[consumer.slot()], CqeSize::k32, consumer.phase(), completion);
    if (why == Malformed::kWrongPhase) {
      std::this_thread::yield();
      continue;
    }
    const std::uint32_t expected = consumer.consumed();
    if (why != Malformed::kNone || completion.immediate != expected ||
        completion.length != expected << 14) {
      ++wrong;
    }
    consumer.Pop();
    consumed.store(consumer.consumed(), std::memory_order_release);
  }
  device.join();
  EXPECT_EQ(wrong, 0u);
}

// A whole send queue: what the driver writes, the device reads, lap after lap.
TEST(SendRing, EveryEntryIsReadInItsLapOnly) {
  constexpr std::uint32_t kEntries = 8;
  NarrowWqe ring[kEntries] = {};
  Producer driver(kEntries, 5);
  Fetcher device(kEntries, 5);
  std::uint32_t read = 0;
  for (std::uint32_t round = 0; round < 40; ++round) {
    const std::uint32_t count = 1 + round % 5;
    ASSERT_LE(count, driver.room());
    for (std::uint32_t i = 0; i < count; ++i) {
      SendWork work;
      work.request_id = driver.posted() & 0xFFFF;
      work.is_inline = true;
      EncodeSend(work, SendFormat{}, driver.phase(), &ring[driver.slot()]);
      driver.Post();
    }
    ASSERT_EQ(device.Announce(driver.Ring()), DoorbellFault::kNone);
    for (; device.pending() != 0; device.Fetch()) {
      SendWork work;
      ASSERT_EQ(DecodeSend(&ring[device.slot()], SendFormat{}, device.phase(), work),
                Malformed::kNone);
      EXPECT_EQ(work.request_id, read++);
    }
    SendWork skipped;
    EXPECT_NE(DecodeSend(&ring[device.slot()], SendFormat{}, device.phase(), skipped),
              Malformed::kNone)
        << "the slot past the doorbell holds the lap before, or nothing";
    driver.Complete(count);
  }
}

}  // namespace
}  // namespace drydock::fabric::efa_queue
