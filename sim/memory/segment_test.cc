// Pieces of memory laid end to end.

#include "drydock/sim/memory/segment.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

// The pieces that WalkSegments visits, as (address, length) pairs.
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

}  // namespace
}  // namespace drydock::sim
