// A completion queue's ring: laps, phases, overruns, and events.

#include "drydock/sim/device/completion_ring.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using fabric::OperationKind;
using fabric::efa_queue::Completion;
using fabric::efa_queue::CqeSize;
using fabric::efa_queue::Malformed;

DeviceCompletion Numbered(std::uint16_t id) { return {.request_id = id, .queue_pair = 7}; }

// The oldest entry, decoded; request id 0xdead when there is none.
Completion Take(CompletionRing& ring) {
  Completion completion{.request_id = 0xdead};
  const void* entry = ring.Peek();
  if (entry == nullptr) return completion;
  EXPECT_EQ(fabric::efa_queue::DecodeCompletion(entry, CqeSize::k32, ring.phase(), completion),
            Malformed::kNone);
  ring.Pop();
  return completion;
}

TEST(CompletionRingTest, StartsEmptyAndZeroed) {
  CompletionRing ring(3, 1, 16);
  EXPECT_EQ(ring.number(), 3u);
  EXPECT_EQ(ring.depth(), 16u);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.Peek(), nullptr);
  EXPECT_EQ(ring.phase(), 1u);  // the memory holds zeros: the first lap is told by a one
  for (std::size_t i = 0; i < 16 * 32; ++i) EXPECT_EQ(ring.memory()[i], std::byte{0});
}

TEST(CompletionRingTest, GivesBackInOrderOverManyLaps) {
  CompletionRing ring(0, 1, 8);
  std::uint16_t next = 0;
  for (std::uint16_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(ring.Push(Numbered(i)));
    if (i % 5 == 4) {
      while (!ring.empty()) EXPECT_EQ(Take(ring).request_id, next++);
    }
  }
  EXPECT_EQ(next, 1000u);
  EXPECT_EQ(ring.lost(), 0u);
}

TEST(CompletionRingTest, PhaseChangesWithEveryLap) {
  CompletionRing ring(0, 1, 4);
  for (std::uint16_t i = 0; i < 20; ++i) {
    EXPECT_EQ(ring.phase(), i / 4 % 2 == 0 ? 1u : 0u) << i;
    ring.Push(Numbered(i));
    Take(ring);
  }
}

TEST(CompletionRingTest, FullRingLosesTheNewestAndCountsThem) {
  CompletionRing ring(0, 1, 4);
  for (std::uint16_t i = 0; i < 4; ++i) EXPECT_TRUE(ring.Push(Numbered(i)));
  for (std::uint16_t i = 4; i < 7; ++i) EXPECT_FALSE(ring.Push(Numbered(i)));
  EXPECT_EQ(ring.lost(), 3u);
  EXPECT_EQ(Take(ring).request_id, 0u);
  EXPECT_TRUE(ring.Push(Numbered(9)));  // room for one again
  EXPECT_FALSE(ring.Push(Numbered(10)));
  for (const std::uint16_t id : {1, 2, 3, 9}) EXPECT_EQ(Take(ring).request_id, id);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.lost(), 4u);
}

// The device does not know how far the driver is.
CompletionRing WithoutDoorbell(std::size_t depth) { return {0, 1, depth, nullptr, false}; }

TEST(CompletionRingTest, WithoutADoorbellAFullRingIsLappedAndItsReaderSeesNothing) {
  CompletionRing ring = WithoutDoorbell(4);
  for (std::uint16_t i = 0; i < 4; ++i) EXPECT_TRUE(ring.Push(Numbered(i)));
  EXPECT_FALSE(ring.empty());
  EXPECT_FALSE(ring.Push(Numbered(4)));  // in the place of 0
  EXPECT_TRUE(ring.empty());  // 1, 2 and 3 are there: a reader in order never gets to them
  EXPECT_EQ(ring.Peek(), nullptr);
  for (std::uint16_t i = 5; i < 8; ++i) EXPECT_FALSE(ring.Push(Numbered(i)));
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.lost(), 4u);
  // The lap after that has the phase that the reader waits for.
  EXPECT_FALSE(ring.Push(Numbered(8)));
  EXPECT_EQ(Take(ring).request_id, 8u);
  EXPECT_EQ(ring.lost(), 8u);  // 5, 6 and 7 as well
  EXPECT_TRUE(ring.empty());
  for (std::uint16_t i = 9; i < 13; ++i) EXPECT_TRUE(ring.Push(Numbered(i)));
  for (std::uint16_t i = 9; i < 13; ++i) EXPECT_EQ(Take(ring).request_id, i);
  EXPECT_EQ(ring.lost(), 8u);
}

TEST(CompletionRingTest, WithoutADoorbellEveryEntryIsReadOrLost) {
  for (std::uint16_t pushes = 0; pushes < 60; ++pushes) {
    SCOPED_TRACE(pushes);
    CompletionRing ring = WithoutDoorbell(8);
    for (std::uint16_t i = 0; i < 5; ++i) ring.Push(Numbered(i));
    for (std::uint16_t i = 0; i < 3; ++i) EXPECT_EQ(Take(ring).request_id, i);
    for (std::uint16_t i = 5; i < 5 + pushes; ++i) ring.Push(Numbered(i));
    std::uint64_t read = 0;
    std::uint16_t last = 0;
    for (; !ring.empty(); ++read) last = Take(ring).request_id;
    if (read > 0) {
      EXPECT_EQ(last, 4 + pushes);
      EXPECT_EQ(read + ring.lost(), 2u + pushes);
    } else {
      EXPECT_EQ(ring.lost(), 2u + pushes - 8u);  // eight are there, still unread
    }
    EXPECT_EQ(read > 0, (1 + pushes) / 8 % 2 == 0);  // the laps that have the reader's phase
  }
}

