// Pieces of memory laid end to end, and the copies in and out of them.

#include "sim/operation.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "sim/operation_table.h"

namespace sim {
namespace {

std::uint64_t AddressOf(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// What WalkSegments visits, as (address, length) pairs.
std::vector<std::pair<std::uint64_t, std::uint32_t>> Visits(const std::vector<Segment>& segments,
                                                            Range range) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> visits;
  WalkSegments(segments, range,
               [&](const Segment& piece) { visits.emplace_back(piece.address, piece.length); });
  return visits;
}

using Expected = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

TEST(WalkSegmentsTest, VisitsThePiecesThatHoldTheRange) {
  const std::vector<Segment> segments = {{1000, 10, 1}, {2000, 0, 2}, {3000, 20, 3}};
  EXPECT_EQ(Visits(segments, {0, 30}), (Expected{{1000, 10}, {3000, 20}}));
  EXPECT_EQ(Visits(segments, {0, 10}), (Expected{{1000, 10}}));
  EXPECT_EQ(Visits(segments, {9, 2}), (Expected{{1009, 1}, {3000, 1}}));
  EXPECT_EQ(Visits(segments, {10, 5}), (Expected{{3000, 5}}));
  EXPECT_EQ(Visits(segments, {29, 1}), (Expected{{3019, 1}}));
  EXPECT_EQ(Visits(segments, {0, 0}), Expected{});
  EXPECT_EQ(Visits(segments, {30, 0}), Expected{});
}

TEST(WalkSegmentsTest, StopsAtTheEndOfTheSegments) {
  const std::vector<Segment> segments = {{1000, 10, 1}};
  EXPECT_EQ(Visits(segments, {5, 100}), (Expected{{1005, 5}}));
  EXPECT_EQ(Visits(segments, {10, 1}), Expected{});
  EXPECT_EQ(Visits({}, {0, 1}), Expected{});
}

TEST(WalkSegmentsTest, PiecesKeepTheirKeys) {
  const std::vector<Segment> segments = {{1000, 10, 7}, {2000, 10, 8}};
  std::vector<std::uint32_t> keys;
  WalkSegments(segments, {5, 10}, [&](const Segment& piece) { keys.push_back(piece.lkey); });
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{7, 8}));
}

class OperationCopyTest : public ::testing::Test {
 protected:
  OperationCopyTest() {
    std::iota(reinterpret_cast<std::uint8_t*>(memory_.data()),
              reinterpret_cast<std::uint8_t*>(memory_.data() + memory_.size()), std::uint8_t{1});
    operation_.segments = {Segment{AddressOf(&memory_[0]), 30, 1},
                           Segment{AddressOf(&memory_[50]), 40, 1}};
    operation_.segment_count = 2;
    operation_.length = 70;
  }
  // Payload byte `i` of the operation.
  std::byte Payload(std::size_t i) const { return memory_[i < 30 ? i : 20 + i]; }

  std::array<std::byte, 100> memory_{};
  MemoryBus bus_{[](std::uint64_t, coro::Duration) {}};
  Operation operation_;
};

TEST_F(OperationCopyTest, OutGathersAnyRange) {
  for (std::uint64_t offset = 0; offset <= 70; ++offset) {
    for (std::uint64_t length = 0; offset + length <= 70; length += 7) {
      std::array<std::byte, 72> target{};
      operation_.CopyOut(bus_, {offset, length}, target.data() + 1);
      EXPECT_EQ(target[0], std::byte{0});
      for (std::uint64_t i = 0; i < length; ++i) EXPECT_EQ(target[1 + i], Payload(offset + i));
      EXPECT_EQ(target[1 + length], std::byte{0});
    }
  }
}

