// Kernels that are wrong on EFA, and their right forms: each wrong one is found, on stand-in GPUs
// with NICs that do what EFA may. Found by seed: some of the seeds show it, and the right form
// passes all of them.

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "drydock/fabric/faults/plan.h"
#include "drydock/gpu/gda/device/payload.h"
#include "drydock/gpu/gda/device/port.h"
#include "drydock/gpu/gda/device/testing/host_ranks.h"
#include "drydock/sim/testing/fault_scene.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda {
namespace {

using fabric::faults::Fault;
using fabric::faults::FaultRule;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Exclusive = Port<Sharing::kExclusive>;
using Shared = Port<Sharing::kShared>;

constexpr std::uint64_t kSeeds = 8;
constexpr std::uint32_t kWords = 16;

// ---- Payload that is not fenced before the put ----

// Block 1 stores the payload, and tells block 0, which puts it. How it tells is the question: an
// atomic of the device's scope is enough for block 0, and not for the NIC (uccl-project/uccl
// PR 903).
bool ArrivesWhole(std::uint64_t seed, bool fenced) {
  HostRanks ranks(2, {.stores_seed = seed});
  std::uint32_t told = 0;
  ranks.Run({2, 2}, [&](HostTeam& team) {
    if (team.block() == 1) {
      for (std::uint32_t i = team.rank(); i < kWords; i += team.size()) {
        StorePayload(WordAt(ranks.port(0), 4 * i), 100 + i);
      }
      if (fenced) SystemFence();
      FetchAdd(&told, 1);
      while (LoadWord32(&told) != 3) Relax();  // the put is over: a kernel's end is a fence, too
      return;
    }
    Exclusive port(ranks.port(0), 0);
    if (team.rank() == 0) {
      while (LoadWord32(&told) != 2) Relax();
    }
    EXPECT_EQ(port.Put(team, {.peer = 1, .bytes = 4 * kWords}), Outcome::kOk);
    EXPECT_EQ(port.Quiet(team), Outcome::kOk);
    if (team.rank() == 0) FetchAdd(&told, 1);
  });
  return ranks.Words(1, 0, kWords) == Counting(100, kWords);
}

TEST(AdversarialTest, UnfencedPayloadIsFoundBySeed) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) found += ArrivesWhole(seed, false) ? 0 : 1;
  EXPECT_GT(found, 0u);
}

TEST(AdversarialTest, FencedPayloadPassesEverySeed) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    EXPECT_TRUE(ArrivesWhole(seed, true)) << seed;
}

// All warps of a block store; a put of the first warp's covers that warp only, unless all have met.
bool BlockArrivesWhole(std::uint64_t seed, bool met) {
  HostRanks ranks(2, {.stores_seed = seed});
  std::uint32_t stored = 0;
  ranks.Run({1, 4}, [&](HostTeam& team) {
    for (std::uint32_t i = team.rank(); i < kWords; i += team.size()) {
      StorePayload(WordAt(ranks.port(0), 4 * i), 100 + i);
    }
    if (met) team.Sync();
    FetchAdd(&stored, 1);
    HostMembers warp = team.Warp();
    if (team.warp_number() == 0) {
      Exclusive port(ranks.port(0), 0);
      while (LoadWord32(&stored) != 4) Relax();
      EXPECT_EQ(port.Put(warp, {.peer = 1, .bytes = 4 * kWords}), Outcome::kOk);
      EXPECT_EQ(port.Quiet(warp), Outcome::kOk);
      if (warp.rank() == 0) FetchAdd(&stored, 1);
    }
    while (LoadWord32(&stored) != 5) Relax();
  });
  return ranks.Words(1, 0, kWords) == Counting(100, kWords);
}

TEST(AdversarialTest, APutForTheBlockWithoutABarrierIsFoundBySeed) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    found += BlockArrivesWhole(seed, false) ? 0 : 1;
  }
  EXPECT_GT(found, 0u);
}

TEST(AdversarialTest, APutForTheBlockAfterABarrierPassesEverySeed) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_TRUE(BlockArrivesWhole(seed, true)) << seed;
  }
}

