// Where bytes come from and go to: pieces of memory at both ends, and the observers' events before
// and after.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/landing.h"
#include "drydock/sim/device/observers.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/placement.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::OperationKind;
using sim::EventKind;
using sim::Landing;
using sim::Operation;
using sim::PacketFlags;
using sim::QueuePair;
using Bytes = std::vector<int>;
using Ids = std::vector<std::uint64_t>;
using Lines = std::vector<std::string>;

// Byte i of a NIC's memory is i + 1, as long as that fits.
void Number(BenchMemory& memory) {
  for (std::size_t i = 0; i < 255; ++i) memory.bytes[i] = static_cast<std::byte>(i + 1);
}

Bytes BytesAt(const BenchMemory& memory, std::size_t begin, std::size_t count) {
  Bytes bytes;
  for (std::size_t i = begin; i < begin + count; ++i) {
    bytes.push_back(std::to_integer<int>(memory.bytes[i]));
  }
  return bytes;
}

// first, first + 1, ... and then those from `second` on.
Bytes Rising(int first, int count, int second = 0, int second_count = 0) {
  Bytes bytes;
  for (int i = 0; i < count; ++i) bytes.push_back(first + i);
  for (int i = 0; i < second_count; ++i) bytes.push_back(second + i);
  return bytes;
}

// NIC a sends to NIC b. The placements of both.
struct Ends {
  explicit Ends(sim::Profile profile = Plain()) : bench(std::move(profile)) {
    Number(a.memory);
    inbox.segment_count = 1;
    inbox.segments[0] = b.memory.At(0, 1000);
  }

  // All packets of it have left.
  Operation& Start(OperationKind kind, std::uint64_t length) {
    Operation& operation = bench.Start(kind, from, to, length);
    operation.next_packet = operation.packets;
    return operation;
  }
  // Its payload is two pieces of a's memory.
  static void Gather(Operation& operation, const sim::Segment& first, const sim::Segment& second) {
    operation.segment_count = 2;
    operation.segments = {first, second};
    operation.length = first.length + second.length;
    operation.Divide(1 << 20);
  }
  // A message lands in `inbox`, `prefix` bytes from its beginning.
  void PlaceMessage(Operation& operation, std::uint64_t prefix = 0) {
    Landing landing;
    landing.queue_pair = to.number;
    landing.serial = to.serial;
    landing.receive = inbox;
    landing.prefix = prefix;
    landing.operation = operation.id;
    parts.placement.PlaceMessage(operation, to, landing);
  }

  Bench bench;
  BenchNic& a = bench.AddNic();
  BenchNic& b = bench.AddNic();
  QueuePair& from = a.OpenQueuePair();
  QueuePair& to = b.OpenQueuePair();
  BenchParts initiator{a};
  BenchParts parts{b};
  sim::ReceiveWork inbox;
};

// ---- Pieces ----

TEST(GatherTest, TwoSegmentsAreLaidEndToEndAtTheTarget) {
  Ends ends;
  Operation& write = ends.Start(OperationKind::kWrite, 0);
  Ends::Gather(write, ends.a.memory.At(100, 5), ends.a.memory.At(10, 7));
  write.next_packet = 1;
  ends.parts.placement.Place(write, 0);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 12), Rising(101, 5, 11, 7));
  EXPECT_EQ(ends.b.memory.bytes[12], std::byte{0});
  EXPECT_EQ(ends.parts.listener.all_placed, Ids{write.sequence});
}

TEST(GatherTest, PacketTakesItsOwnPartOfTheSegments) {
  Ends ends;
  Operation& write = ends.Start(OperationKind::kWrite, 0);
  Ends::Gather(write, ends.a.memory.At(100, 5), ends.a.memory.At(10, 7));
  write.Divide(4);  // the second packet holds the end of one and the beginning of the other
  ends.parts.placement.Place(write, 1);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 4), Bytes(4));
  EXPECT_EQ(BytesAt(ends.b.memory, 4, 4), (Bytes{105, 11, 12, 13}));
  EXPECT_EQ(BytesAt(ends.b.memory, 8, 4), Bytes(4));
}

TEST(GatherTest, MessageIsScatteredOverTheSegmentsOfItsReceive) {
  Ends ends;
  ends.inbox.segment_count = 3;
  ends.inbox.segments = {ends.b.memory.At(0, 3), ends.b.memory.At(200, 1),
                         ends.b.memory.At(100, 20)};
  ends.PlaceMessage(ends.Start(OperationKind::kSend, 10));
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 4), (Bytes{1, 2, 3, 0}));
  EXPECT_EQ(BytesAt(ends.b.memory, 200, 2), (Bytes{4, 0}));
  EXPECT_EQ(BytesAt(ends.b.memory, 100, 7), (Bytes{5, 6, 7, 8, 9, 10, 0}));
}

