// The cost of memory or a thread that is not on the NIC's node, and that there is none where no
// node is given. The default profile has a NIC on each of two nodes, and a narrow link between
// them.

#include "drydock/sim/machine/numa.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::ErrorCode;

// Long, so that the time between two polls does not matter beside it.
constexpr coro::Duration kCrossing = 10us;

// Two machines, whose NICs 0 on node 0 talk to each other.
struct Pair {
  explicit Pair(sim::Profile profile, std::uint64_t seed = 1)
      : lab(seed, std::move(profile)), a(lab.Add("a")), b(lab.Add("b")) {
    lab.Introduce();
  }

  void PlaceMemory(Side& side, int numa_node) {
    EXPECT_TRUE(numa().PlaceMemory(side.node, side.memory(), numa_node).ok());
  }
  void PlaceThread(Side& side, int numa_node) {
    EXPECT_TRUE(numa().PlaceThread(side.node, 0, numa_node).ok());
  }
  sim::Numa& numa() { return lab.world().numa(); }

  // Time until all of `count` writes of `length` bytes at `offset`, posted one by one, have ended.
  coro::Duration Write(std::size_t length, std::uint64_t count = 1, std::size_t offset = 0) {
    const coro::Time start = lab.world().Now();
    for (std::uint64_t i = 1; i <= count; ++i) {
      EXPECT_EQ(a.endpoint->Write(a.WriteTo(b, offset, length, i)), ErrorCode::kOk);
    }
    for (std::uint64_t i = 1; i <= count; ++i) EXPECT_TRUE(lab.Take(a, i).ok());
    return lab.world().Now() - start;
  }
  coro::Duration Read(std::size_t length) {
    const coro::Time start = lab.world().Now();
    EXPECT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, length, 1)), ErrorCode::kOk);
    EXPECT_TRUE(lab.Take(a, 1).ok());
    return lab.world().Now() - start;
  }

  Lab lab;
  Side& a;
  Side& b;
};

sim::Profile CalmWithLongCrossing() {
  sim::Profile profile = Calm();
  profile.numa_crossing = kCrossing;
  return profile;
}

// How often something crossed, beside a pair of which nothing is placed.
double Crossings(const std::function<void(Pair&)>& place,
                 const std::function<coro::Duration(Pair&)>& run) {
  Pair near(CalmWithLongCrossing());
  Pair other(CalmWithLongCrossing());
  place(other);
  return static_cast<double>((run(other) - run(near)).count()) /
         static_cast<double>(kCrossing.count());
}

coro::Duration OneWrite(Pair& pair) { return pair.Write(4096); }
coro::Duration OneRead(Pair& pair) { return pair.Read(4096); }

TEST(NumaTest, FarMemoryIsReadThereAndBackAndWrittenOneWay) {
  const auto source = [](Pair& pair) { pair.PlaceMemory(pair.a, 1); };
  const auto target = [](Pair& pair) { pair.PlaceMemory(pair.b, 1); };
  EXPECT_NEAR(Crossings(source, OneWrite), 2, 0.1);
  EXPECT_NEAR(Crossings(target, OneWrite), 1, 0.1);
  EXPECT_NEAR(Crossings(source, OneRead), 1, 0.1);
  EXPECT_NEAR(Crossings(target, OneRead), 2, 0.1);
}

TEST(NumaTest, MessagesPayAtTheirSender) {
  const auto one_message = [](Pair& pair) {
    const coro::Time start = pair.lab.world().Now();
    EXPECT_EQ(pair.b.endpoint->Recv(pair.b.RecvAt(8192, 4096, 2)), ErrorCode::kOk);
    EXPECT_EQ(pair.a.endpoint->Send(pair.a.SendTo(pair.b, 0, 4096, 1)), ErrorCode::kOk);
    EXPECT_TRUE(pair.lab.Take(pair.b, 2).ok());
    return pair.lab.world().Now() - start;
  };
  EXPECT_NEAR(Crossings([](Pair& pair) { pair.PlaceMemory(pair.a, 1); }, one_message), 2, 0.1);
  EXPECT_NEAR(Crossings([](Pair& pair) { pair.PlaceMemory(pair.b, 1); }, one_message), 0, 0.1);
}