// A thread sees its own stores, and those of its block before the barrier, however they linger.
TEST(AdversarialTest, WhatLingersIsLateForTheNicOnly) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    HostRanks ranks(1, {.stores_seed = seed});
    ranks.Run({1, 2}, [&](HostTeam& team) {
      std::uint32_t* const words = WordAt(ranks.port(0), 0);
      for (std::uint32_t round = 1; round <= 3; ++round) {
        StorePayload(words + team.rank(), 10 * round + team.rank());
        EXPECT_EQ(LoadPayload(words + team.rank()), 10 * round + team.rank());
        team.Sync();
        EXPECT_EQ(LoadPayload(words + (1 - team.rank())), 10 * round + (1 - team.rank()));
        team.Sync();
      }
    });
    EXPECT_EQ(ranks.Words(0, 0, 2), Counting(30, 2));
  }
}

// ---- Signals and data ----

// A write that is late while everything after it is not: later than a thread that has no processor
// for a while.
FaultRule FirstWriteIsLate() {
  FaultRule rule = sim_testing::Nth(Fault::kStragglerWrite, 1);
  rule.parameters.delay = std::chrono::milliseconds(300);
  return rule;
}

enum class How { kSignalAfterPut, kSignalAfterQuiet, kPutSignal };

// Whether rank 1 sees the data when it has seen the signal.
bool DataIsThereWithTheSignal(How how) {
  HostRanks ranks(2, {.faults = sim_testing::EngineOf({FirstWriteIsLate()}, 1)});
  ranks.SetWords(0, 0, Counting(500, kWords));
  std::uint32_t wrong = 0;
  ranks.RunAll({1, 1}, [&](std::uint32_t rank, HostTeam& team) {
    Exclusive port(ranks.port(rank), 0);
    const Piece piece{.peer = 1, .bytes = 4 * kWords};
    if (rank == 0) {
      if (how == How::kPutSignal) {
        EXPECT_EQ(port.PutSignal(team, piece, 1), Outcome::kOk);
      } else {
        EXPECT_EQ(port.Put(team, piece), Outcome::kOk);
        if (how == How::kSignalAfterQuiet) {
          EXPECT_EQ(port.Quiet(team), Outcome::kOk);
        }
        EXPECT_EQ(port.Signal(team, 1, 1), Outcome::kOk);
      }
      EXPECT_EQ(port.Quiet(team), Outcome::kOk);
      return;
    }
    EXPECT_EQ(port.WaitSignal(team, 0, 1, 1), Outcome::kOk);
    EXPECT_EQ(port.MakeVisible(team), Outcome::kOk);
    for (std::uint32_t i = 0; i < kWords; ++i) {
      if (LoadPayload(WordAt(ranks.port(1), 4 * i)) != 500 + i) ++wrong;
    }
  });
  EXPECT_EQ(ranks.Words(1, 0, kWords), Counting(500, kWords));  // in the end
  return wrong == 0;
}

TEST(AdversarialTest, ASignalOvertakesTheDataBeforeIt) {
  EXPECT_FALSE(DataIsThereWithTheSignal(How::kSignalAfterPut));
}

TEST(AdversarialTest, ASignalAfterQuietOrWithTheDataDoesNot) {
  EXPECT_TRUE(DataIsThereWithTheSignal(How::kSignalAfterQuiet));
  EXPECT_TRUE(DataIsThereWithTheSignal(How::kPutSignal));
}

// A barrier is quiet before it signals: otherwise it would be a signal that overtakes the data.
TEST(AdversarialTest, WhatWasPutBeforeABarrierIsThereAfterIt) {
  HostRanks ranks(2, {.faults = sim_testing::EngineOf({FirstWriteIsLate()}, 1)});
  ranks.SetWords(0, 0, Counting(500, 1));
  std::uint32_t seen = 0;
  ranks.RunAll({1, 1}, [&](std::uint32_t rank, HostTeam& team) {
    Exclusive port(ranks.port(rank), 0);
    if (rank == 0) {
      EXPECT_EQ(port.Put(team, {.peer = 1, .bytes = 4}), Outcome::kOk);
    }
    EXPECT_EQ(port.Barrier(team, {0, 1, 2}), Outcome::kOk);
    EXPECT_EQ(port.MakeVisible(team), Outcome::kOk);
    if (rank == 1) seen = LoadPayload(WordAt(ranks.port(1), 0));
  });
  EXPECT_EQ(seen, 500u);
}

