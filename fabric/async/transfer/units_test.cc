// The parts of the engine, each by itself.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/arrivals.h"
#include "drydock/fabric/async/transfer/balance.h"
#include "drydock/fabric/async/transfer/chunk_dispatcher.h"
#include "drydock/fabric/async/transfer/chunk_line.h"
#include "drydock/fabric/async/transfer/chunk_table.h"
#include "drydock/fabric/async/transfer/descriptor.h"
#include "drydock/fabric/async/transfer/immediate.h"
#include "drydock/fabric/async/transfer/memory.h"
#include "drydock/fabric/async/transfer/messages.h"
#include "drydock/fabric/async/transfer/operations.h"
#include "drydock/fabric/async/transfer/plan.h"
#include "drydock/fabric/async/transfer/policy.h"
#include "drydock/fabric/async/transfer/rail.h"
#include "drydock/fabric/async/transfer/spsc_ring.h"
#include "drydock/fabric/async/transfer/transfer_request.h"
#include "drydock/fabric/async/transfer/transfer_table.h"
#include "drydock/fabric/error.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async::transfer {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

// ---- Pages of a NIC ----

TEST(OperationsTest, AContextNamesOnePageOnce) {
  Operations operations(2);
  const coro::Time start{};
  const Context first = operations.NextContext(0);
  const Context second = operations.NextContext(1);
  operations.Begin({.chunk = 1, .page = 5}, start + 1s);
  operations.Begin({.chunk = 2, .page = 6}, start + 2s);
  EXPECT_EQ(operations.room(), 0u);
  EXPECT_EQ(operations.Oldest()->page.page, 5u);
  EXPECT_EQ(operations.End(second)->page, 6u);
  EXPECT_EQ(operations.End(second), nullptr);
  // Its place is the next one's, under another name.
  const Context third = operations.NextContext(0);
  EXPECT_NE(third, second);
  operations.Begin({.chunk = 3, .page = 7}, start + 3s);
  EXPECT_EQ(operations.End(second), nullptr);
  EXPECT_EQ(operations.End(first)->chunk, 1u);
  EXPECT_EQ(operations.Oldest()->since, start + 3s);
  operations.Postpone(10s);
  EXPECT_EQ(operations.Oldest()->since, start + 13s);
  EXPECT_EQ(operations.EndAny()->page, 7u);
  EXPECT_EQ(operations.EndAny(), nullptr);
  EXPECT_FALSE(operations.Oldest().has_value());
  EXPECT_EQ(operations.End(Context{UINT64_MAX}), nullptr);
}

TEST(ChunkLineTest, PagesLeaveInOrderAndAChunkEndsWithItsLast) {
  ChunkLine line(3);
  EXPECT_TRUE(line.empty());
  line.Add({.id = 2, .first = 10, .count = 2});
  line.Add({.id = 0, .first = 50, .count = 1});
  std::vector<std::uint32_t> seen;
  const auto look = [&](bool goes_on) {
    seen.clear();
    line.Look([&](const Chunk&, std::uint32_t first, std::uint32_t pages) {
      seen.insert(seen.end(), {first, pages});
      return goes_on;
    });
  };
  look(true);
  EXPECT_THAT(seen, ElementsAre(10, 2, 50, 1));
  EXPECT_EQ(line.Take().page, 10u);
  look(false);
  EXPECT_THAT(seen, ElementsAre(11, 1));
  EXPECT_FALSE(line.EndPage(2));
  EXPECT_EQ(line.Take().page, 11u);
  const ChunkPage last = line.Take();
  EXPECT_EQ(last.chunk, 0u);
  EXPECT_EQ(last.page, 50u);
  EXPECT_TRUE(line.empty());
  EXPECT_TRUE(line.EndPage(0));
  EXPECT_TRUE(line.EndPage(2));
}

// ---- Descriptors ----

