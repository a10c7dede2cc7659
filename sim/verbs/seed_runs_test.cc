// Many seeds of one program: all are run, failures are told with what they said, and a command can
// be typed again.

#include "sim/verbs/seed_runs.h"

#include <csignal>
#include <cstdio>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/matchers/status_matchers.h"

namespace sim::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing_matchers::StatusIs;

constexpr auto kGoOn = [](const SeedRuns&) { return true; };

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

TEST(SeedRunsTest, FailuresAreToldBySeedWithWhatTheySaid) {
  const auto runs = RunSeeds(
      {10, 29},
      [](std::uint64_t seed) {
        std::printf("this is %d\n", static_cast<int>(seed));
        std::fprintf(stderr, "and more\n");
        if (seed == 25) std::raise(SIGKILL);
        return seed == 12 ? 3 : 0;
      },
      kGoOn);
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(runs->runs, 20u);
  ASSERT_THAT(runs->failed,
              ElementsAre(Field(&FailedRun::seed, 12u), Field(&FailedRun::seed, 25u)));
  EXPECT_EQ(runs->failed[0].status, 3);
  EXPECT_THAT(runs->failed[0].output, HasSubstr("this is 12\n"));
  EXPECT_THAT(runs->failed[0].output, HasSubstr("and more\n"));
  EXPECT_EQ(runs->failed[1].status, 128 + SIGKILL);
}

TEST(SeedRunsTest, WhoHasSeenEnoughBeginsNoFurtherOne) {
  const auto runs = RunSeeds(
      {1, 18446744073709551615u}, [](std::uint64_t) { return 1; },
      [](const SeedRuns& so_far) { return so_far.failed.empty(); });
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_GE(runs->failed.size(), 1u);
  EXPECT_LT(runs->runs, 5000u);
}

TEST(SeedRunsTest, ACommandCanBeTypedAgain) {
  EXPECT_EQ(AsShellWords({"efa-run", "--faults=a b.json", "it's", "", "$x", "./test"}),
            R"(efa-run '--faults=a b.json' 'it'\''s' '' '$x' ./test)");
}

}  // namespace
}  // namespace sim::verbs
