// Which bytes the engine moves, and by which NICs, without faults. faults_test.cc has the rest.

#include "drydock/fabric/async/transfer/engine.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/barrier_group.h"
#include "drydock/fabric/async/transfer/immediate.h"
#include "drydock/testing/harness/sanitizer.h"
#include "drydock/testing/harness/transfer_hosts.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async::transfer {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using harness::Cluster;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::uint64_t kSeed = 7;
constexpr std::uint64_t kPage = 4096;

// Whether `bytes` bytes at `at` are those that Filled puts at `from`.
bool Holds(const MemoryRef& memory, std::uint64_t at, std::uint64_t bytes, std::uint64_t from) {
  return harness::Holds(memory, at, bytes, kSeed, from);
}

// Two hosts that know each other; `from` of the first is full, `to` of the second is empty.
struct Pair {
  explicit Pair(std::size_t nics, const EngineOptions& options = {}, std::size_t bytes = 200 << 10,
                std::uint64_t seed = 1)
      : cluster(2, nics, options, seed) {
    EXPECT_THAT(cluster.loop.Run(cluster.Connect()), IsOk());
    from = cluster[0].Filled(bytes, kSeed).value();
    to = cluster.engine(1).Allocate(bytes).value();
    target = cluster.Import(0, 1, to);
  }
  Engine& sender() { return cluster.engine(0); }
  Engine& receiver() { return cluster.engine(1); }

  // Runs `call`, and returns its result once all of `pages` have arrived.
  absl::Status Run(coro::Task<absl::Status> call, std::uint32_t transfer, std::uint32_t pages) {
    auto main = [&]() -> coro::Task<absl::Status> {
      CO_ASSIGN_OR_RETURN(const auto arrived, receiver().Expect(transfer, pages));
      CO_RETURN_IF_ERROR(co_await std::move(call));
      const bool all = co_await arrived->Reached(coro::After(cluster.loop.Now(), 1s));
      EXPECT_TRUE(all) << arrived->distinct() << " of " << pages;
      EXPECT_EQ(arrived->duplicates(), 0u);
      co_return absl::OkStatus();
    };
    return cluster.loop.Run(main());
  }
  // Bytes that each NIC of the receiver was sent.
  std::vector<std::uint64_t> Received() {
    std::vector<std::uint64_t> bytes;
    for (std::size_t i = 0; i < receiver().nic_count(); ++i) {
      bytes.push_back(sender().BytesTo(cluster.peer(0, 1), i));
    }
    return bytes;
  }
  std::vector<std::uint64_t> Sent() {
    std::vector<std::uint64_t> bytes;
    for (std::size_t i = 0; i < sender().nic_count(); ++i) {
      bytes.push_back(sender().nic_stats(i).bytes);
    }
    return bytes;
  }

  Cluster cluster;
  MemoryRef from, to;
  RemoteRef target;
};

PagesShape Pages(std::uint32_t pages, std::uint64_t page_bytes = kPage) {
  PagesShape shape;
  shape.pages = pages;
  shape.page_bytes = page_bytes;
  return shape;
}

// ---- The bytes that are moved ----

TEST(EngineTest, WritesOneRange) {
  Pair pair(2);
  const WriteShape shape{.source_offset = 100, .target_offset = 3, .bytes = 70000};
  EXPECT_EQ(PiecesOf(shape, Policy::kRoundRobin, 2), 1u);
  EXPECT_THAT(pair.Run(pair.sender().Write(pair.from, pair.target, shape, {.transfer = 1}), 1, 1),
              IsOk());
  EXPECT_TRUE(Holds(pair.to, 3, 70000, 100));
  EXPECT_EQ(pair.to->bytes()[2], std::byte{0});
  EXPECT_EQ(pair.to->bytes()[70003], std::byte{0});
}

TEST(EngineTest, SplitsOneRangeOverAllNics) {
  Pair pair(4, {.policy = Policy::kSplit});
  const WriteShape shape{.bytes = 100001};
  ASSERT_EQ(PiecesOf(shape, Policy::kSplit, 4), 4u);
  EXPECT_THAT(
      pair.Run(pair.sender().Write(pair.from, pair.target, shape, {.transfer = 4095}), 4095, 4),
      IsOk());
  EXPECT_TRUE(Holds(pair.to, 0, 100001, 0));
  EXPECT_THAT(pair.Sent(), Each(::testing::AllOf(::testing::Ge(24998u), ::testing::Le(25001u))));
  EXPECT_THAT(pair.Received(), Each(::testing::Ge(24998u)));
}

