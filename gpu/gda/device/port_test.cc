// The operations of a port between ranks on stand-in GPUs, by threads, warps and blocks. Nothing
// here depends on how fast anything is.

#include "drydock/gpu/gda/device/port.h"

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "drydock/gpu/gda/device/payload.h"
#include "drydock/gpu/gda/device/testing/host_ranks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

using Exclusive = Port<Sharing::kExclusive>;
using Shared = Port<Sharing::kShared>;

enum class Who { kThread, kWarp, kBlock };

// Runs `use` as that scope: of the first thread, the first warp, or all.
template <typename Use>
void As(Who who, HostTeam& team, const Use& use) {
  if (who == Who::kBlock) return use(team);
  if (who == Who::kWarp) {
    HostMembers warp = team.Warp();
    if (team.warp_number() == 0) use(warp);
    return;
  }
  SingleThread thread;
  if (team.rank() == 0) use(thread);
}

class ScopeTest : public ::testing::TestWithParam<Who> {};

INSTANTIATE_TEST_SUITE_P(Scopes, ScopeTest,
                         ::testing::Values(Who::kThread, Who::kWarp, Who::kBlock),
                         [](const auto& one) {
                           return std::string(one.param == Who::kThread ? "thread"
                                              : one.param == Who::kWarp ? "warp"
                                                                        : "block");
                         });

TEST_P(ScopeTest, PutsArriveAndGetsBring) {
  HostRanks ranks(2);
  ranks.SetWords(0, 0, Counting(100, 64));
  ranks.SetWords(1, 1024, Counting(7000, 64));
  ranks.Run({1, 4}, [&](HostTeam& team) {
    As(GetParam(), team, [&](auto& scope) {
      Exclusive port(ranks.port(0), 0);
      EXPECT_EQ(port.Put(scope, {.peer = 1, .remote = 512, .local = 0, .bytes = 256}),
                Outcome::kOk);
      EXPECT_EQ(port.Get(scope, {.peer = 1, .remote = 1024, .local = 2048, .bytes = 256}),
                Outcome::kOk);
      EXPECT_EQ(port.Quiet(scope), Outcome::kOk);
      if (scope.rank() == 0) port.Save();
    });
  });
  EXPECT_EQ(ranks.Words(1, 512, 64), Counting(100, 64));
  EXPECT_EQ(ranks.Words(0, 2048, 64), Counting(7000, 64));
  EXPECT_EQ(ranks.port(0).lanes[0].state->tickets, 2u);  // one each, whatever the scope is
  EXPECT_THAT(ranks.ranks().Faults(), IsEmpty());
}

TEST_P(ScopeTest, ASignalComesWithItsBytes) {
  HostRanks ranks(2);
  constexpr std::uint32_t kRounds = 50;
  std::atomic<std::uint32_t> wrong{0};
  ranks.RunAll({1, 4}, [&](std::uint32_t rank, HostTeam& team) {
    As(GetParam(), team, [&](auto& scope) {
      Exclusive port(ranks.port(rank), 0);
      std::uint32_t* const words = WordAt(ranks.port(rank), 0);
      for (std::uint32_t i = 1; i <= kRounds; ++i) {
        if (rank == 0) {
          for (std::uint32_t w = scope.rank(); w < 32; w += scope.size()) {
            StorePayload(words + w, i * 1000 + w);
          }
          ASSERT_EQ(port.PutSignal(scope, {.peer = 1, .bytes = 128}, 9), Outcome::kOk);
          ASSERT_EQ(port.WaitSignal(scope, 1, 10, i), Outcome::kOk);
        } else {
          ASSERT_EQ(port.WaitSignal(scope, 0, 9, i), Outcome::kOk);
          ASSERT_EQ(port.MakeVisible(scope), Outcome::kOk);
          for (std::uint32_t w = scope.rank(); w < 32; w += scope.size()) {
            if (LoadPayload(words + w) != i * 1000 + w) ++wrong;
          }
          ASSERT_EQ(port.Signal(scope, 0, 10), Outcome::kOk);
        }
      }
      EXPECT_EQ(port.Quiet(scope), Outcome::kOk);
    });
  });
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(ranks.state(1).counts[0][9], kRounds);
  EXPECT_EQ(ranks.state(1).counts[1][9], 0u);
  EXPECT_EQ(ranks.state(0).counts[1][10], kRounds);
  EXPECT_THAT(ranks.ranks().Faults(), IsEmpty());
}