Address AddressOf(std::uint8_t first) {
  const std::vector<std::uint8_t> bytes = {first, 2, 3, 4};
  return Address::FromBytes(bytes).value();
}

PeerDescriptor SomePeer() {
  PeerDescriptor peer;
  peer.nics = {AddressOf(1), AddressOf(9)};
  return peer;
}

MemoryDescriptor SomeMemory() {
  MemoryDescriptor memory;
  memory.length_bytes = 4096;
  memory.nics = {{.address = 0x1000, .key = 7}, {.address = 0x2000, .key = UINT64_MAX}};
  return memory;
}

TEST(DescriptorTest, SurvivesTheJourney) {
  const absl::StatusOr<PeerDescriptor> peer = PeerDescriptor::Parse(SomePeer().Serialize());
  ASSERT_THAT(peer, IsOk());
  EXPECT_EQ(*peer, SomePeer());
  const auto memory = MemoryDescriptor::Parse(SomeMemory().Serialize());
  ASSERT_THAT(memory, IsOk());
  EXPECT_EQ(memory->length_bytes, 4096u);
  ASSERT_EQ(memory->nics.size(), 2u);
  EXPECT_EQ(memory->nics[1].address, 0x2000u);
  EXPECT_EQ(memory->nics[1].key, UINT64_MAX);
}

