#include "drydock/apps/goal/text.h"

#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/goal/patterns.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::goal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Written(const Schedule& schedule) {
  std::ostringstream out;
  WriteGoal(schedule, out);
  return out.str();
}

// Rank 0 has the lines from 3 on.
std::string OfRank0(const std::string& lines) {
  return absl::StrCat("num_ranks 2\nrank 0 {\n", lines, "\n}\nrank 1 {\n}\n");
}

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<Schedule> schedule = ReadGoal(text);
  if (schedule.ok()) return "none";
  EXPECT_EQ(schedule.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(schedule.status().message());
}

// As LogGOPSim's own example files have it.
TEST(GoalTextTest, ReadsWhatLogGopSimWrites) {
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, ReadGoal(R"(num_ranks 3

/* a binary tree,
   and more */
rank 1 {
l1: recv 1b from 0 tag 0
l2: send 16b to 2 tag 4 cpu 1 nic 2   // behind it
l2 requires l1
l3: calc 250 cpu 3
l3 irequires l2
recv 7b from -1 tag -1
}
rank 0 {
send 1b to 1
})"));
  EXPECT_EQ(schedule.ranks(), 3u);
  EXPECT_EQ(schedule.nics(), 3u);
  EXPECT_EQ(schedule.cpus(), 4u);
  EXPECT_EQ(schedule.longest_message(), 16u);
  const auto [begin, end] = schedule.OpsOf(1);
  ASSERT_EQ(end - begin, 4u);
  const auto ops = schedule.ops().subspan(begin, 4);
  EXPECT_EQ(ops[0], (Op{.amount = 1, .kind = Kind::kReceive}));
  EXPECT_EQ(ops[1],
            (Op{.amount = 16, .peer = 2, .tag = 4, .kind = Kind::kSend, .cpu = 1, .nic = 2}));
  EXPECT_EQ(ops[2], (Op{.amount = 250, .cpu = 3}));
  EXPECT_EQ(ops[3], (Op{.amount = 7, .peer = kAnySource, .tag = kAnyTag, .kind = Kind::kReceive}));
  EXPECT_THAT(schedule.Followers(begin), ElementsAre(Edge{begin + 1, false}));
  EXPECT_THAT(schedule.Followers(begin + 1), ElementsAre(Edge{begin + 2, true}));
  EXPECT_THAT(schedule.Followers(begin + 2), IsEmpty());
  const auto [first, last] = schedule.OpsOf(0);
  ASSERT_EQ(last - first, 1u);
  EXPECT_EQ(schedule.ops()[first], (Op{.amount = 1, .peer = 1, .kind = Kind::kSend}));
  EXPECT_EQ(schedule.RankOf(first), 0u);
  EXPECT_EQ(schedule.RankOf(begin + 3), 1u);
  EXPECT_EQ(schedule.OpsOf(2).first, schedule.OpsOf(2).second);
}

TEST(GoalTextTest, WhatIsWrittenIsReadAsTheSame) {
  for (const char* pattern : {"ring", "tree", "incast", "alltoall"}) {
    ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                         MakePattern(pattern, {.ranks = 5, .nics = 3, .bytes = 1000}));
    ASSERT_OK_AND_ASSIGN(const Schedule again, ReadGoal(Written(schedule)));
    EXPECT_TRUE(again == schedule) << pattern;
  }
}

TEST(GoalTextTest, EveryWordIsWritten) {
  const std::string text =
      "num_ranks 2\n\nrank 0 {\n"
      "l1: calc 9 cpu 1\n"
      "l2: recv 8b from -1 tag -1 cpu 0 nic 0\n"
      "l3: send 5b to 1 tag 6 cpu 2 nic 3\n"
      "l2 requires l1\nl3 irequires l2\n}\n";
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, ReadGoal(text));
  EXPECT_EQ(Written(schedule), text);
}

TEST(GoalTextTest, SchedulesDifferByAnOperationOrAWait) {
  ASSERT_OK_AND_ASSIGN(const Schedule one, ReadGoal(OfRank0("a: calc 1\nb: calc 1\nb requires a")));
  for (const char* other : {"a: calc 1\nb: calc 2\nb requires a", "a: calc 1\nb: calc 1\n",
                            "a: calc 1\nb: calc 1\nb irequires a", "calc 1"}) {
    ASSERT_OK_AND_ASSIGN(const Schedule two, ReadGoal(OfRank0(other)));
    EXPECT_FALSE(one == two) << other;
  }
}

TEST(GoalTextTest, ALabelMayBeUsedBeforeItsLine) {
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       ReadGoal(OfRank0("a requires b\na: calc 1\nb: calc 2")));
  EXPECT_THAT(schedule.Followers(1), ElementsAre(Edge{0, false}));
}