TEST(PortTest, ABatchRingsOnceAndAllArrive) {
  HostRanks ranks(2);
  ranks.SetWords(0, 0, Counting(1, 10));
  ranks.Run({1, 4}, [&](HostTeam& team) {
    Shared port(ranks.port(0), 0);
    const auto word = [](std::uint32_t i) {
      return Shared::Request{PortOperation::kPut, {1, 4 * i, 4 * i, 4}, 0};
    };
    ASSERT_EQ(port.PostEach(team, 5, Bells::kLater, word), Outcome::kOk);
    if (team.rank() == 0) {
      EXPECT_EQ(ranks.port(0).lanes[0].state->rung, 0u);
    }
    team.Sync();
    ASSERT_EQ(port.PostEach(team, 5, Bells::kLater, [&](std::uint32_t i) { return word(5 + i); }),
              Outcome::kOk);
    if (team.rank() == 0) {
      EXPECT_EQ(ranks.port(0).lanes[0].state->rung, 0u);
    }
    team.Sync();
    ASSERT_EQ(port.Flush(team), Outcome::kOk);
    if (team.rank() == 0) {
      EXPECT_EQ(ranks.port(0).lanes[0].state->rung, 10u);
    }
    ASSERT_EQ(port.Quiet(team), Outcome::kOk);
  });
  EXPECT_EQ(ranks.Words(1, 0, 10), Counting(1, 10));
}

// Many times what the ring holds, and no thread asks for completions in between.
TEST(PortTest, AFullQueueHoldsPostersUpAndIsNoDeadlock) {
  HostRanks ranks(2);
  const std::uint32_t entries = ranks.port(0).lanes[0].queue.send.entry_count;
  const std::uint32_t words = 3 * entries + 1;
  ranks.SetWords(0, 0, Counting(5, words));
  for (const Bells bells : {Bells::kNow, Bells::kLater}) {
    ranks.SetWords(1, 0, std::vector<std::uint32_t>(words));
    ranks.Run({1, 3}, [&](HostTeam& team) {
      Exclusive port(ranks.port(0), 0);
      for (std::uint32_t i = 0; i < words; ++i) {
        ASSERT_EQ(port.Put(team, {1, 4 * i, 4 * i, 4}, bells), Outcome::kOk) << i;
      }
      ASSERT_EQ(port.Quiet(team), Outcome::kOk);
      if (team.rank() == 0) port.Save();
    });
    EXPECT_EQ(ranks.Words(1, 0, words), Counting(5, words));
  }
  EXPECT_THAT(ranks.ranks().Faults(), IsEmpty());
}

TEST(PortTest, ManyBlocksShareQueuesByHash) {
  HostRanks ranks(2, {.queues = 2});
  constexpr std::uint32_t kEach = 40, kThreads = 2, kBlocks = 3;
  constexpr std::uint32_t kWords = kEach * kThreads * kBlocks;
  ASSERT_GT(kWords, 2 * ranks.port(0).lanes[0].queue.send.entry_count);
  ASSERT_LE(kWords, ranks.port(1).lanes[0].queue.receive_done.entry_count);  // read at the end
  ranks.SetWords(0, 0, Counting(11, kWords));
  ranks.Run({kBlocks, kThreads}, [&](HostTeam& team) {
    SingleThread self;
    const std::uint32_t thread = team.block() * kThreads + team.rank();
    Shared port(ranks.port(0), Shared::HashQueue(1, thread));
    for (std::uint32_t i = 0; i < kEach; ++i) {
      const std::uint64_t at = 4 * (thread * kEach + i);
      ASSERT_EQ(port.PutSignal(self, {1, at, at, 4}, 3, i % 3 == 0 ? Bells::kNow : Bells::kLater),
                Outcome::kOk);
    }
    ASSERT_EQ(port.Quiet(self), Outcome::kOk);
  });
  EXPECT_EQ(ranks.Words(1, 0, kWords), Counting(11, kWords));
  ranks.Run({1, 1}, [&](HostTeam& team) {
    Exclusive port(ranks.port(1), 0);
    EXPECT_EQ(port.WaitSignal(team, 0, 3, kWords), Outcome::kOk);
  });
  EXPECT_EQ(ranks.state(1).counts[0][3], kWords);
  EXPECT_EQ(ranks.state(1).duplicates, 0u);
  EXPECT_THAT(ranks.ranks().Faults(), IsEmpty());
}