TEST(GatherTest, SegmentsOfBothEndsNeedNotMatchAndAPrefixIsLeftOut) {
  Ends ends;
  ends.inbox.segment_count = 2;
  ends.inbox.segments[0] = ends.b.memory.At(0, 6);
  ends.inbox.segments[1] = ends.b.memory.At(50, 20);
  Operation& message = ends.Start(OperationKind::kSend, 0);
  Ends::Gather(message, ends.a.memory.At(100, 4), ends.a.memory.At(10, 4));
  ends.PlaceMessage(message, 3);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 6), (Bytes{0, 0, 0, 101, 102, 103}));
  EXPECT_EQ(BytesAt(ends.b.memory, 50, 6), (Bytes{104, 11, 12, 13, 14, 0}));
}

TEST(GatherTest, DataOfAReadAreScatteredAtTheInitiator) {
  Ends ends;
  Number(ends.b.memory);
  Operation& read = ends.Start(OperationKind::kRead, 0);
  Ends::Gather(read, ends.a.memory.At(1000, 2), ends.a.memory.At(2000, 3));
  read.remote_address += 40;
  ends.initiator.placement.Place(read, PacketFlags::kOfRead);
  EXPECT_EQ(BytesAt(ends.a.memory, 1000, 3), (Bytes{41, 42, 0}));
  EXPECT_EQ(BytesAt(ends.a.memory, 2000, 4), (Bytes{43, 44, 45, 0}));
}

TEST(GatherTest, InlinePayloadOfAPacketBeginsAtItsOffset) {
  Ends ends;
  Operation& write = ends.Start(OperationKind::kWrite, 80);
  write.is_inline = true;
  write.segment_count = 0;
  for (int i = 0; i < 80; ++i) write.inline_data[static_cast<std::size_t>(i)] = std::byte(i + 1);
  write.Divide(32);
  ends.parts.placement.Place(write, 2);
  EXPECT_EQ(BytesAt(ends.b.memory, 60, 4), Bytes(4));
  EXPECT_EQ(BytesAt(ends.b.memory, 64, 16), Rising(65, 16));
  Operation& message = ends.Start(OperationKind::kSend, 3);
  message.is_inline = true;
  message.inline_data[0] = message.inline_data[1] = message.inline_data[2] = std::byte{7};
  ends.PlaceMessage(message);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 4), (Bytes{7, 7, 7, 0}));
}

TEST(GatherTest, TargetMayOverlapItsSource) {
  Ends ends;
  QueuePair& other = ends.a.OpenQueuePair();
  Operation& up = ends.bench.Start(OperationKind::kWrite, ends.from, other, 100);
  up.remote_address += 10;
  ends.initiator.placement.Place(up, 0);
  EXPECT_EQ(BytesAt(ends.a.memory, 0, 110), Rising(1, 10, 1, 100));
  Number(ends.a.memory);
  Operation& down = ends.bench.Start(OperationKind::kWrite, ends.from, other, 100);
  down.segments[0] = ends.a.memory.At(10, 100);
  ends.initiator.placement.Place(down, 0);
  EXPECT_EQ(BytesAt(ends.a.memory, 0, 110), Rising(11, 100, 101, 10));
}

// ---- The observers' events ----

// Looks at the first byte of the target when bytes are placed.
struct Looker final : sim::Observer {
  explicit Looker(const BenchMemory& watched) : memory(watched) {}
  void OnPlacing(const sim::BytesPlaced& bytes) override {
    before.push_back(std::to_integer<int>(memory.bytes[0]));
    pieces.assign(bytes.memory.begin(), bytes.memory.end());
    in_memory = bytes.in_memory;
  }
  void OnPlaced(const sim::BytesPlaced&) override {
    after.push_back(std::to_integer<int>(memory.bytes[0]));
  }

  const BenchMemory& memory;
  Bytes before;
  Bytes after;
  std::vector<sim::Segment> pieces;
  sim::Range in_memory;
};

