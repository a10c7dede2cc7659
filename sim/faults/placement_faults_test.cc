// How bytes reach memory under a fault plan.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <vector>

#include "drydock/fabric/error.h"
#include "drydock/sim/testing/fault_scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;
using fabric::ErrorCode;

// Pieces of `piece` bytes that are all zero, and that hold the pattern.
struct Pieces {
  std::size_t missing = 0;
  std::size_t there = 0;
};

Pieces Count(std::span<const std::byte> bytes, std::size_t piece) {
  Pieces pieces;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    ++(IsZero(bytes.subspan(at, std::min(piece, bytes.size() - at))) ? pieces.missing
                                                                     : pieces.there);
  }
  return pieces;
}

std::size_t WrongBits(std::span<const std::byte> bytes, std::span<const std::byte> right) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    wrong += static_cast<std::size_t>(
        std::popcount(static_cast<unsigned>(std::to_integer<unsigned>(bytes[i] ^ right[i]))));
  }
  return wrong;
}

// ---- Twice, in pieces ----

TEST(DuplicatePlacementTest, LandsAgainBeforeTheCompletion) {
  FaultRule rule = Nth(Fault::kDuplicatePlacement, 1);
  rule.parameters.copies = 2;
  FaultScene scene({rule});
  scene.Write(1, 4096);
  const auto bytes = scene.b.Bytes(0, 4096);
  for (int copy = 1; copy <= 3; ++copy) {
    scene.RunUntilSomeLanded(bytes);
    EXPECT_TRUE(Holds(bytes, 1));
    EXPECT_TRUE(scene.a.completions.empty());
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
  }
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_TRUE(IsZero(bytes));  // nothing after the completion
  EXPECT_EQ(scene.b.nic.counters().placed_twice, 2u);
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(DuplicatePlacementTest, MessagesToo) {
  FaultScene scene({Nth(Fault::kDuplicatePlacement, 1)});
  scene.Send(1, 4096);
  const auto bytes = scene.b.Bytes(0, 4096);
  scene.RunUntilSomeLanded(bytes);
  EXPECT_TRUE(Holds(bytes, 1));
  Fill(bytes, 2);
  EXPECT_EQ(scene.lab.Take(scene.b, 1001).provider_error, 0);
  EXPECT_TRUE(Holds(bytes, 1));
  EXPECT_EQ(scene.StatusOf(1), 0);
  scene.ExpectHealed();
}

TEST(ReorderedSegmentsTest, PiecesLandInAnyOrder) {
  FaultScene scene({Rule(Fault::kReorderedSegments)});
  scene.Write(1, 4096);
  const auto bytes = scene.b.Bytes(0, 4096);
  std::vector<std::size_t> order;  // in which pieces came
  std::vector<bool> seen(64);
  EXPECT_TRUE(scene.lab.world().timeline().RunUntil(
      [&] {
        for (std::size_t piece = 0; piece < 64; ++piece) {
          if (seen[piece] || IsZero(bytes.subspan(64 * piece, 64))) continue;
          seen[piece] = true;
          order.push_back(piece);
        }
        return order.size() == 64;
      },
      1s));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_TRUE(Holds(bytes, 1));
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

TEST(ReorderedSegmentsTest, OfManySizesAndKindsAllBytesLand) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FaultScene scene({Rule(Fault::kReorderedSegments)}, Small(), seed);
    for (const std::size_t length : {1u, 63u, 64u, 65u, 8928u, 8929u, 40000u}) {
      scene.Write(1, length);
      EXPECT_EQ(scene.StatusOf(1), 0);
      EXPECT_TRUE(Holds(scene.b.Bytes(0, length), 1)) << length << " bytes, seed " << seed;
      scene.Read(2, length);
      EXPECT_EQ(scene.StatusOf(2), 0);
      EXPECT_TRUE(Holds(scene.a.Bytes(0, length), 2)) << length << " bytes, seed " << seed;
      if (length > 8928) continue;
      scene.Send(3, length);
      EXPECT_EQ(scene.StatusOf(3), 0);
      EXPECT_EQ(scene.lab.Take(scene.b, 1003).length_bytes, length);
      EXPECT_TRUE(Holds(scene.b.Bytes(0, length), 3)) << length << " bytes, seed " << seed;
    }
    scene.ExpectHealed();
  }
}