TEST(PortTest, HashesUseAllQueues) {
  std::set<std::uint32_t> queues;
  for (std::uint32_t i = 0; i < 64; ++i) queues.insert(Shared::HashQueue(i % 4, i) % 8);
  EXPECT_EQ(queues.size(), 8u);
}

// What failed, to which peer, and that the others go on.
TEST(PortTest, ErrorsReachTheHostWithOperationAndPeer) {
  HostRanks ranks(3);
  PortView view = ranks.port(0);
  view.windows[2].rkey ^= 0x5a5a;
  ranks.Run({1, 1}, [&](HostTeam& team) {
    Exclusive port(view, 0);
    EXPECT_EQ(port.PutSignal(team, {.peer = 1, .bytes = 64}, 0), Outcome::kOk);
    EXPECT_EQ(port.Put(team, {.peer = 2, .bytes = 64}), Outcome::kOk);
    EXPECT_EQ(port.Quiet(team), Outcome::kFailed);
    EXPECT_EQ(port.Quiet(team), Outcome::kOk);  // it was said
    EXPECT_EQ(port.Put(team, {.peer = 1, .bytes = 64}), Outcome::kOk);
    EXPECT_EQ(port.Quiet(team), Outcome::kOk);
    port.Save();
  });
  const PortError& error = ranks.ranks().error(0);
  EXPECT_EQ(error.outcome, Outcome::kFailed);
  EXPECT_EQ(error.operation, PortOperation::kPut);
  EXPECT_EQ(error.peer, 2u);
  EXPECT_EQ(error.status, 7);
  EXPECT_EQ(ranks.ranks().ErrorText(0), "put, rank 2, EFA's status 7");
}

// More than half the numbers of an immediate come after one that never does.
TEST(PortTest, AFailedPutWithSignalCostsNoSignalAfterIt) {
  HostRanks ranks(1);
  constexpr std::uint32_t kCount = 9000;
  const std::uint32_t batch = ranks.port(0).lanes[0].queue.receive_done.entry_count / 2;
  const std::uint64_t beyond = ranks.port(0).window_bytes + kFlushBytes;
  ranks.Run({1, 1}, [&](HostTeam& team) {
    Exclusive port(ranks.port(0), 0);
    ASSERT_EQ(port.PutSignal(team, {.peer = 0, .remote = beyond, .bytes = 64}, 1), Outcome::kOk);
    ASSERT_EQ(port.Quiet(team), Outcome::kFailed);
    for (std::uint32_t sent = 0; sent < kCount;) {
      for (std::uint32_t i = 0; i < batch; ++i, ++sent) {
        ASSERT_EQ(port.Signal(team, 0, 1, Bells::kLater), Outcome::kOk);
      }
      ASSERT_EQ(port.WaitSignal(team, 0, 1, sent), Outcome::kOk);
    }
  });
  EXPECT_EQ(ranks.state(0).duplicates, 0u);
}

// With nothing of one's own under way.
template <typename AnyPort>
void WaitInVain() {
  HostRanks ranks(2, {.timeout_ns = 1'000'000});
  ranks.Run({1, 2}, [&](HostTeam& team) {
    AnyPort port(ranks.port(0), 0);
    EXPECT_EQ(port.WaitSignal(team, 1, 5, 1), Outcome::kTimedOut);
    // From now on:
    EXPECT_EQ(port.Quiet(team), Outcome::kTimedOut);
    EXPECT_EQ(port.Flush(team), Outcome::kTimedOut);
    EXPECT_EQ(port.WaitSignal(team, 1, 5, 0), Outcome::kTimedOut);
    EXPECT_EQ(port.Put(team, {.peer = 1, .bytes = 64}), Outcome::kTimedOut);
  });
  EXPECT_EQ(ranks.ranks().error(0).operation, PortOperation::kWait);
  EXPECT_EQ(ranks.ranks().error(0).peer, 1u);
}

