// The unpublished figures: their ranges, and how they are written.

#include "drydock/sim/profile/unpublished.h"

#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

TEST(UnpublishedTest, OurGuessIsPlausibleInEveryProfile) {
  for (const Profile& profile : Profiles()) {
    for (const UnpublishedFigure& figure : UnpublishedFigures()) {
      EXPECT_GE(figure.get(profile), figure.least) << profile.name << " " << figure.name;
      EXPECT_LE(figure.get(profile), figure.most) << profile.name << " " << figure.name;
    }
  }
}

TEST(UnpublishedTest, EachSetsItsOwnFieldAndHasAReason) {
  std::set<std::string_view> names;
  for (const UnpublishedFigure& figure : UnpublishedFigures()) {
    EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
    EXPECT_GT(figure.reason.size(), 20u) << figure.name;
    EXPECT_LT(figure.least, figure.most) << figure.name;
    const Profile changed = WithFigures(Profiles()[0], {{std::string(figure.name), figure.most}});
    for (const UnpublishedFigure& other : UnpublishedFigures()) {
      EXPECT_EQ(other.get(changed),
                other.name == figure.name ? figure.most : other.get(Profiles()[0]))
          << figure.name << " " << other.name;
    }
  }
}

TEST(UnpublishedTest, AreReadAsTheyAreWritten) {
  const Figures figures = {{"rnr_delay", 10'000'000},
                           {"engine_window", 1},
                           {"dma_latency", 301},
                           {"ack_delay", 0},
                           {"unresponsive_timeout", 2'000'000'000}};
  const std::string text = FormatFigures(figures);
  EXPECT_EQ(text,
            "ack_delay=0ns,dma_latency=301ns,engine_window=1,rnr_delay=10ms,"
            "unresponsive_timeout=2s");
  ASSERT_OK_AND_ASSIGN(const Figures read, ParseFigures(text));
  EXPECT_EQ(read, figures);
  EXPECT_THAT(ParseFigures(""), IsOk());
}

TEST(UnpublishedTest, OthersAreRefusedInALine) {
  struct Case {
    const char* text;
    const char* complaint;
  };
  for (const Case test :
       {Case{"link_gbps=5", "figure link_gbps does not exist: unresponsive_"},
        Case{"rnr_delay", "'' is no time"}, Case{"rnr_delay=50", "'50' is no time such as 500us"},
        Case{"rnr_delay=2s", "rnr_delay is 2s: it takes from 10us to 655ms"},
        Case{"engine_window=x", "'x' is no whole number"},
        Case{"engine_window=1,engine_window=2", "is set twice"}}) {
    const auto read = ParseFigures(test.text);
    EXPECT_THAT(read, StatusIs(absl::StatusCode::kInvalidArgument)) << test.text;
    EXPECT_THAT(read.status().message(), HasSubstr(test.complaint));
  }
}

}  // namespace
}  // namespace drydock::sim