TEST(GatherTest, ObserversAreToldBeforeTheBytesMoveAndAfter) {
  Ends ends;
  Looker looker(ends.b.memory);
  ends.bench.observers.Add(looker);
  ends.parts.placement.Place(ends.Start(OperationKind::kWrite, 100), 0);
  EXPECT_EQ(looker.before, Bytes{0});
  EXPECT_EQ(looker.after, Bytes{1});
  EXPECT_EQ(ends.bench.told.Take(), (Lines{"placing 0+100", "placed 0+100"}));
  EXPECT_EQ(looker.pieces.at(0).address, ends.b.memory.address());
  ends.inbox.segment_count = 2;
  ends.inbox.segments[1] = ends.b.memory.At(2000, 9);
  ends.PlaceMessage(ends.Start(OperationKind::kSend, 10), 40);
  EXPECT_EQ(looker.pieces.size(), 2u);
  EXPECT_EQ(looker.in_memory.offset, 40u);
  EXPECT_EQ(looker.in_memory.length, 10u);
}

TEST(GatherTest, SecondCopyTakesTheBytesThatAreThereNow) {
  Ends ends;
  Operation& write = ends.Start(OperationKind::kWrite, 10);
  write.copies = 2;
  ends.parts.placement.Place(write, 0);
  EXPECT_TRUE(ends.parts.listener.all_placed.empty());  // the copy is still to come
  ends.a.memory.bytes[0] = std::byte{99};
  ends.parts.placement.Place(write, PacketFlags::kSecondCopy);
  EXPECT_EQ(ends.b.memory.bytes[0], std::byte{99});
  EXPECT_EQ(ends.parts.listener.all_placed, Ids{write.sequence});
  EXPECT_EQ(write.bytes_placed, 10u);
  EXPECT_EQ(ends.b.state.counters.placed_twice, 1u);
  EXPECT_EQ(ends.bench.told.Take(),
            (Lines{"placing 0+10", "placed 0+10", "placing 0+10 again", "placed 0+10 again"}));
}

TEST(GatherTest, NothingMovesWhereARightHasEnded) {
  Ends ends;
  Operation& write = ends.Start(OperationKind::kWrite, 10);
  ends.b.state.memory.Revoke(ends.b.memory.keys.remote);
  ends.parts.placement.Place(write, 0);
  EXPECT_EQ(write.status, 7);
  Operation& read = ends.Start(OperationKind::kRead, 10);
  ends.initiator.placement.Place(read, PacketFlags::kOfRead);
  EXPECT_EQ(read.status, 7);
  ends.a.state.memory.Revoke(ends.a.memory.keys.remote);
  Operation& closed = ends.Start(OperationKind::kRead, 10);
  ends.initiator.placement.Place(closed, PacketFlags::kOfRead);
  EXPECT_EQ(closed.status, 5);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 10), Bytes(10));
  EXPECT_EQ(ends.bench.told.Count("placing 0+10"), 0u);
  EXPECT_TRUE(ends.parts.listener.all_placed.empty());
}

// ---- Two steps ----

sim::Profile Splitting() {
  sim::Profile profile = Plain();
  profile.split_placement_one_in = 1;
  return profile;
}

TEST(GatherTest, EndOfASplitPacketLandsFirstAndRightsAreLookedAtAgain) {
  Ends ends(Splitting());
  Operation& write = ends.Start(OperationKind::kWrite, 10);
  ends.parts.placement.Place(write, 0);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 10), (Bytes{0, 0, 0, 0, 0, 6, 7, 8, 9, 10}));
  EXPECT_TRUE(ends.parts.listener.all_placed.empty());
  EXPECT_EQ(ends.bench.told.Take(),
            (Lines{"placing 5+5, the rest comes", "placed 5+5, the rest comes"}));
  ends.bench.RunFor(1ms);
  EXPECT_EQ(ends.b.actor.First(EventKind::kPlaceRest).b, write.id.Pack());
  ends.b.state.memory.Revoke(ends.b.memory.keys.remote);
  ends.parts.placement.PlaceRest(write, 0);
  EXPECT_EQ(write.status, 7);
  EXPECT_EQ(ends.b.memory.bytes[0], std::byte{0});
}

TEST(GatherTest, RestOfASplitMessageHasLeftItsSenderBefore) {
  Ends ends(Splitting());
  ends.PlaceMessage(ends.Start(OperationKind::kSend, 10));
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 10), (Bytes{0, 0, 0, 0, 0, 6, 7, 8, 9, 10}));
  EXPECT_TRUE(ends.parts.listener.landed.empty());
  EXPECT_EQ(ends.to.landing.size(), 1u);
  std::fill(ends.a.memory.bytes.begin(), ends.a.memory.bytes.end(), std::byte{99});
  ends.bench.RunFor(1ms);
  ends.parts.placement.Land(ends.b.actor.First(EventKind::kLand).b);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 10), Rising(1, 10));
  EXPECT_EQ(ends.parts.listener.landed.size(), 1u);
  EXPECT_TRUE(ends.to.landing.empty());
}