TEST(DescriptorTest, EveryCutIsRefused) {
  for (const Bytes& whole : {SomePeer().Serialize(), SomeMemory().Serialize()}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_THAT(PeerDescriptor::Parse(cut), StatusIs(absl::StatusCode::kInvalidArgument));
      EXPECT_THAT(MemoryDescriptor::Parse(cut), StatusIs(absl::StatusCode::kInvalidArgument));
    }
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_THAT(PeerDescriptor::Parse(longer), StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(MemoryDescriptor::Parse(longer), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(DescriptorTest, NonsenseIsRefusedByName) {
  const auto refused = [](const auto& result, const char* why) {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused(PeerDescriptor::Parse(SomeMemory().Serialize()), "other bytes");
  PeerDescriptor peer = SomePeer();
  peer.nics[1] = peer.nics[0];
  refused(PeerDescriptor::Parse(peer.Serialize()), "earlier one");
  peer.nics = {Address()};
  refused(PeerDescriptor::Parse(peer.Serialize()), "NIC 0");
  peer.nics.clear();
  refused(PeerDescriptor::Parse(peer.Serialize()), "0 NICs");
  for (std::uint8_t i = 0; i < 65; ++i) peer.nics.push_back(AddressOf(i));
  refused(PeerDescriptor::Parse(peer.Serialize()), "65 NICs");
  MemoryDescriptor memory = SomeMemory();
  memory.length_bytes = 0;
  refused(MemoryDescriptor::Parse(memory.Serialize()), "no bytes");
  memory.length_bytes = UINT64_MAX - 0x1000;
  refused(MemoryDescriptor::Parse(memory.Serialize()), "last address");
}

// ---- Immediates, arrivals ----

TEST(ImmediateTest, NamesTransferAndPage) {
  const std::uint32_t immediate = MakeImmediate(kMostTransfers - 1, kMostPages - 2);
  EXPECT_EQ(TransferOf(immediate), kMostTransfers - 1);
  EXPECT_EQ(PageOf(immediate), kMostPages - 2);
}

TEST(ArrivalsTest, DistinctPagesCountAndNothingElse) {
  ArrivalTable table;
  {
    Expectation expectation(table, 3, 65);
    for (const std::uint32_t page : {0u, 64u, 0u, 65u, kMostPages - 1}) {
      table.Arrived(MakeImmediate(3, page));
    }
    table.Arrived(MakeImmediate(4, 1));
    EXPECT_EQ(expectation.distinct(), 2u);
    EXPECT_EQ(expectation.duplicates(), 1u);
    EXPECT_TRUE(expectation.has(64));
    EXPECT_FALSE(expectation.has(1));
  }
  table.Arrived(MakeImmediate(3, 1));  // it is not expected any more
  EXPECT_EQ(table.counters().pages, 2u);
  EXPECT_EQ(table.counters().duplicates, 1u);
  EXPECT_EQ(table.counters().refused, 4u);
}

// ---- Plans ----

TEST(PiecesOfTest, PiecesOfAnyLengthCoverTheRange) {
  const auto pieces = [](std::uint64_t bytes, std::uint64_t piece_bytes) {
    return PiecesOf({.bytes = bytes, .piece_bytes = piece_bytes}, Policy::kRoundRobin, 2);
  };
  EXPECT_EQ(pieces(0, 100), 0u);
  EXPECT_EQ(pieces(100, 100), 1u);
  EXPECT_EQ(pieces(101, 100), 2u);
  EXPECT_EQ(pieces(101, UINT64_MAX), 1u);
  EXPECT_EQ(pieces(UINT64_MAX, 1), UINT32_MAX);
  EXPECT_EQ(pieces(UINT64_MAX, UINT64_MAX - 1), 2u);
  EXPECT_EQ(PiecesOf({.bytes = 5}, Policy::kSplit, 4), 3u);  // of 2 B
  EXPECT_EQ(PiecesOf({.bytes = UINT64_MAX}, Policy::kSplit, 4), 4u);
}

// A source, and peers whose memory is as long.
class PlanTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kBytes = 8;

  // A write to each of so many peers, of which the engine knows no more.
  static std::vector<ScatterWrite> OneToEach(std::uint32_t peers) {
    std::vector<ScatterWrite> writes(peers);
    for (std::uint32_t peer = 0; peer < peers; ++peer) {
      MemoryDescriptor memory;
      memory.length_bytes = kBytes;
      writes[peer].target = std::make_shared<const RemoteMemory>(peer, memory);
      writes[peer].bytes = kBytes;
    }
    return writes;
  }

  sim::TwoNodes nodes_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes);
  MemoryRef source_ = [this] {
    std::vector<std::unique_ptr<MemoryRegion>> regions;
    regions.push_back(
        nodes_.a.domain().RegisterMemory({.data = bytes_.data(), .length_bytes = kBytes}).value());
    return std::make_shared<const Memory>(nullptr, std::move(regions));
  }();
};

// The pages of each peer have numbers of their own, and all numbers may be used, as by the last
// generation of a barrier.
TEST_F(PlanTest, ScatterUsesEveryPageNumberAtEachPeer) {
  for (const std::uint32_t peers : {3u, 4095u}) {
    const std::vector<ScatterWrite> writes = OneToEach(peers);
    Plan plan;
    plan.source = source_;
    ASSERT_THAT(PlanScatter(writes, peers, {.first_page = kMostPages - 1}, plan), IsOk());
    EXPECT_EQ(plan.pages, peers);
    for (const ScatterPage& page : plan.scatter) EXPECT_EQ(page.sequence, kMostPages - 1);
  }
}

TEST_F(PlanTest, ScatterWithMorePagesForAPeerThanNumbersIsRefused) {
  std::vector<ScatterWrite> writes = OneToEach(3);
  writes.push_back(writes[1]);
  const auto planned = [&](std::uint32_t first_page) {
    Plan plan;
    plan.source = source_;
    return PlanScatter(writes, 3, {.first_page = first_page}, plan);
  };
  EXPECT_THAT(planned(kMostPages - 2), IsOk());
  EXPECT_THAT(planned(kMostPages - 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("peer 1")));
  EXPECT_THAT(planned(kMostPages), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 to")));
}

// Memories are counted, not the changes from one to another: here of two peers that take turns.
TEST_F(PlanTest, ScatterNamesEachMemoryOnceWhateverTheOrder) {
  constexpr std::uint32_t kWrites = 1 << 17;
  const std::vector<ScatterWrite> peers = OneToEach(2);
  std::vector<ScatterWrite> writes;
  for (std::uint32_t i = 0; i < kWrites; ++i) writes.push_back(peers[i % 2]);
  Plan plan;
  plan.source = source_;
  ASSERT_THAT(PlanScatter(writes, 2, {}, plan), IsOk());
  EXPECT_EQ(plan.targets.size(), 2u);
  ASSERT_EQ(plan.pages, kWrites);
  for (std::uint32_t i = 0; i < kWrites; ++i) {
    ASSERT_EQ(plan.TargetOf(i).peer(), i % 2);
    ASSERT_EQ(plan.scatter[i].sequence, i / 2);
  }
}

TEST_F(PlanTest, ScatterToMoreMemoriesThanCanBeNamedIsRefused) {
  const auto planned = [&](std::uint32_t peers) {
    Plan plan;
    plan.source = source_;
    return PlanScatter(OneToEach(peers), peers, {}, plan);
  };
  EXPECT_THAT(planned(UINT16_MAX), IsOk());
  EXPECT_THAT(planned(UINT16_MAX + 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 65535")));
}

// ---- Rings ----

TEST(SpscRingTest, HandsOverEverythingInOrderBetweenTwoThreads) {
  constexpr std::uint64_t kCount = 20000;
  SpscRing<std::uint64_t> ring(7);
  EXPECT_EQ(ring.room(), 8u);
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kCount;) {
      if (ring.TryPush(i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::uint64_t expected = 0;
  for (std::uint64_t value = 0; expected < kCount;) {
    if (!ring.TryPop(value)) {
      std::this_thread::yield();
      continue;
    }
    EXPECT_EQ(value, expected);
    ++expected;
  }
  producer.join();
}

TEST(SpscRingTest, RefusesWhatDoesNotFit) {
  SpscRing<int> ring(2);
  EXPECT_TRUE(ring.TryPush(1));
  EXPECT_TRUE(ring.TryPush(2));
  EXPECT_FALSE(ring.TryPush(3));
  int value = 0;
  EXPECT_TRUE(ring.TryPop(value));
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(ring.TryPush(3));
  EXPECT_TRUE(ring.TryPop(value));
  EXPECT_TRUE(ring.TryPop(value));
  EXPECT_EQ(value, 3);
  EXPECT_FALSE(ring.TryPop(value));
}

// ---- Calls, and the chunks of them that NICs have ----

TEST(ChunkTableTest, EachNicHasIdsOfItsOwnWhichAreUsedAgain) {
  ChunkTable chunks;
  chunks.AddNic(2);
  chunks.AddNic(1);
  GivenChunk chunk;
  chunk.first = 10;
  EXPECT_EQ(chunks.Add(chunk), 0u);
  chunk.first = 20;
  EXPECT_EQ(chunks.Add(chunk), 1u);
  chunk.first = 30;
  chunk.route.nic = 1;
  EXPECT_EQ(chunks.Add(chunk), 0u);
  EXPECT_EQ(chunks.At(0, 0).first, 10u);
  EXPECT_EQ(chunks.At(0, 1).first, 20u);
  EXPECT_EQ(chunks.At(1, 0).first, 30u);
  chunks.At(0, 1).failed.push_back({.page = 21});
  chunks.Remove(0, 1);
  chunk.first = 40;
  chunk.route.nic = 0;
  EXPECT_EQ(chunks.Add(chunk), 1u);
  EXPECT_EQ(chunks.At(0, 1).first, 40u);
  EXPECT_TRUE(chunks.At(0, 1).failed.empty());
}

// A NIC says that a page failed, and with its next report that the chunk has ended: in between it
// still has the chunk, whose place is nobody else's.
TEST_F(PlanTest, RoomOfAFailedPageComesBackWithItsChunk) {
  RailOptions options;
  options.window = options.burst = 1;
  std::vector<std::unique_ptr<Rail>> rails;
  rails.push_back(Rail::Open(nodes_.a.domain(), 0, options).value());
  ASSERT_EQ(rails[0]->most_chunks(), 3u);
  Balance balance({.windows = {3}});
  balance.AddPeer({{true}}, 0);
  TransferTable transfers;
  ChunkDispatcher dispatcher(rails, balance, transfers, nodes_.loop.clock(), 4);
  for (int i = 0; i < 4; ++i) {
    Transfer& transfer = transfers.New();
    transfer.plan.source = source_;
    ASSERT_THAT(PlanScatter(OneToEach(1), 1, {}, transfer.plan), IsOk());
    transfers.Submit(transfer);
  }
  dispatcher.BeginTurn();
  EXPECT_EQ(dispatcher.Dispatch(), 3u);
  dispatcher.PageFailed(0, {.kind = Report::Kind::kPageFailed,
                            .error = ErrorCode::kUnreachable,
                            .tried = true,
                            .chunk = 0,
                            .page = 0});
  EXPECT_EQ(dispatcher.Dispatch(), 0u);
  dispatcher.ChunkEnded(0, 0);
  EXPECT_EQ(dispatcher.Dispatch(), 1u);
}

// Calls of four pages of 10 bytes; the test is their NIC.
class TransferTableTest : public ::testing::Test {
 protected:
  Transfer& Submit() {
    Transfer& transfer = table_.New();
    transfer.plan.pages = 4;
    transfer.plan.page_bytes = 10;
    transfer.plan.total_bytes = 40;
    table_.Submit(transfer);
    return transfer;
  }

  TransferTable table_;
};

TEST_F(TransferTableTest, PageThatFailedIsHandedOutOnceMore) {
  Transfer& transfer = Submit();
  EXPECT_EQ(table_.backlog_bytes(), 40u);
  EXPECT_EQ(&table_.PopFront(), &transfer);
  table_.HandedOut(transfer, 4, 40);
  EXPECT_EQ(table_.backlog_bytes(), 0u);
  table_.HandOutAgain(transfer, {.page = 2, .attempts = 1}, 10);
  EXPECT_EQ(table_.backlog_bytes(), 10u);
  EXPECT_EQ(table_.queued(), 0u) << "before its chunk has ended";
  table_.Ended(transfer, 4, 1);
  ASSERT_EQ(table_.queued(), 1u);
  EXPECT_EQ(&table_.PopFront(), &transfer);
  EXPECT_EQ(transfer.redo.back().page, 2u);
  table_.HandedOut(transfer, 1, 10);
  EXPECT_FALSE(transfer.HasMore());
  EXPECT_FALSE(transfer.finished);
  table_.Ended(transfer, 1, 0);
  EXPECT_TRUE(transfer.finished);
  EXPECT_THAT(transfer.failure, IsOk());
  EXPECT_EQ(transfer.completed, 4u);
  EXPECT_EQ(table_.backlog_bytes(), 0u);
}

TEST_F(TransferTableTest, FailureWaitsForThePagesThatAreUnderWay) {
  Transfer& transfer = Submit();
  table_.PopFront();
  table_.HandedOut(transfer, 2, 20);
  table_.PushBack(transfer);
  table_.Fail(transfer, absl::UnavailableError("the first"));
  table_.Fail(transfer, absl::AbortedError("another"));
  EXPECT_EQ(table_.queued(), 0u);
  EXPECT_EQ(table_.backlog_bytes(), 0u);
  EXPECT_FALSE(transfer.finished);
  table_.Ended(transfer, 2, 1);
  EXPECT_TRUE(transfer.finished);
  EXPECT_THAT(transfer.failure, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the first")));
}

TEST_F(TransferTableTest, CallThatIsGivenUpIsUsedAgainWhenItsPagesHaveEnded) {
  Transfer& transfer = Submit();
  table_.PopFront();
  table_.HandedOut(transfer, 3, 30);
  table_.Release(transfer);
  EXPECT_EQ(table_.backlog_bytes(), 0u);
  EXPECT_NE(&Submit(), &transfer) << "NICs still read its plan";
  table_.Ended(transfer, 3, 0);
  Transfer& again = Submit();
  EXPECT_EQ(&again, &transfer);
  EXPECT_EQ(again.completed, 0u);
  EXPECT_TRUE(again.HasMore());
  EXPECT_FALSE(again.abandoned);
}

// ---- Policies, balance ----

TEST(PolicyTest, NamesAreRead) {
  for (int i = 0; i < kPolicyCount; ++i) {
    const auto policy = static_cast<Policy>(i);
    const std::string_view name = Name(policy);
    const absl::StatusOr<Policy> parsed = ParsePolicy({name.data(), name.size()});
    ASSERT_THAT(parsed, IsOk());
    EXPECT_EQ(*parsed, policy);
  }
  EXPECT_THAT(ParsePolicy("fastest"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("near-first")));
}

// Two NICs, and a peer with two.
class BalanceTest : public ::testing::Test {
 protected:
  BalanceTest() : balance_({.windows = {64, 64}}) {
    balance_.AddPeer({{true, true}, {true, true}}, 0);
  }

  Wish Of(Policy policy, std::uint64_t left = 1000) {
    Wish wish;
    wish.policy = policy;
    wish.bytes = 10;
    wish.left = left;
    return wish;
  }
  Route Choose(const Wish& wish) {
    Route route;
    EXPECT_EQ(balance_.Choose(wish, route), Balance::Answer::kFound);
    return route;
  }
  // So many chunks end by NIC `nic`, one at a time, each after `took`.
  void Learn(std::uint16_t nic, coro::Duration took) {
    for (int i = 0; i < 8; ++i) {
      balance_.Given(0, {nic, nic}, 1, 10, now_);
      now_ += took;
      balance_.Ended(0, {nic, nic}, 1, 10, 0, now_);
    }
  }

  Balance balance_;
  coro::Time now_ = coro::Time(1s);
};

TEST_F(BalanceTest, SlowNicGetsNothingOfTheLastAndItsShareOfTheRest) {
  Learn(0, 10us);
  Learn(1, 100us);
  EXPECT_NEAR(balance_.share(0).rate() / balance_.share(1).rate(), 10, 0.1);
  // Of the last 20 bytes: the slow one would need far longer for 10 than the fast one for all.
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Choose(Of(Policy::kRoundRobin, 20)).nic, 0);
  std::vector<int> chosen(2);
  for (int i = 0; i < 20; ++i) ++chosen[Choose(Of(Policy::kRoundRobin, 100000)).nic];
  EXPECT_EQ(chosen, (std::vector<int>{10, 10}));
}

TEST_F(BalanceTest, MakingAConnectionSaysNothingOfARate) {
  for (const std::uint16_t nic : {0, 1}) balance_.Given(0, {nic, nic}, 1, 10, now_);
  now_ += 20ms;
  for (const std::uint16_t nic : {0, 1}) balance_.Ended(0, {nic, nic}, 1, 10, 0, now_);
  for (const std::uint16_t nic : {0, 1}) EXPECT_EQ(balance_.share(nic).rate(), 0);
  // One has shown what it does; the other one, of which nothing is known, gets its half all the
  // same.
  Learn(0, 10us);
  std::vector<int> chosen(2);
  for (int i = 0; i < 20; ++i) {
    const Route route = Choose(Of(Policy::kByBytes, 100000));
    balance_.Given(0, route, 1, 10, now_);
    ++chosen[route.nic];
  }
  EXPECT_EQ(chosen, (std::vector<int>{10, 10}));
}

// Each peer makes connections of its own, and rests on its own.
TEST_F(BalanceTest, ConnectionsToOnePeerSayNothingOfItWhileAnotherIsBusy) {
  Balance balance({.windows = {128, 128}});
  for (int peer = 0; peer < 3; ++peer) balance.AddPeer({{true, true}, {true, true}}, 0);
  for (std::uint32_t peer = 0; peer < 3; ++peer) {
    for (const std::uint16_t nic : {0, 1}) balance.Given(peer, {nic, nic}, 1, 10, now_);
  }
  balance.Given(2, {0, 1}, 1, 10, now_);  // which never ends
  now_ += 20ms;
  for (std::uint32_t peer = 0; peer < 3; ++peer) {
    for (const std::uint16_t nic : {0, 1}) balance.Ended(peer, {nic, nic}, 1, 10, 0, now_);
  }
  for (const std::uint32_t peer : {0u, 1u}) {
    for (const std::uint16_t nic : {0, 1}) EXPECT_EQ(balance.remote_share(peer, nic).rate(), 0);
  }
}

TEST_F(BalanceTest, NewNicGetsLessUntilItHasShownWhatItDoes) {
  Balance balance({.windows = {128}});
  EXPECT_EQ(balance.room(0), 16u);
  balance.AddPeer({{true}}, 0);
  balance.Given(0, {0, 0}, 16, 160, now_);
  EXPECT_EQ(balance.room(0), 0u);
  Route route;
  EXPECT_EQ(balance.Choose(Of(Policy::kPinned), route), Balance::Answer::kBusy);
  balance.Ended(0, {0, 0}, 16, 160, 0, now_ + 1us);
  EXPECT_EQ(balance.room(0), 32u);
}

TEST_F(BalanceTest, WayThatFailedIsTheLastResort) {
  Wish wish = Of(Policy::kPinned);
  balance_.Failed(0, {0, 0}, false);
  EXPECT_EQ(Choose(wish), (Route{0, 1, false}));
  balance_.Failed(0, {0, 1}, true);
  EXPECT_EQ(Choose(wish).nic, 1);
  balance_.Died(1);
  EXPECT_EQ(Choose(wish), (Route{0, 0, true})) << "the one that may work again";
  balance_.Worked(0, {0, 0});
  EXPECT_EQ(Choose(wish), (Route{0, 0, false}));
  balance_.Failed(0, {0, 0}, true);
  Route route;
  EXPECT_EQ(balance_.Choose(wish, route), Balance::Answer::kNone);
}

TEST_F(BalanceTest, PageThatFailedGoesAnotherWay) {
  for (const Route failed : {Route{0, 0}, Route{1, 0}, Route{0, 1}, Route{1, 1}}) {
    Wish wish = Of(Policy::kRoundRobin);
    wish.avoid = failed;
    const Route route = Choose(wish);
    EXPECT_NE(route.nic, failed.nic);
    EXPECT_NE(route.remote, failed.remote);
  }
}

// Many that failed at NIC 0 of the peer: the other one is crowded with them, and still takes them.
TEST_F(BalanceTest, PagesThatFailedDoNotGoBackToTheNicThatIsSilent) {
  for (int i = 0; i < 30; ++i) {
    Wish wish = Of(Policy::kRoundRobin);
    wish.avoid = Route{static_cast<std::uint16_t>(i % 2), 0};
    const Route route = Choose(wish);
    EXPECT_EQ(route.remote, 1) << i;
    balance_.Given(0, route, 1, 10, now_);
  }
}

TEST_F(BalanceTest, SilentReceivingNicDoesNotTakeTheWholeWindow) {
  std::vector<std::uint64_t> given(2);
  for (int i = 0; i < 60; ++i) {
    const Route route = Choose(Of(Policy::kRoundRobin));
    balance_.Given(0, route, 1, 10, now_);
    given[route.remote] += 10;
    now_ += 1us;
    // NIC 0 of the peer never answers.
    if (route.remote == 1) balance_.Ended(0, route, 1, 10, 0, now_);
  }
  EXPECT_LE(given[0], 30u);
  EXPECT_GE(given[1], 500u);
}

}  // namespace
}  // namespace drydock::fabric::async::transfer