TEST_F(OperationCopyTest, InScattersAnyRange) {
  for (std::uint64_t offset = 0; offset <= 70; offset += 3) {
    for (std::uint64_t length = 0; offset + length <= 70; length += 7) {
      const std::array<std::byte, 100> before = memory_;
      std::vector<std::byte> source(length, std::byte{0xee});
      operation_.CopyIn(bus_, {offset, length}, source.data());
      for (std::uint64_t i = 0; i < 70; ++i) {
        const bool inside = i >= offset && i < offset + length;
        EXPECT_EQ(Payload(i), inside ? std::byte{0xee} : before[i < 30 ? i : 20 + i]);
      }
      for (std::size_t gap = 30; gap < 50; ++gap) EXPECT_EQ(memory_[gap], before[gap]);
      memory_ = before;
    }
  }
}

TEST_F(OperationCopyTest, InlineBytesComeFromTheOperation) {
  operation_.is_inline = true;
  operation_.segment_count = 0;
  for (std::size_t i = 0; i < kMostInlineBytes; ++i) {
    operation_.inline_data[i] = static_cast<std::byte>(200 - i);
  }
  std::array<std::byte, 80> target{};
  operation_.CopyOut(bus_, {10, 70}, target.data());
  for (std::size_t i = 0; i < 70; ++i) EXPECT_EQ(target[i], operation_.inline_data[10 + i]);
}

TEST_F(OperationCopyTest, OverlappingRangesAreCopiedAsIfTheyWereApart) {
  operation_.segment_count = 1;
  operation_.length = 30;
  const std::array<std::byte, 100> before = memory_;
  operation_.CopyOut(bus_, {0, 30}, &memory_[5]);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(memory_[5 + i], before[i]);
  memory_ = before;
  operation_.CopyIn(bus_, {0, 30}, &memory_[5]);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(memory_[i], before[5 + i]);
}

// ---- The table of all of them ----

TEST(OperationTableTest, IdOfAnOperationThatHasEndedFindsNothing) {
  OperationTable table;
  Operation& first = table.Start();
  const OperationId id = first.id;
  EXPECT_EQ(table.Find(id), &first);
  EXPECT_EQ(OperationId::Unpack(id.Pack()).slot, id.slot);
  table.End(first);
  EXPECT_EQ(table.Find(id), nullptr);
  Operation& second = table.Start();  // in the same slot
  EXPECT_EQ(second.id.slot, id.slot);
  EXPECT_EQ(table.Find(id), nullptr);
  EXPECT_EQ(table.Find(second.id), &second);
  EXPECT_EQ(table.Find({1000, 1}), nullptr);
  EXPECT_EQ(table.live(), 1u);
}

TEST(OperationTableTest, SequenceNumbersNeverRepeatAndFreshOnesAreEmpty) {
  OperationTable table;
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    Operation& operation = table.Start();
    EXPECT_EQ(operation.segment_count, 0u);
    EXPECT_EQ(operation.next_packet, 0u);
    EXPECT_FALSE(operation.ended || operation.answered || operation.timing_out);
    EXPECT_TRUE(i == 0 || operation.sequence > last);
    last = operation.sequence;
    operation.next_packet = 9;
    operation.ended = true;
    table.End(operation);
  }
}

TEST(OperationTableTest, VisitMayEndWhatItVisits) {
  OperationTable table;
  std::vector<OperationId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(table.Start().id);
  int visits = 0;
  table.ForEach([&](Operation& operation) {
    if (visits++ % 2 == 0) table.End(operation);
  });
  EXPECT_EQ(visits, 10);
  EXPECT_EQ(table.live(), 5u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(table.Find(ids[i]) != nullptr, i % 2 == 1);
}

TEST(OperationTableTest, ReferencesStayWhileOthersComeAndGo) {
  OperationTable table;
  Operation& first = table.Start();
  first.length = 77;
  for (int i = 0; i < 10000; ++i) table.Start();
  EXPECT_EQ(first.length, 77u);
  EXPECT_EQ(table.Find(first.id), &first);
}

}  // namespace
}  // namespace sim