// The doorbell, and the look that finds the completion. The target's thread has no part in it.
TEST(NumaTest, FarThreadPaysForItsDoorbellsAndCompletions) {
  EXPECT_NEAR(Crossings([](Pair& pair) { pair.PlaceThread(pair.a, 1); }, OneWrite), 4, 0.1);
  EXPECT_NEAR(Crossings([](Pair& pair) { pair.PlaceThread(pair.b, 1); }, OneWrite), 0, 0.1);
}

TEST(NumaTest, NearIsAsIfNothingHadBeenPlaced) {
  const auto digest = [](const std::function<void(Pair&)>& place) {
    Pair pair(Small(), 7);
    place(pair);
    pair.Write(100000, 20);
    pair.Read(100000);
    return pair.lab.world().digest();
  };
  const sim::Digest unplaced = digest([](Pair&) {});
  const auto all_on = [](int numa_node) {
    return [numa_node](Pair& pair) {
      for (Side* side : {&pair.a, &pair.b}) {
        pair.PlaceMemory(*side, numa_node);
        pair.PlaceThread(*side, numa_node);
      }
    };
  };
  EXPECT_EQ(digest(all_on(0)), unplaced);
  EXPECT_NE(digest(all_on(1)), unplaced);
  EXPECT_EQ(digest(all_on(sim::Numa::kAnywhere)), unplaced);
  EXPECT_EQ(digest(all_on(1)), digest(all_on(1)));
}

TEST(NumaTest, TheLinkBetweenNodesBoundsTheRate) {
  constexpr std::size_t kLength = 200000;
  constexpr std::uint64_t kWrites = 50;
  const auto gbytes_per_s = [](int source, int target) {
    Pair pair(Small());
    pair.PlaceMemory(pair.a, source);
    pair.PlaceMemory(pair.b, target);
    return static_cast<double>(kLength * kWrites) /
           static_cast<double>(pair.Write(kLength, kWrites).count());
  };
  const double link = Small().numa_link_gbytes_per_s;
  EXPECT_GT(gbytes_per_s(0, 0), 1.5 * link);
  for (const auto& [source, target] : {std::pair(1, 0), {0, 1}, {1, 1}}) {
    EXPECT_LT(gbytes_per_s(source, target), link) << source << target;
    EXPECT_GT(gbytes_per_s(source, target), 0.9 * link) << source << target;
  }
}

// A link carries what its machine sends and what it receives, and is never idle while either waits:
// NIC 0 of one machine writes, and NIC 1 of the other one, all to and from far memory.
TEST(NumaTest, WhatIsSentAndWhatIsReceivedShareALinkBetweenNodes) {
  constexpr std::size_t kLength = 200000;
  constexpr std::uint64_t kWrites = 50;
  Pair pair(Small());
  Side& a = pair.lab.AddBeside(pair.a, {.nic = 1});
  Side& b = pair.lab.AddBeside(pair.b, {.nic = 1});
  pair.lab.Introduce();
  pair.PlaceMemory(pair.a, 1);
  pair.PlaceMemory(pair.b, 1);
  pair.PlaceMemory(a, 0);
  pair.PlaceMemory(b, 0);
  const coro::Time start = pair.lab.world().Now();
  for (std::uint64_t i = 1; i <= kWrites; ++i) {
    EXPECT_EQ(pair.a.endpoint->Write(pair.a.WriteTo(pair.b, 0, kLength, i)), ErrorCode::kOk);
    EXPECT_EQ(b.endpoint->Write(b.WriteTo(a, 0, kLength, i)), ErrorCode::kOk);
  }
  for (std::uint64_t i = 1; i <= kWrites; ++i) {
    EXPECT_TRUE(pair.lab.Take(pair.a, i).ok());
    EXPECT_TRUE(pair.lab.Take(b, i).ok());
  }
  const double gbytes_per_s = static_cast<double>(2 * kLength * kWrites) /
                              static_cast<double>((pair.lab.world().Now() - start).count());
  EXPECT_LT(gbytes_per_s, Small().numa_link_gbytes_per_s);
  EXPECT_GT(gbytes_per_s, 0.9 * Small().numa_link_gbytes_per_s);
}