TEST(EngineTest, PagesGoFromAndToAnyPlaces) {
  Pair pair(3);
  std::vector<std::uint32_t> from, to;
  for (std::uint32_t i = 0; i < 50; ++i) {
    from.push_back(i * 7 % 50);
    to.push_back(49 - i);
  }
  PagesShape shape = Pages(50, 1000);
  shape.from = {.indices = from, .offset_bytes = 8, .stride_bytes = 1024};
  shape.to = {.indices = to, .offset_bytes = 16, .stride_bytes = 2048};
  EXPECT_THAT(
      pair.Run(pair.sender().WritePages(pair.from, pair.target, shape, {.transfer = 2}), 2, 50),
      IsOk());
  for (std::uint32_t i = 0; i < 50; ++i) {
    EXPECT_TRUE(Holds(pair.to, 16 + to[i] * 2048, 1000, 8 + from[i] * 1024)) << "page " << i;
    EXPECT_EQ(pair.to->bytes()[16 + to[i] * 2048 + 1000], std::byte{0}) << "page " << i;
  }
}

TEST(EngineTest, SeveralCallsMakeUpOneTransfer) {
  Pair pair(2);
  auto both = [&]() -> coro::Task<absl::Status> {
    coro::Scope calls;
    PagesShape first = Pages(20), second = Pages(12);
    second.from.offset_bytes = second.to.offset_bytes = 20 * kPage;
    calls.Spawn(pair.sender().WritePages(pair.from, pair.target, first, {.transfer = 3}));
    calls.Spawn(pair.sender().WritePages(pair.from, pair.target, second,
                                         {.transfer = 3, .first_page = 20}));
    co_return co_await calls.Join();
  };
  EXPECT_THAT(pair.Run(both(), 3, 32), IsOk());
  EXPECT_TRUE(Holds(pair.to, 0, 32 * kPage, 0));
}

TEST(EngineTest, ScatterReachesEveryPeerAndNumbersItsPages) {
  constexpr std::size_t kPeers = 3;
  Cluster cluster(1 + kPeers, 2);
  ASSERT_THAT(cluster.loop.Run(cluster.Connect()), IsOk());
  const MemoryRef from = cluster[0].Filled(1 << 16, kSeed).value();
  std::vector<MemoryRef> to;
  std::vector<ScatterWrite> writes;
  for (std::size_t peer = 0; peer < kPeers; ++peer) {
    to.push_back(cluster.engine(1 + peer).Allocate(1 << 16).value());
  }
  for (std::uint32_t i = 0; i < 30; ++i) {
    ScatterWrite write;
    write.target = cluster.Import(0, 1 + i % kPeers, to[i % kPeers]);
    write.source_offset = i * 1000;
    write.target_offset = i * 1100;
    write.bytes = 900 + i;
    writes.push_back(write);
  }
  auto main = [&]() -> coro::Task<absl::Status> {
    std::vector<std::unique_ptr<Expectation>> arrived;
    for (std::size_t peer = 0; peer < kPeers; ++peer) {
      arrived.push_back(cluster.engine(1 + peer).Expect(9, 10).value());
    }
    CO_RETURN_IF_ERROR(co_await cluster.engine(0).Scatter(from, writes, {.transfer = 9}));
    for (const auto& one : arrived) {
      const bool all = co_await one->Reached();
      EXPECT_TRUE(all);
    }
    co_return absl::OkStatus();
  };
  EXPECT_THAT(cluster.loop.Run(main()), IsOk());
  for (std::uint32_t i = 0; i < 30; ++i) {
    EXPECT_TRUE(Holds(to[i % kPeers], i * 1100, 900 + i, i * 1000)) << "write " << i;
  }
}