TEST(GatherTest, RestOfAMessageDoesNotReachAReceiveThatWasClosed) {
  Ends ends(Splitting());
  Operation& message = ends.Start(OperationKind::kSend, 10);
  ends.PlaceMessage(message);
  ends.bench.RunFor(1ms);
  ends.b.state.memory.Revoke(ends.b.memory.keys.remote);
  ends.parts.placement.Land(ends.b.actor.First(EventKind::kLand).b);
  EXPECT_EQ(ends.b.memory.bytes[0], std::byte{0});
  ASSERT_EQ(ends.parts.listener.landed.size(), 1u);
  EXPECT_EQ(ends.parts.listener.landed[0].completion.status, 5);
  EXPECT_EQ(ends.parts.listener.landed_for[0], &message);
}

// ---- By a plan ----

TEST(GatherTest, PlanPlacesPiecesAtTheirTimesAndFlipsBitsInTheEnd) {
  Ends ends;
  ends.bench.UseFaults();
  ends.bench.faults.placement = {.as_usual = false,
                                 .steps = {{0us, {0, 4}}, {20us, {4, 6}}},
                                 .flipped = {{3, std::byte{0x80}}}};
  Operation& write = ends.Start(OperationKind::kWrite, 10);
  write.faulted = true;
  ends.parts.placement.Place(write, 0);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 5), (Bytes{1, 2, 3, 4, 0}));
  EXPECT_TRUE(ends.parts.listener.all_placed.empty());
  ends.bench.RunFor(20us);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 10), (Bytes{1, 2, 3, 0x84, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(ends.parts.listener.all_placed, Ids{write.sequence});
}

TEST(GatherTest, PlanMayPlaceNothingAndCloseTheRegion) {
  Ends ends;
  ends.bench.UseFaults();
  ends.bench.faults.placement.as_usual = false;
  Operation& lost = ends.Start(OperationKind::kWrite, 10);
  lost.faulted = true;
  ends.parts.placement.Place(lost, 0);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 10), Bytes(10));
  EXPECT_EQ(ends.parts.listener.all_placed, Ids{lost.sequence});  // and nobody knows
  ends.bench.faults.placement = {.region_closes = true};
  Operation& closed = ends.Start(OperationKind::kWrite, 10);
  closed.faulted = true;
  ends.parts.placement.Place(closed, 0);
  EXPECT_EQ(closed.status, 7);
}

TEST(GatherTest, MessageLandsInThePiecesOfAPlanAsItWasWhenItArrived) {
  Ends ends;
  ends.bench.UseFaults();
  ends.bench.faults.placement = {.as_usual = false,
                                 .steps = {{20us, {0, 4}}, {0us, {4, 6}}},
                                 .flipped = {{9, std::byte{0x80}}}};
  Operation& message = ends.Start(OperationKind::kSend, 10);
  message.faulted = true;
  ends.PlaceMessage(message);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 10), (Bytes{0, 0, 0, 0, 5, 6, 7, 8, 9, 0x8a}));
  std::fill(ends.a.memory.bytes.begin(), ends.a.memory.bytes.end(), std::byte{99});
  ends.bench.RunFor(20us);
  EXPECT_EQ(BytesAt(ends.b.memory, 0, 4), Rising(1, 4));
  ASSERT_EQ(ends.b.actor.Count(EventKind::kLand), 1u);
  ends.parts.placement.Land(ends.b.actor.First(EventKind::kLand).b);
  EXPECT_EQ(ends.parts.listener.landed.size(), 1u);
}

TEST(GatherTest, BytesOfAnotherProcessThatAreGoneLeaveSilence) {
  struct Elsewhere final : sim::PayloadElsewhere {
    bool Fetch(const Operation&, sim::Range range, std::byte* target) override {
      std::memset(target, 5, range.length);
      return there;
    }
    bool there = true;
  };
  Ends ends;
  Elsewhere payload;
  Operation& write = ends.Start(OperationKind::kWrite, 10);
  write.payload = &payload;
  ends.parts.placement.Place(write, 0);
  EXPECT_EQ(BytesAt(ends.b.memory, 9, 2), (Bytes{5, 0}));
  payload.there = false;
  ends.bench.told.Take();
  Operation& gone = ends.Start(OperationKind::kWrite, 10);
  gone.payload = &payload;
  ends.parts.placement.Place(gone, 0);
  EXPECT_EQ(ends.bench.told.Take(), (Lines{"placing 0+10", "silent"}));
  EXPECT_EQ(ends.parts.listener.all_placed, Ids{write.sequence});
}

}  // namespace
}  // namespace drydock::sim_testing
