// Many seeds of one program: all are run, failures are reported with their output, and a command
// can be typed again.

#include "drydock/sim/verbs/seed_runs.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

using ::drydock::testing_matchers::StatusIs;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::chrono::minutes kLong{10};

// All runs, by seed.
std::map<std::uint64_t, EndedRun> RunAll(const SeedRange& seeds,
                                         const std::function<int(std::uint64_t)>& become,
                                         std::chrono::milliseconds patience = kLong) {
  std::map<std::uint64_t, EndedRun> runs;
  const absl::Status status = RunSeeds(
      seeds, patience,
      [&](std::uint64_t seed) -> Process { return [&become, seed] { return become(seed); }; },
      [&](const EndedRun& run) {
        runs[run.seed] = run;
        return true;
      });
  EXPECT_TRUE(status.ok()) << status;
  return runs;
}

TEST(SeedRunsTest, ARangeIsTwoSeedsOrOne) {
  const auto range = ParseSeedRange("3..18446744073709551615");
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->first, 3u);
  EXPECT_EQ(range->last, 18446744073709551615u);
  const auto one = ParseSeedRange("7");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->first, 7u);
  EXPECT_EQ(one->last, 7u);
  for (const char* bad : {"", "..", "1..", "..2", "2..1", "1...2", "a..b", "-1..2"}) {
    EXPECT_THAT(ParseSeedRange(bad),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--seeds=")))
        << bad;
  }
}

TEST(SeedRunsTest, EachRunIsToldWithWhatItSaid) {
  const auto runs = RunAll({10, 29}, [](std::uint64_t seed) {
    std::printf("this is %d\n", static_cast<int>(seed));
    std::fprintf(stderr, "and more\n");
    if (seed == 25) std::raise(SIGKILL);
    return seed == 12 ? 3 : 0;
  });
  ASSERT_EQ(runs.size(), 20u);
  for (const auto& [seed, run] : runs) {
    EXPECT_EQ(run.status, seed == 12 ? 3 : seed == 25 ? 128 + SIGKILL : 0) << seed;
    EXPECT_EQ(run.signal, seed == 25 ? SIGKILL : 0) << seed;
    if (seed == 25) continue;  // it flushed nothing
    EXPECT_THAT(run.output, HasSubstr(absl::StrCat("this is ", seed, "\n")));
    EXPECT_THAT(run.output, HasSubstr("and more\n"));
  }
}

// File descriptors that the program opens have the same numbers as in a run by itself, and there is
// no input.
TEST(SeedRunsTest, AProgramHasNothingOfOurs) {
  const auto runs = RunAll({1, 8}, [](std::uint64_t) {
    execl("/bin/sh", "sh", "-c", "ls /proc/self/fd | tr '\\n' ' '; cat; exit 5", nullptr);
    return 2;
  });
  ASSERT_EQ(runs.size(), 8u);
  for (const auto& [seed, run] : runs) {
    EXPECT_EQ(run.status, 5);
    EXPECT_TRUE(run.was_run);
    EXPECT_EQ(run.output, "0 1 2 3 ") << "3 is the folder that ls reads";
  }
}

TEST(SeedRunsTest, AProgramThatWasNotRunIsToldApartFromOneThatFails) {
  const auto runs = RunAll({1, 2}, [](std::uint64_t seed) {
    if (seed == 1) execl("/bin/sh", "sh", "-c", "exit 2", nullptr);
    std::fprintf(stderr, "no such program\n");
    return 2;
  });
  EXPECT_EQ(runs.at(1).status, 2);
  EXPECT_TRUE(runs.at(1).was_run);
  EXPECT_EQ(runs.at(2).status, 2);
  EXPECT_FALSE(runs.at(2).was_run);
  EXPECT_EQ(runs.at(2).output, "no such program\n");
}

TEST(SeedRunsTest, NoneBeginsOnceWhatHasEndedIsEnough) {
  int seen = 0;
  int begun = 0;
  int begun_by_then = 0;
  const absl::Status status = RunSeeds(
      {1, 18446744073709551615u}, kLong,
      [&](std::uint64_t) -> Process {
        ++begun;
        return [] { return 1; };
      },
      [&](const EndedRun&) {
        if (++seen == 3) begun_by_then = begun;
        return seen < 3;
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GE(seen, 3);
  EXPECT_EQ(begun, begun_by_then);
}

TEST(SeedRunsTest, WhatCannotBeginIsToldWhenNothingElseRuns) {
  int ended = 0;
  const absl::Status status = RunSeeds(
      {1, 9}, kLong,
      [](std::uint64_t seed) -> absl::StatusOr<Process> {
        if (seed == 3) return absl::UnavailableError("no memory");
        return Process([] { return 0; });
      },
      [&](const EndedRun&) { return ++ended < 9; });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no memory")));
  EXPECT_EQ(ended, 2);
}

TEST(SeedRunsTest, NobodyWaitsForEverForOne) {
  const auto late = RunAlone(
      [] {
        for (;;) pause();
        return 0;
      },
      std::chrono::milliseconds(100));
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_FALSE(late->in_time);
  EXPECT_EQ(late->signal, SIGKILL);
  const auto quick = RunAlone(
      [] {
        std::printf("here\n");
        return 7;
      },
      std::chrono::minutes(1));
  ASSERT_TRUE(quick.ok()) << quick.status();
  EXPECT_TRUE(quick->in_time);
  EXPECT_EQ(quick->status, 7);
  EXPECT_EQ(quick->output, "here\n");
}

TEST(SeedRunsTest, OneSeedThatNeverEndsDoesNotKeepTheOthers) {
  const auto runs = RunAll(
      {1, 6},
      [](std::uint64_t seed) {
        while (seed == 2) pause();
        return 3;
      },
      std::chrono::seconds(15));
  ASSERT_EQ(runs.size(), 6u);
  for (const auto& [seed, run] : runs) {
    EXPECT_EQ(run.in_time, seed != 2) << seed;
    EXPECT_EQ(run.status, seed == 2 ? 128 + SIGKILL : 3) << seed;
  }
}

// A terminal that changes its size, a job that goes on: nothing that ends the wait for a run.
TEST(SeedRunsTest, ASignalDoesNotEndTheWait) {
  struct sigaction quiet {};
  quiet.sa_handler = [](int) {};
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGWINCH, &quiet, &before), 0);
  const pid_t waits = getpid();
  const auto runs = RunAll({1, 4}, [waits](std::uint64_t) {
    for (int i = 0; i < 20; ++i) {
      kill(waits, SIGWINCH);
      usleep(1000);
    }
    return 5;
  });
  sigaction(SIGWINCH, &before, nullptr);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs.at(4).status, 5);
}

TEST(SeedRunsTest, WhoSaysTooMuchIsQuotedWithTheEnd) {
  const auto run = RunAlone(
      [] {
        for (int i = 0; i < 300'000; ++i) std::printf("line %06d\n", i);
        return 1;
      },
      kLong);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_LT(run->output.size(), 1'100'000u);
  EXPECT_THAT(run->output, StartsWith("[2551424 bytes before this]\n"));
  EXPECT_THAT(run->output, EndsWith("\nline 299999\n"));
}

TEST(SeedRunsTest, WhoIgnoresItsChildrenIsToldOfThem) {
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(RunAll({1, 3}, [](std::uint64_t) { return 4; }).at(2).status, 4);
  std::signal(SIGCHLD, SIG_DFL);
}

}  // namespace
}  // namespace drydock::sim::verbs