TEST(EngineTest, NobodyLeavesABarrierBeforeTheLastHasCome) {
  constexpr std::size_t kMembers = 4;
  Cluster cluster(kMembers, 2);
  ASSERT_THAT(cluster.loop.Run(cluster.Connect()), IsOk());
  std::vector<MemoryRef> flags;
  std::vector<std::unique_ptr<BarrierGroup>> groups;
  for (std::size_t i = 0; i < kMembers; ++i) {
    flags.push_back(cluster.engine(i).Allocate(BarrierGroup::kFlagBytes).value());
    groups.push_back(std::make_unique<BarrierGroup>(
        cluster.engine(i), flags[i],
        BarrierGroupOptions{.transfer = 5, .self = i, .members = kMembers}));
  }
  for (std::size_t i = 0; i < kMembers; ++i) {
    std::vector<RemoteRef> others(kMembers);
    for (std::size_t j = 0; j < kMembers; ++j) {
      if (j != i) others[j] = cluster.Import(i, j, flags[j]);
    }
    groups[i]->Connect(others);
  }
  std::vector<std::uint64_t> arrived(kMembers);
  auto member = [&](std::size_t self) -> coro::Task<absl::Status> {
    for (std::uint64_t round = 1; round <= 30; ++round) {
      ++arrived[self];
      CO_RETURN_IF_ERROR(co_await cluster.engine(self).Barrier(*groups[self]));
      for (const std::uint64_t other : arrived) EXPECT_GE(other, round);
    }
    co_return absl::OkStatus();
  };
  auto main = [&]() -> coro::Task<absl::Status> {
    coro::Scope members;
    for (std::size_t i = 0; i < kMembers; ++i) members.Spawn(member(i));
    co_return co_await members.Join();
  };
  EXPECT_THAT(cluster.loop.Run(main()), IsOk());
  EXPECT_EQ(groups[0]->generation(), 30u);
}

// ---- By which NICs ----

class PolicyTest : public ::testing::TestWithParam<Policy> {};

TEST_P(PolicyTest, MovesEveryPageAndSpreadsThemOverTheReceivingNics) {
  constexpr std::uint32_t kPages = 320;
  Pair pair(4, {.policy = GetParam(), .near_first = {2, 3}}, kPages * kPage);
  EXPECT_THAT(pair.Run(pair.sender().WritePages(pair.from, pair.target, Pages(kPages),
                                                {.transfer = 1, .nic = 1}),
                       1, kPages),
              IsOk());
  EXPECT_TRUE(Holds(pair.to, 0, kPages * kPage, 0));
  // Whatever the senders' side does, no receiving NIC gets more than its share and a chunk.
  EXPECT_THAT(pair.Received(), Each(::testing::Le((kPages / 4 + 16) * kPage)));
}

INSTANTIATE_TEST_SUITE_P(AllPolicies, PolicyTest,
                         ::testing::Values(Policy::kRoundRobin, Policy::kSplit, Policy::kByPeer,
                                           Policy::kByBytes, Policy::kPinned, Policy::kNearFirst));

// How the bytes of `pages` pages go out by four NICs.
std::vector<std::uint64_t> SentBy(const EngineOptions& options, std::uint32_t pages,
                                  std::size_t nic) {
  Pair pair(4, options, pages * kPage);
  EXPECT_THAT(pair.Run(pair.sender().WritePages(pair.from, pair.target, Pages(pages),
                                                {.transfer = 1, .nic = nic}),
                       1, pages),
              IsOk());
  return pair.Sent();
}

TEST(PolicyTest, SendersShareTheWorkAsTheirPolicySays) {
  using Bytes = std::vector<std::uint64_t>;
  constexpr std::uint64_t kFair = 400 / 4 * kPage;
  const auto fair = ::testing::AllOf(::testing::Ge(kFair * 8 / 10), ::testing::Le(kFair * 12 / 10));
  EXPECT_THAT(SentBy({.policy = Policy::kRoundRobin}, 400, 0), Each(fair));
  EXPECT_THAT(SentBy({.policy = Policy::kByBytes}, 400, 0), Each(fair));
  EXPECT_EQ(SentBy({.policy = Policy::kPinned}, 400, 2), (Bytes{0, 0, 400 * kPage, 0}));
  EXPECT_EQ(SentBy({.policy = Policy::kByPeer}, 400, 2), (Bytes{400 * kPage, 0, 0, 0}));
  // As many as the first may have at once go by it alone; the rest overflows in the order.
  const EngineOptions near{.policy = Policy::kNearFirst, .near_first = {3, 1}};
  EXPECT_EQ(SentBy(near, 16, 0), (Bytes{0, 0, 0, 16 * kPage}));
  const Bytes many = SentBy(near, 400, 0);
  EXPECT_GE(many[3], 16 * kPage);
  EXPECT_GE(many[1], 16 * kPage);
}