// Two pieces with a signal each: a count of one is not the first one's.
bool FirstPieceIsThere(std::uint32_t waited_for) {
  HostRanks ranks(2, {.faults = sim_testing::EngineOf({FirstWriteIsLate()}, 1)});
  ranks.SetWords(0, 0, Counting(500, 2));
  std::uint32_t seen = 0;
  ranks.RunAll({1, 1}, [&](std::uint32_t rank, HostTeam& team) {
    Exclusive port(ranks.port(rank), 0);
    if (rank == 0) {
      EXPECT_EQ(port.PutSignal(team, {1, 0, 0, 4}, 1), Outcome::kOk);
      EXPECT_EQ(port.PutSignal(team, {1, 4, 4, 4}, 1), Outcome::kOk);
      EXPECT_EQ(port.Quiet(team), Outcome::kOk);
      return;
    }
    EXPECT_EQ(port.WaitSignal(team, 0, 1, waited_for), Outcome::kOk);
    EXPECT_EQ(port.MakeVisible(team), Outcome::kOk);
    seen = LoadPayload(WordAt(ranks.port(1), 0));
  });
  return seen == 500;
}

TEST(AdversarialTest, ACounterThatIsReadTooEarlySaysNothingOfTheFirst) {
  EXPECT_FALSE(FirstPieceIsThere(1));
}

TEST(AdversarialTest, ACounterOfAllIsAll) { EXPECT_TRUE(FirstPieceIsThere(2)); }

// What NICs have written is not what the device sees: MakeVisible is not for show.
bool SeesWhatCame(bool asked) {
  HostRanks ranks(1, {}, std::chrono::seconds(10));  // by itself it would see them then
  ranks.SetWords(0, 0, {77});
  std::uint32_t seen = 0;
  ranks.Run({1, 1}, [&](HostTeam& team) {
    Exclusive port(ranks.port(0), 0);
    EXPECT_EQ(port.PutSignal(team, {0, 64, 0, 4}, 1), Outcome::kOk);
    EXPECT_EQ(port.WaitSignal(team, 0, 1, 1), Outcome::kOk);
    if (asked) {
      EXPECT_EQ(port.MakeVisible(team), Outcome::kOk);
    }
    seen = LoadPayload(WordAt(ranks.port(0), 64));
  });
  return seen == 77;
}

TEST(AdversarialTest, BytesAreVisibleAfterMakeVisibleAndNotBefore) {
  EXPECT_FALSE(SeesWhatCame(false));
  EXPECT_TRUE(SeesWhatCame(true));
}

// ---- Rings ----

// The target's completion ring is not read, and comes round.
TEST(AdversarialTest, SignalsThatNobodyWaitsForOverrunTheRing) {
  HostRanks ranks(2, {.queues = 2});
  const std::uint32_t entries = ranks.port(1).lanes[0].queue.receive_done.entry_count;
  const auto send = [&](std::uint32_t count) {
    ranks.Run({1, 1}, [&](HostTeam& team) {
      Exclusive port(ranks.port(0), 0);
      for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(port.Signal(team, 1, 1, Bells::kLater), Outcome::kOk);
      }
      ASSERT_EQ(port.Quiet(team), Outcome::kOk);
      port.Save();
    });
  };
  const auto wait = [&](std::uint32_t least) {
    Outcome outcome = Outcome::kOk;
    ranks.Run({1, 1}, [&](HostTeam& team) {
      Exclusive port(ranks.port(1), 0);
      outcome = port.WaitSignal(team, 0, 1, least);
      port.Save();
    });
    return outcome;
  };
  send(entries);
  EXPECT_EQ(wait(entries), Outcome::kOk);  // as many as there is room for
  send(entries + 1);
  EXPECT_EQ(wait(2 * entries + 1), Outcome::kBroken);
  EXPECT_EQ(ranks.ranks().error(1).operation, PortOperation::kArrival);
  EXPECT_EQ(ranks.ranks().ErrorText(1), "arrival");  // of no known rank, and with no status
  // From now on:
  ranks.Run({1, 1}, [&](HostTeam& team) {
    Exclusive port(ranks.port(1), 0);
    EXPECT_EQ(port.Quiet(team), Outcome::kBroken);
    EXPECT_EQ(port.Flush(team), Outcome::kBroken);
    EXPECT_EQ(port.WaitSignal(team, 0, 1, entries), Outcome::kBroken);
    EXPECT_EQ(port.Put(team, {.peer = 0, .bytes = 4}), Outcome::kBroken);
  });
  send(entries);  // an entry of two laps later looks like the next one
  ranks.Run({1, 1}, [&](HostTeam& team) {
    Exclusive other(ranks.port(1), 1);
    EXPECT_EQ(other.WaitSignal(team, 0, 1, entries + 1), Outcome::kBroken);
  });
  EXPECT_EQ(ranks.state(1).counts[0][1], entries);
}