// The NICs are not served: waits end, and say what for.
TEST(PortTest, WaitsEnd) {
  {
    HostRanks ranks(2, {.timeout_ns = 1'000'000});
    ranks.ranks().Pause();
    ranks.Run({1, 2}, [&](HostTeam& team) {
      Exclusive port(ranks.port(0), 0);
      EXPECT_EQ(port.Get(team, {.peer = 1, .bytes = 64}), Outcome::kOk);
      EXPECT_EQ(port.Quiet(team), Outcome::kTimedOut);
      EXPECT_EQ(port.Put(team, {.peer = 1, .bytes = 64}), Outcome::kTimedOut);  // from now on
    });
    EXPECT_EQ(ranks.ranks().error(0).outcome, Outcome::kTimedOut);
    EXPECT_EQ(ranks.ranks().error(0).operation, PortOperation::kGet);
    EXPECT_EQ(ranks.ranks().error(0).peer, 1u);
  }
  WaitInVain<Exclusive>();
  WaitInVain<Shared>();
}

TEST(PortTest, ResetKeepsWhatCameSince) {
  HostRanks ranks(1);
  ranks.Run({1, 1}, [&](HostTeam& team) {
    Exclusive port(ranks.port(0), 0);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(port.Signal(team, 0, 7), Outcome::kOk);
    ASSERT_EQ(port.WaitSignal(team, 0, 7, 5), Outcome::kOk);
    port.ResetSignal(0, 7, 3);
    EXPECT_EQ(port.ReadSignal(0, 7), 2u);
    port.ResetSignal(0, 7, 2);
    ASSERT_EQ(port.Signal(team, 0, 7), Outcome::kOk);
    ASSERT_EQ(port.WaitSignal(team, 0, 7, 1), Outcome::kOk);
    EXPECT_EQ(port.ReadSignal(0, 7), 1u);
  });
}

// No rank leaves a barrier that a rank of the team has not entered; other ranks do not matter. What
// was put before is there after.
TEST(PortTest, BarriersOverTeams) {
  HostRanks ranks(3);
  constexpr std::uint32_t kRounds = 20;
  std::atomic<std::uint32_t> entered{0};
  ranks.RunAll({1, 2}, [&](std::uint32_t rank, HostTeam& team) {
    if (rank == 1) return;
    Exclusive port(ranks.port(rank), 0);
    const RankTeam even{0, 2, 2, 4};
    for (std::uint32_t i = 1; i <= kRounds; ++i) {
      if (team.rank() == 0) {
        StorePayload(WordAt(ranks.port(rank), 0), i);
        ++entered;
      }
      ASSERT_EQ(port.Put(team, {2 - rank, 64, 0, 4}), Outcome::kOk);
      ASSERT_EQ(port.Barrier(team, even), Outcome::kOk);
      if (team.rank() == 0) {
        EXPECT_GE(entered, 2 * i);
      }
      ASSERT_EQ(port.MakeVisible(team), Outcome::kOk);
      if (team.rank() == 0) {
        EXPECT_EQ(LoadPayload(WordAt(ranks.port(rank), 64)), i);
      }
      ASSERT_EQ(port.Barrier(team, even), Outcome::kOk);  // no rank puts again before it was read
    }
  });
  EXPECT_EQ(ranks.state(1).arrivals[0], 0u);
}

TEST(PortTest, WhatDoesNotFitIsRefused) {
  const auto open = [](std::uint32_t ranks, std::uint32_t queues, std::uint32_t epoch) {
    const auto device = OpenHostDevice();
    const sim::Profile profile = sim_testing::Small();
    SimRanks all(profile, 1, std::vector<Device*>(ranks, device.get()),
                 {.queues = queues, .epoch = epoch, .window_bytes = 4096});
    return all.Open().code();
  };
  EXPECT_EQ(open(kMaxRanks + 1, 1, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open(0, 1, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open(1, kMaxQueues + 1, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open(1, 1, SignalImmediate::kEpochs), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open(1, 1, SignalImmediate::kEpochs - 1), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace drydock::gpu::gda