// p5: four NICs on a switch, which has a port of 15.75 GB/s towards the CPU.
TEST(NumaTest, TheSwitchsPortBoundsWhatPlacedMemoryGets) {
  constexpr std::size_t kLength = 200000;
  constexpr std::uint64_t kWrites = 20;
  const auto gbytes_per_s = [](int numa_node) {
    Lab lab(1, CopyOf("p5"));
    std::vector<std::array<Side*, 2>> pairs = {{&lab.Add("a"), &lab.Add("b")}};
    for (std::size_t nic = 1; nic < 4; ++nic) {
      const SideOptions options{.nic = nic};
      pairs.push_back(
          {&lab.AddBeside(*pairs[0][0], options), &lab.AddBeside(*pairs[0][1], options)});
    }
    lab.Introduce();
    for (const auto& pair : pairs) {
      for (Side* side : pair) {
        EXPECT_TRUE(lab.world().numa().PlaceMemory(side->node, side->memory(), numa_node).ok());
      }
    }
    const coro::Time start = lab.world().Now();
    for (std::uint64_t i = 1; i <= kWrites; ++i) {
      for (const auto& [from, to] : pairs) {
        EXPECT_EQ(from->endpoint->Write(from->WriteTo(*to, 0, kLength, i)), ErrorCode::kOk);
      }
    }
    for (const auto& pair : pairs) {
      for (std::uint64_t i = 1; i <= kWrites; ++i) EXPECT_TRUE(lab.Take(*pair[0], i).ok());
    }
    return static_cast<double>(4 * kLength * kWrites) /
           static_cast<double>((lab.world().Now() - start).count());
  };
  EXPECT_GT(gbytes_per_s(sim::Numa::kAnywhere), 30);  // of 50: the slowest path holds up the end
  EXPECT_LT(gbytes_per_s(0), 15.75);
  EXPECT_GT(gbytes_per_s(0), 14);
}

// The last call counts, for its range and those that overlap it.
TEST(NumaTest, PlacesCanChange) {
  Pair pair(CalmWithLongCrossing());
  const coro::Duration unplaced = pair.Write(4096);
  pair.PlaceMemory(pair.a, 1);
  EXPECT_GT(pair.Write(4096), unplaced + kCrossing);
  EXPECT_TRUE(pair.numa().PlaceMemory(pair.a.node, pair.a.Bytes(65536, 4096), 0).ok());
  EXPECT_LT(pair.Write(4096), unplaced + kCrossing / 2);
  EXPECT_TRUE(pair.numa().PlaceMemory(pair.a.node, pair.a.Bytes(4096, 4096), 1).ok());
  EXPECT_LT(pair.Write(4096), unplaced + kCrossing / 2);  // right before it
  EXPECT_GT(pair.Write(4096, 1, 4096), unplaced + kCrossing);
  EXPECT_LT(pair.Write(4096, 1, 8192), unplaced + kCrossing / 2);  // right after it
  EXPECT_TRUE(pair.numa().PlaceMemory(pair.a.node, pair.a.Bytes(4000, 200), 1).ok());
  EXPECT_LT(pair.Write(4096), unplaced + kCrossing / 2);  // a packet is where its first byte is
  pair.PlaceThread(pair.a, 1);
  EXPECT_GT(pair.Write(4096), unplaced + kCrossing);
  pair.PlaceThread(pair.a, sim::Numa::kAnywhere);
  EXPECT_LT(pair.Write(4096), unplaced + kCrossing / 2);
}

TEST(NumaTest, PlacesThatDoNotExistAreRefused) {
  Pair pair(Small());
  for (const int numa_node : {-2, 2}) {
    EXPECT_EQ(pair.numa().PlaceMemory(pair.a.node, pair.a.memory(), numa_node).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(pair.numa().PlaceThread(pair.a.node, 0, numa_node).code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(pair.numa().PlaceThread(pair.a.node, 2, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(pair.lab.world().surroundings().host_path, nullptr);  // nothing is placed
}

TEST(NumaTest, PlacesAreRefusedOnTheMachinesClock) {
  Lab lab(1, Small(), sim::ClockKind::kReal);
  Side& side = lab.Add("a");
  sim::Numa& numa = lab.world().numa();
  EXPECT_EQ(numa.PlaceMemory(side.node, side.memory(), 1).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(numa.PlaceThread(side.node, 0, 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(lab.world().surroundings().host_path, nullptr);
}

}  // namespace
}  // namespace drydock::sim_testing