TEST(GoalTextTest, BadFilesGiveOneLineWithItsNumber) {
  EXPECT_EQ(ErrorOf(""), "line 1: expected 'num_ranks', found the end of the file");
  EXPECT_EQ(ErrorOf("rank 0 {}"), "line 1: expected 'num_ranks', found 'rank'");
  EXPECT_EQ(ErrorOf("num_ranks 0"), "line 1: there is no rank");
  EXPECT_EQ(ErrorOf("num_ranks 65537"),
            "line 1: the number of ranks is '65537', not a number up to 65536");
  EXPECT_EQ(ErrorOf("num_ranks 1\nrank 1 {}"), "line 2: a rank is '1', not a number up to 0");
  EXPECT_EQ(ErrorOf("num_ranks 1\nrank 0 {}\nrank 0 {}"), "line 3: rank 0 is there twice");
  EXPECT_EQ(ErrorOf("num_ranks 1\nrank 0 {\ncalc 1\n"), "line 3: rank 0 has no '}'");
  EXPECT_EQ(ErrorOf("num_ranks 1\n/* rank 0 {}\n"), "line 2: a comment has no end");
  EXPECT_EQ(ErrorOf(OfRank0("sned 1b to 1")),
            "line 3: expected 'calc', 'send', 'recv' or '}', found 'sned'");
  EXPECT_EQ(ErrorOf(OfRank0("send 1 to 1")), "line 3: expected a size like 4096b, found '1'");
  EXPECT_EQ(ErrorOf(OfRank0("send")),
            "line 3: expected a size like 4096b, found the end of the line");
  EXPECT_EQ(ErrorOf(OfRank0("send 1b from 1")), "line 3: expected 'to', found 'from'");
  EXPECT_EQ(ErrorOf(OfRank0("send 1b to 2")), "line 3: a rank is '2', not a number up to 1");
  EXPECT_EQ(ErrorOf(OfRank0("send 1b to -1")), "line 3: a rank is '-1', not a number up to 1");
  EXPECT_EQ(ErrorOf(OfRank0("send 1b to 1 nic 256")),
            "line 3: a NIC is '256', not a number up to 255");
  EXPECT_EQ(ErrorOf(OfRank0("calc 1 nic 1")), "line 3: 'nic' is too much");
  EXPECT_EQ(ErrorOf(OfRank0("calc")),
            "line 3: the time is missing, not a number up to 1152921504606846976");
  EXPECT_EQ(ErrorOf(OfRank0("a: calc 1\n\na: calc 2")), "line 5: label 'a' is that of line 3, too");
  EXPECT_EQ(ErrorOf(OfRank0("a: calc 1\na requires b")),
            "line 4: nothing of this rank has the label 'b'");
  EXPECT_EQ(ErrorOf(OfRank0("1: calc 1")), "line 3: '1' is no label");
  EXPECT_EQ(ErrorOf(OfRank0("a: calc 1\na requires a b")), "line 4: 'b' is too much");
}

TEST(GoalTextTest, OperationsThatWaitInACircleAreNamed) {
  EXPECT_EQ(ErrorOf(OfRank0("a: calc 1\na requires a")),
            "line 3: this operation waits for itself, by way of others");
  const std::string circle = ErrorOf(OfRank0(
      "a: calc 1\nb: calc 1\nc: calc 1\nd: calc 1\nb requires a\nb requires c\nc irequires b\nd "
      "requires c"));
  EXPECT_TRUE(circle == "line 4: this operation waits for itself, by way of others" ||
              circle == "line 5: this operation waits for itself, by way of others")
      << circle;
}

// Whatever is in a file: a line, and no crash.
TEST(GoalTextTest, EveryPrefixAndEveryChangedByteIsReadOrRefused) {
  const std::string good =
      OfRank0("a: send 12b to 1 tag 3 cpu 1\nb: recv 7b from -1 /* x */\nb requires a");
  ASSERT_EQ(ErrorOf(good), "none");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<std::string> texts = {good.substr(0, i)};
    for (const char c : {'\0', ' ', '\n', '}', '{', ':', '9', '\xff'}) {
      texts.push_back(good);
      texts.back()[i] = c;
    }
    for (const std::string& text : texts) {
      const std::string error = ErrorOf(text);
      EXPECT_TRUE(error == "none" || absl::StartsWith(error, "line ")) << error;
      EXPECT_FALSE(absl::StrContains(error, '\n')) << error;
    }
  }
}

TEST(GoalTextTest, AFileOfTooManyOperationsOrWaitsIsRefused) {
  const std::string text =
      "num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\nb requires a\n}\n"
      "rank 1 {\na: calc 1\nb: calc 1\nb requires a\n}";
  const auto read = [&](const GoalLimits& limits) { return ReadGoal(text, limits).status(); };
  EXPECT_TRUE(read({.operations = 4, .waits = 2}).ok());
  EXPECT_THAT(read({.operations = 3}),
              testing_matchers::StatusIs(absl::StatusCode::kInvalidArgument,
                                         "line 9: there are more than 3 operations"));
  EXPECT_THAT(read({.waits = 1}),
              testing_matchers::StatusIs(absl::StatusCode::kInvalidArgument,
                                         "line 10: there are more than 1 waits"));
}

TEST(GoalTextTest, ALineOfTooManyWordsIsRefused) {
  std::string line = "rank 0 {";
  for (std::size_t i = 0; i < kMostWordsOfLine; ++i) line += " {";
  EXPECT_THAT(ReadGoal("num_ranks 1\n" + line).status(),
              testing_matchers::StatusIs(absl::StatusCode::kInvalidArgument,
                                         "line 2: there are more than 4096 words"));
  EXPECT_THAT(ReadGoal("num_ranks 1\nrank 0 {\n" + std::string(kMostWordsOfLine + 1, '{')).status(),
              testing_matchers::StatusIs(absl::StatusCode::kInvalidArgument,
                                         "line 3: there are more than 4096 words"));
}

}  // namespace
}  // namespace drydock::apps::goal