TEST(CompletionRingTest, WithoutADoorbellAReaderThatKeepsUpLosesNothing) {
  CompletionRing ring = WithoutDoorbell(4);
  std::uint16_t pushed = 0, read = 0;
  while (pushed < 1000) {
    for (int k = 0; k < 4; ++k) EXPECT_TRUE(ring.Push(Numbered(pushed++)));
    while (!ring.empty()) EXPECT_EQ(Take(ring).request_id, read++);
  }
  EXPECT_EQ(read, pushed);
  EXPECT_EQ(ring.lost(), 0u);
}

TEST(CompletionRingTest, RingOfOneEntryWorks) {
  CompletionRing ring(0, 1, 1);
  for (std::uint16_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(ring.Push(Numbered(i)));
    EXPECT_FALSE(ring.Push(Numbered(99)));
    EXPECT_EQ(Take(ring).request_id, i);
    EXPECT_TRUE(ring.empty());
  }
}

TEST(CompletionRingTest, EntrySaysWhatTheDeviceReported) {
  CompletionRing ring(0, 1, 4);
  ring.Push({.request_id = 0x1234,
             .queue_pair = 0x4321,
             .source_queue_pair = 0x66,
             .kind = OperationKind::kRemoteWrite,
             .has_immediate = true,
             .unsolicited = true,
             .immediate = 0xdeadbeef,
             .address_handle = 0x55,
             .length_bytes = 0x12345});
  ring.Push({.request_id = 2,
             .queue_pair = 3,
             .status = 9,
             .kind = OperationKind::kReceive,
             .address_handle = fabric::efa_queue::kUnknownAddressHandle,
             .length_bytes = 8928});
  ring.Push({.request_id = 4, .queue_pair = 3, .status = 7, .kind = OperationKind::kRead});
  const Completion write = Take(ring);
  EXPECT_EQ(write.request_id, 0x1234u);
  EXPECT_EQ(write.queue_pair, 0x4321u);
  EXPECT_EQ(write.queue, fabric::efa_queue::QueueType::kReceive);
  EXPECT_EQ(write.operation, fabric::efa_queue::Operation::kWrite);
  EXPECT_TRUE(write.has_immediate);
  EXPECT_TRUE(write.unsolicited);
  EXPECT_EQ(write.immediate, 0xdeadbeefu);
  EXPECT_EQ(write.address_handle, 0x55u);
  EXPECT_EQ(write.source_queue_pair, 0x66u);
  EXPECT_EQ(write.length, 0x12345u);
  const Completion receive = Take(ring);
  EXPECT_EQ(static_cast<int>(receive.status), 9);
  EXPECT_EQ(receive.queue, fabric::efa_queue::QueueType::kReceive);
  EXPECT_EQ(receive.operation, fabric::efa_queue::Operation::kSend);
  EXPECT_FALSE(receive.has_immediate);
  EXPECT_EQ(receive.address_handle, fabric::efa_queue::kUnknownAddressHandle);
  EXPECT_EQ(receive.length, 8928u);
  const Completion read = Take(ring);
  EXPECT_EQ(static_cast<int>(read.status), 7);
  EXPECT_EQ(read.queue, fabric::efa_queue::QueueType::kSend);
  EXPECT_EQ(read.operation, fabric::efa_queue::Operation::kRead);
}

TEST(CompletionRingTest, ArmedRingRaisesOneEventWithItsNextEntry) {
  CompletionRing ring(0, 1, 8);
  ring.Push(Numbered(1));
  EXPECT_FALSE(ring.TakeEvent());  // it was not armed
  ring.Arm();
  EXPECT_FALSE(ring.TakeEvent());  // entries of before do not count
  ring.Push(Numbered(2));
  ring.Push(Numbered(3));
  EXPECT_TRUE(ring.TakeEvent());
  EXPECT_FALSE(ring.TakeEvent());
  ring.Push(Numbered(4));
  EXPECT_FALSE(ring.TakeEvent());  // it has to be armed again
  ring.Arm();
  ring.Push(Numbered(5));
  EXPECT_TRUE(ring.TakeEvent());
}

TEST(CompletionRingTest, LostEntryRaisesNoEvent) {
  CompletionRing ring(0, 1, 1);
  ring.Push(Numbered(1));
  ring.Arm();
  ring.Push(Numbered(2));
  EXPECT_FALSE(ring.TakeEvent());
  Take(ring);
  ring.Push(Numbered(3));
  EXPECT_TRUE(ring.TakeEvent());
}

}  // namespace
}  // namespace drydock::sim