TEST(TornPlacementTest, SomePiecesAreThereLongBeforeTheOthers) {
  FaultScene scene({Rule(Fault::kTornPlacement)});
  scene.Write(1, 64);
  const auto bytes = scene.b.Bytes(0, 64);
  scene.RunUntilSomeLanded(bytes);
  EXPECT_EQ(Count(bytes, 8).there, 4u);
  scene.lab.world().timeline().RunFor(9us);
  EXPECT_EQ(Count(bytes, 8).missing, 4u);
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_TRUE(Holds(bytes, 1));
  scene.ExpectHealed();
}

TEST(TornPlacementTest, MessagesToo) {
  FaultScene scene({Rule(Fault::kTornPlacement)});
  scene.Send(1, 64);
  const auto bytes = scene.b.Bytes(0, 64);
  scene.RunUntilSomeLanded(bytes);
  EXPECT_EQ(Count(bytes, 8).missing, 4u);
  EXPECT_EQ(scene.lab.Take(scene.b, 1001).provider_error, 0);
  EXPECT_TRUE(Holds(bytes, 1));
  EXPECT_EQ(scene.StatusOf(1), 0);
  scene.ExpectHealed();
}

// The bytes have left their sender: its end does not stop those that are still to land.
TEST(TornPlacementTest, MessageLandsWholeThoughItsSenderCloses) {
  FaultScene scene({Rule(Fault::kTornPlacement)});
  scene.Send(1, 64);
  const auto bytes = scene.b.Bytes(0, 64);
  scene.RunUntilSomeLanded(bytes);
  ASSERT_TRUE(scene.a.endpoint->Close().ok());
  EXPECT_EQ(scene.lab.Take(scene.b, 1001).provider_error, 0);
  EXPECT_TRUE(Holds(bytes, 1));
}

TEST(MixedReadTest, PiecesAreOfDifferentMoments) {
  FaultScene scene({Rule(Fault::kMixedRead)});
  scene.Read(1, 4096);
  const auto bytes = scene.a.Bytes(0, 4096);
  scene.RunUntilSomeLanded(bytes);
  Fill(scene.b.Bytes(0, 4096), 2);
  EXPECT_EQ(scene.StatusOf(1), 0);
  std::vector<std::byte> old(4096);
  Fill(old, 1);
  std::size_t of_before = 0;
  std::size_t of_after = 0;
  for (std::size_t at = 0; at < 4096; at += 64) {
    const auto piece = bytes.subspan(at, 64);
    of_before += std::equal(piece.begin(), piece.end(), old.begin() + static_cast<long>(at));
    of_after += std::equal(piece.begin(), piece.end(), scene.b.Bytes(at, 64).begin());
  }
  EXPECT_EQ(of_before, 32u);
  EXPECT_EQ(of_after, 32u);
  EXPECT_EQ(scene.Fired(), 1u);
  scene.ExpectHealed();
}

// ---- Late ----

TEST(LateSourceReadTest, BufferThatIsReusedEarlyIsSentAsItIsThen) {
  FaultScene scene({Rule(Fault::kLateSourceRead)});
  scene.Write(1, 4096);
  scene.lab.Watch(45us);
  Fill(scene.a.Bytes(0, 4096), 2);
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 4096), 2));
  EXPECT_EQ(scene.Fired(), 1u);
  scene.lab.ExpectFinding(sim::Check::kBufferRace, 1);
  scene.ExpectHealed();
}

TEST(StragglerWriteTest, LandsAndCompletesLate) {
  FaultScene scene({Nth(Fault::kStragglerWrite, 1)});
  scene.Write(1, 4096);
  scene.Write(2, 4096, 8192);
  EXPECT_EQ(scene.StatusOf(2), 0);
  scene.lab.Watch(4900us);
  EXPECT_TRUE(IsZero(scene.b.Bytes(0, 4096)));
  EXPECT_TRUE(scene.a.completions.empty());
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 4096), 1));
  scene.ExpectHealed();
}

// Memory that was recycled meanwhile is not written: rights are those of the moment.
TEST(StragglerWriteTest, MeetsTheRightsOfTheMomentItLands) {
  FaultScene scene({Nth(Fault::kStragglerWrite, 1)});
  auto region = scene.b.Register(0, 4096, fabric::Access::kAll);
  fabric::WriteRequest write = scene.a.WriteTo(scene.b, 0, 4096, 1);
  write.target = region->remote();
  ASSERT_EQ(scene.a.endpoint->Write(write), ErrorCode::kOk);
  scene.lab.Watch(1ms);
  region.reset();
  EXPECT_EQ(scene.StatusOf(1), 7);
  EXPECT_TRUE(IsZero(scene.b.Bytes(0, 4096)));
  scene.lab.ExpectFinding(sim::Check::kUseAfterDeregister, 1);
  scene.ExpectHealed();
}