// Senders that have little to say begin with different NICs of the receiver.
TEST(PolicyTest, ManySmallSendersDoNotMeetAtOneNic) {
  constexpr std::size_t kSenders = 8;
  Cluster cluster(1 + kSenders, 4);
  const MemoryRef to = cluster.engine(0).Allocate(kSenders * kPage).value();
  auto main = [&]() -> coro::Task<absl::Status> {
    for (std::size_t i = 1; i <= kSenders; ++i) {
      CO_ASSIGN_OR_RETURN(const std::uint32_t peer,
                          co_await harness::Introduce(cluster[i], cluster[0]));
      EXPECT_EQ(peer, 0u);
      const MemoryRef from = cluster[i].Filled(kPage, kSeed).value();
      CO_ASSIGN_OR_RETURN(const RemoteRef target, cluster.engine(i).Import(peer, to->descriptor()));
      const WriteShape shape{.target_offset = (i - 1) * kPage, .bytes = kPage};
      CO_RETURN_IF_ERROR(co_await cluster.engine(i).Write(from, target, shape, {.transfer = 1}));
    }
    co_return absl::OkStatus();
  };
  EXPECT_THAT(cluster.loop.Run(main()), IsOk());
  for (std::size_t nic = 0; nic < 4; ++nic) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 1; i <= kSenders; ++i) {
      bytes += cluster.engine(i).BytesTo(0, nic);
    }
    EXPECT_LE(bytes, kSenders / 2 * kPage) << "NIC " << nic;
  }
}

TEST(EngineTest, NicsThatArePairedUseNoOtherWay) {
  Pair pair(3, {.policy = Policy::kPinned, .same_nic_only = true});
  EXPECT_THAT(pair.Run(pair.sender().WritePages(pair.from, pair.target, Pages(40),
                                                {.transfer = 1, .nic = 1}),
                       1, 40),
              IsOk());
  EXPECT_EQ(pair.Received(), (std::vector<std::uint64_t>{0, 40 * kPage, 0}));
}

// ---- How it posts ----

TEST(EngineTest, SubmittingPostsNothingAndTheLoopPostsBursts) {
  Pair pair(1, {.nic = {.window = 64, .burst = 16}});
  auto main = [&]() -> coro::Task<absl::Status> {
    coro::Scope calls;
    calls.Spawn(pair.sender().WritePages(pair.from, pair.target, Pages(64, 64), {.transfer = 1}));
    EXPECT_EQ(pair.sender().nic_stats(0).posted_pages, 0u) << "before the loop turns";
    co_return co_await calls.Join();
  };
  EXPECT_THAT(pair.cluster.loop.Run(main()), IsOk());
  const NicStats stats = pair.sender().nic_stats(0);
  EXPECT_EQ(stats.posted_pages, 64u);
  EXPECT_LE(stats.doorbells, 8u);
}

TEST(EngineTest, WindowNeverMeetsAFullQueue) {
  // The NICs of this profile have 64 slots, far fewer than the window that is asked for.
  Cluster cluster(2, 2, {.nic = {.window = 10000}}, 1, "small");
  ASSERT_THAT(cluster.loop.Run(cluster.Connect()), IsOk());
  const MemoryRef from = cluster[0].Filled(2000 * 64, kSeed).value();
  const MemoryRef to = cluster.engine(1).Allocate(2000 * 64).value();
  const RemoteRef target = cluster.Import(0, 1, to);
  EXPECT_THAT(cluster.loop.Run(
                  cluster.engine(0).WritePages(from, target, Pages(2000, 64), {.transfer = 1})),
              IsOk());
  EXPECT_TRUE(Holds(to, 0, 2000 * 64, 0));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(cluster.engine(0).nic_stats(i).refused_posts, 0u) << "NIC " << i;
  }
}

// ---- Calls that are refused ----