// More signals than an immediate has numbers for.
TEST(AdversarialTest, SequenceNumbersGoRound) {
  HostRanks ranks(2);
  constexpr std::uint32_t kCount = SignalImmediate::kSequences + 100;
  ranks.RunAll({1, 1}, [&](std::uint32_t rank, HostTeam& team) {
    Exclusive port(ranks.port(rank), 0);
    for (std::uint32_t sent = 0; sent < kCount; sent += 100) {
      if (rank == 0) {
        for (std::uint32_t i = 0; i < 100; ++i) {
          ASSERT_EQ(port.Signal(team, 1, 1, Bells::kLater), Outcome::kOk);
        }
        ASSERT_EQ(port.Quiet(team), Outcome::kOk);
      }
      ASSERT_EQ(port.Barrier(team, {0, 1, 2}), Outcome::kOk);
    }
  });
  EXPECT_EQ(ranks.state(1).counts[0][1], (kCount + 99) / 100 * 100);
  EXPECT_EQ(ranks.state(1).duplicates, 0u);
}

// Two blocks with a handle each that believes to be alone.
TEST(AdversarialTest, TwoBlocksWithOneProducerIndexAreFound) {
  HostRanks ranks(2, {.timeout_ns = 1'000'000'000});
  SingleThread first, second;
  Exclusive one(ranks.port(0), 0), other(ranks.port(0), 0);
  EXPECT_EQ(one.Put(first, {.peer = 1, .bytes = 4}), Outcome::kOk);
  EXPECT_EQ(one.Quiet(first), Outcome::kOk);
  EXPECT_EQ(other.Put(second, {.peer = 1, .remote = 64, .bytes = 4}), Outcome::kOk);
  // The doorbell has the value of before; the completion is the other one's.
  other.Quiet(second);
  Patience patience(30'000'000'000);
  while (ranks.ranks().Faults().empty() && !patience.Over()) Relax();  // the NIC has not looked yet
  EXPECT_THAT(ranks.ranks().Faults(), Contains(HasSubstr("nothing new")));
}

TEST(AdversarialTest, TwoBlocksThatShareAQueueAreFine) {
  HostRanks ranks(2);
  ranks.SetWords(0, 0, Counting(1, 40));
  ranks.Run({2, 1}, [&](HostTeam& team) {
    Shared port(ranks.port(0), 0);
    for (std::uint32_t i = 0; i < 20; ++i) {
      const std::uint64_t at = 4 * (20 * team.block() + i);
      ASSERT_EQ(port.Put(team, {1, at, at, 4}), Outcome::kOk);
    }
    ASSERT_EQ(port.Quiet(team), Outcome::kOk);
  });
  EXPECT_EQ(ranks.Words(1, 0, 40), Counting(1, 40));
  EXPECT_THAT(ranks.ranks().Faults(), IsEmpty());
}

// ---- A connection after another ----

// Signals of the last connection arrive at the next: they are not its signals.
TEST(AdversarialTest, StaleArrivalsAfterAReconnectAreDropped) {
  HostRanks ranks(2, {.timeout_ns = 100'000'000});
  PortView sender = ranks.port(0), receiver = ranks.port(1);
  const auto signal = [&](std::uint32_t epoch) {
    sender.epoch = epoch;
    SingleThread self;
    Exclusive port(sender, 0);
    EXPECT_EQ(port.Signal(self, 1, 1), Outcome::kOk);
    EXPECT_EQ(port.Quiet(self), Outcome::kOk);
    port.Save();
  };
  const auto wait = [&] {
    SingleThread self;
    Exclusive port(receiver, 0);
    return port.WaitSignal(self, 0, 1, 1);
  };
  signal(0);
  receiver.epoch = 1;  // both have come up again
  EXPECT_EQ(wait(), Outcome::kTimedOut);
  EXPECT_EQ(ranks.state(1).stale, 1u);
  signal(1);
  ranks.port(1).lanes[0].state->broken = 0;
  EXPECT_EQ(wait(), Outcome::kOk);
  EXPECT_EQ(ranks.state(1).counts[0][1], 1u);
}

}  // namespace
}  // namespace drydock::gpu::gda