TEST(ReorderedOperationsTest, LaterOnesAreServedFirst) {
  FaultRule rule = Nth(Fault::kReorderedOperations, 1);
  rule.parameters.behind = 3;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FaultScene scene({rule}, Calm(), seed);
    for (std::uint64_t i = 1; i <= 6; ++i) scene.Write(i, 64, i * 4096);
    EXPECT_TRUE(scene.lab.Until([&] { return scene.a.completions.size() == 6; }));
    for (std::size_t place = 0; place < 3; ++place) {
      EXPECT_NE(NumberOf(scene.a.completions[place]), 1u) << "seed " << seed;
    }
    for (std::uint64_t i = 1; i <= 6; ++i) EXPECT_EQ(scene.StatusOf(i), 0);
    EXPECT_EQ(scene.Fired(), 1u);
    scene.ExpectHealed();
  }
}

TEST(ReorderedOperationsTest, NobodyWaitsForOperationsThatNeverCome) {
  FaultScene scene({Rule(Fault::kReorderedOperations)});
  scene.Write(1, 64);
  EXPECT_GE(scene.Wait(1), 100us);
  EXPECT_TRUE(Holds(scene.b.Bytes(0, 64), 1));
  scene.ExpectHealed();
}

// ---- Faults that no device has ----

TEST(LostPlacementTest, SucceedsAndNothingLands) {
  FaultScene scene({Rule(Fault::kLostPlacement)});
  scene.Write(1, 12000);
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_TRUE(IsZero(scene.b.memory()));
  scene.Send(2, 100);
  EXPECT_EQ(scene.StatusOf(2), 0);
  EXPECT_EQ(scene.lab.Take(scene.b, 1002).provider_error, 0);
  EXPECT_TRUE(IsZero(scene.b.memory()));
  EXPECT_EQ(scene.Fired(), 2u);
  scene.ExpectHealed();
}

TEST(LostPlacementTest, ReadsToo) {
  FaultScene scene({Rule(Fault::kLostPlacement)});
  scene.Read(1, 12000);
  EXPECT_EQ(scene.StatusOf(1), 0);
  EXPECT_TRUE(IsZero(scene.a.memory()));
  scene.ExpectHealed();
}

TEST(CorruptPlacementTest, SoManyBitsAreWrong) {
  FaultRule rule = Rule(Fault::kCorruptPlacement);
  rule.parameters.bits = 20;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FaultScene scene({rule}, Small(), seed);  // where packets land twice
    scene.Write(1, 40000);
    EXPECT_EQ(scene.StatusOf(1), 0);
    EXPECT_EQ(WrongBits(scene.b.Bytes(0, 40000), scene.a.Bytes(0, 40000)), 20u);
    scene.Read(2, 40000);
    EXPECT_EQ(scene.StatusOf(2), 0);
    EXPECT_EQ(WrongBits(scene.a.Bytes(0, 40000), scene.b.Bytes(0, 40000)), 20u);
    scene.Send(3, 2);
    EXPECT_EQ(scene.StatusOf(3), 0);
    EXPECT_EQ(scene.lab.Take(scene.b, 1003).provider_error, 0);
    EXPECT_EQ(WrongBits(scene.b.Bytes(0, 2), scene.a.Bytes(0, 2)), 16u) << "all of them";
    EXPECT_EQ(scene.Fired(), 3u);
    scene.ExpectHealed();
  }
}

// A block that two packets share is placed by the later one, whichever lands first.
TEST(CorruptPlacementTest, BitsOfSharedBlocksAreWrong) {
  FaultRule rule = Rule(Fault::kCorruptPlacement);
  rule.parameters.bits = 20;
  sim::Profile profile = CopyOf("p5");
  profile.device.mtu = 480;  // so that there are many
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    FaultScene scene({rule}, profile, seed);
    scene.Write(1, 40000);
    EXPECT_EQ(scene.StatusOf(1), 0);
    EXPECT_EQ(WrongBits(scene.b.Bytes(0, 40000), scene.a.Bytes(0, 40000)), 20u);
    scene.Read(2, 40000);
    EXPECT_EQ(scene.StatusOf(2), 0);
    EXPECT_EQ(WrongBits(scene.a.Bytes(0, 40000), scene.b.Bytes(0, 40000)), 20u);
  }
}

}  // namespace
}  // namespace drydock::sim_testing