TEST(EngineTest, MemoryThatIsNotThereIsAnError) {
  if (harness::kSanitized) GTEST_SKIP() << "a sanitizer ends the program";
  Cluster cluster(1, 2);
  EXPECT_THAT(cluster.engine(0).Allocate(std::size_t{1} << 60),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1152921504606846976 B")));
}

TEST(EngineTest, PeersCannotMakeItCountWhatNobodyExpects) {
  Pair pair(1);
  auto main = [&]() -> coro::Task<absl::Status> {
    CO_ASSIGN_OR_RETURN(const auto arrived, pair.receiver().Expect(6, 4));
    // A transfer that is not expected; then one that has more pages than are expected.
    CO_RETURN_IF_ERROR(
        co_await pair.sender().WritePages(pair.from, pair.target, Pages(3), {.transfer = 5}));
    CO_RETURN_IF_ERROR(
        co_await pair.sender().WritePages(pair.from, pair.target, Pages(6), {.transfer = 6}));
    const bool all = co_await arrived->Reached();
    EXPECT_TRUE(all);
    // The same pages once more.
    CO_RETURN_IF_ERROR(
        co_await pair.sender().WritePages(pair.from, pair.target, Pages(4), {.transfer = 6}));
    EXPECT_EQ(arrived->distinct(), 4u);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(pair.cluster.loop.Run(main()), IsOk());
  EXPECT_EQ(pair.receiver().arrival_counters().pages, 4u);
  EXPECT_EQ(pair.receiver().arrival_counters().refused, 5u);
}

TEST(EngineTest, BadRequestsAreRefusedBeforeAnythingIsWritten) {
  Pair pair(2, {}, 1 << 16);
  Engine& engine = pair.sender();
  const auto refused = [&](coro::Task<absl::Status> call, const char* why) {
    EXPECT_THAT(pair.cluster.loop.Run(std::move(call)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused(engine.Write(pair.from, pair.target, {.bytes = 1 << 17}, {}), "leaves its memory");
  refused(engine.Write(pair.from, pair.target, {.bytes = 0}, {}), "1 to");
  refused(engine.Write(pair.from, pair.target, {.bytes = 1}, {.transfer = 4096}), "below 4096");
  refused(engine.WritePages(pair.from, pair.target, Pages(17), {}), "past the end");
  refused(engine.WritePages(pair.from, pair.target, Pages(1), {.first_page = kMostPages}), "1 to");
  refused(engine.WritePages(pair.from, pair.target, Pages(4, 0), {}), "no bytes");
  PagesShape far = Pages(2);
  const std::vector<std::uint32_t> places = {0, 0xffffffff};
  far.to = {.indices = places, .stride_bytes = std::uint64_t{1} << 60};
  refused(engine.WritePages(pair.from, pair.target, far, {}), "target");
  far.to.indices = std::span(places).first(1);
  refused(engine.WritePages(pair.from, pair.target, far, {}), "page numbers");
  std::vector<ScatterWrite> writes(1);
  writes[0].target = pair.target;
  writes[0].target_offset = UINT64_MAX;
  writes[0].bytes = 2;
  refused(engine.Scatter(pair.from, writes, {}), "leaves its memory");
  EXPECT_THAT(pair.Sent(), Each(0u));
  EXPECT_THAT(pair.receiver().Expect(4096, 1), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(pair.receiver().Expect(1, 0), StatusIs(absl::StatusCode::kInvalidArgument));
  const auto arrived = pair.receiver().Expect(1, 1).value();
  EXPECT_THAT(pair.receiver().Expect(1, 1), StatusIs(absl::StatusCode::kAlreadyExists));
  MemoryDescriptor strange = pair.to->descriptor();
  strange.nics.pop_back();
  EXPECT_THAT(engine.Import(0, strange), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(engine.Import(9, pair.to->descriptor()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(EngineTest, CallThatIsGivenUpKeepsItsMemoryUntilNothingIsUnderWay) {
  Pair pair(1);
  std::weak_ptr<const Memory> watched = pair.from;
  auto main = [&]() -> coro::Task<absl::Status> {
    const coro::Time soon = coro::After(pair.cluster.loop.Now(), 3us);
    MemoryRef from = std::move(pair.from);
    const absl::Status status = co_await pair.sender().WritePages(
        std::move(from), pair.target, Pages(8), {.transfer = 1, .deadline = soon});
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("of 8 pages")));
    EXPECT_FALSE(watched.expired()) << "its pages are under way";
    // Later calls go on as ever; by the end of one of them the first has ended.
    const MemoryRef other = pair.cluster[0].Filled(kPage, kSeed).value();
    for (int i = 0; i < 100 && !watched.expired(); ++i) {
      CO_RETURN_IF_ERROR(
          co_await pair.sender().Write(other, pair.target, {.bytes = kPage}, {.transfer = 2}));
    }
    co_return absl::OkStatus();
  };
  EXPECT_THAT(pair.cluster.loop.Run(main()), IsOk());
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace drydock::fabric::async::transfer
