#include "drydock/apps/goal/patterns.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::goal {
namespace {

using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

// Source, target, tag, NIC, bytes.
using Message =
    std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;

std::multiset<Message> MessagesOf(const Schedule& schedule, Kind kind) {
  std::multiset<Message> messages;
  for (OpIndex i = 0; i < schedule.ops().size(); ++i) {
    const Op& op = schedule.ops()[i];
    const std::uint32_t rank = schedule.RankOf(i);
    if (op.kind != kind) continue;
    const bool send = kind == Kind::kSend;
    messages.insert({send ? rank : op.peer, send ? op.peer : rank, op.tag, op.nic, op.amount});
  }
  return messages;
}

std::uint64_t BytesSentBy(const Schedule& schedule, std::uint32_t rank) {
  std::uint64_t bytes = 0;
  const auto [begin, end] = schedule.OpsOf(rank);
  for (OpIndex i = begin; i < end; ++i) {
    if (schedule.ops()[i].kind == Kind::kSend) bytes += schedule.ops()[i].amount;
  }
  return bytes;
}

TEST(PatternsTest, EveryMessageIsSentOnceAndReceivedOnce) {
  for (const char* pattern : {"ring", "tree", "incast", "alltoall"}) {
    for (const std::uint32_t ranks : {2u, 3u, 7u, 8u}) {
      ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                           MakePattern(pattern, {.ranks = ranks, .nics = 3, .bytes = 1001}));
      const std::multiset<Message> sent = MessagesOf(schedule, Kind::kSend);
      EXPECT_EQ(sent, MessagesOf(schedule, Kind::kReceive)) << pattern << " of " << ranks;
      EXPECT_EQ(std::set<Message>(sent.begin(), sent.end()).size(), sent.size()) << pattern;
      EXPECT_EQ(schedule.nics(), std::string(pattern) == "alltoall" ? std::min(ranks, 3u) : 3u);
    }
  }
}

TEST(PatternsTest, ARingSendsTwiceAllButItsOwnShare) {
  ASSERT_OK_AND_ASSIGN(const Schedule ring,
                       MakePattern("ring", {.ranks = 4, .nics = 2, .bytes = 4000}));
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(BytesSentBy(ring, rank), 2u * 3 * 1000);
  // Both halves of each step but the first wait for what came in the one before.
  std::size_t sends = 0;
  std::size_t receives = 0;
  for (OpIndex i = 0; i < ring.ops().size(); ++i) {
    for (const Edge& edge : ring.Followers(i)) {
      const Op& before = ring.ops()[i];
      const Op& after = ring.ops()[edge.after];
      EXPECT_EQ(before.kind, Kind::kReceive);
      EXPECT_EQ(after.tag, before.tag + 2);
      ++(after.kind == Kind::kSend ? sends : receives);
    }
  }
  EXPECT_EQ(sends, 4u * 2 * 5);
  EXPECT_EQ(receives, 4u * 2 * 5);
}

TEST(PatternsTest, ATreeSendsUpAndDownOnceForEachRankButTheRoot) {
  ASSERT_OK_AND_ASSIGN(const Schedule tree, MakePattern("tree", {.ranks = 6, .bytes = 64}));
  const std::multiset<Message> sent = MessagesOf(tree, Kind::kSend);
  EXPECT_EQ(sent, (std::multiset<Message>{{1, 0, 0, 0, 64},
                                          {2, 0, 0, 0, 64},
                                          {3, 2, 0, 0, 64},
                                          {4, 0, 0, 0, 64},
                                          {5, 4, 0, 0, 64},
                                          {0, 1, 1, 0, 64},
                                          {0, 2, 1, 0, 64},
                                          {2, 3, 1, 0, 64},
                                          {0, 4, 1, 0, 64},
                                          {4, 5, 1, 0, 64}}));
}

TEST(PatternsTest, AnIncastGoesToRankZero) {
  ASSERT_OK_AND_ASSIGN(const Schedule incast,
                       MakePattern("incast", {.ranks = 3, .nics = 2, .bytes = 7}));
  EXPECT_EQ(
      MessagesOf(incast, Kind::kSend),
      (std::multiset<Message>{{1, 0, 0, 0, 4}, {1, 0, 1, 1, 3}, {2, 0, 0, 0, 4}, {2, 0, 1, 1, 3}}));
}

TEST(PatternsTest, AllToAllUsesAllNics) {
  ASSERT_OK_AND_ASSIGN(const Schedule all, MakePattern("alltoall", {.ranks = 8, .nics = 3}));
  std::map<std::uint32_t, std::size_t> by_nic;
  for (const Message& message : MessagesOf(all, Kind::kSend)) ++by_nic[std::get<3>(message)];
  EXPECT_EQ(by_nic, (std::map<std::uint32_t, std::size_t>{{0, 16}, {1, 24}, {2, 16}}));
}

TEST(PatternsTest, PatternsThatDoNotExistOrAreTooLargeAreRefused) {
  EXPECT_THAT(MakePattern("star", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'star' does not exist: ring, tree, incast or alltoall")));
  EXPECT_THAT(MakePattern("ring", {.ranks = 65536, .nics = 16}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 134217728")));
}

}  // namespace
}  // namespace drydock::apps::goal
