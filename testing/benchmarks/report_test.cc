// What a benchmark says, and when --check calls it a failure.

#include "drydock/testing/benchmarks/report.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::bench {
namespace {

using ::testing::HasSubstr;

TEST(GoalTest, IsMetUpToItsLimitAndNotBeyond) {
  EXPECT_EQ(AtLeast("rate", 1.5, 1.5).state, Goal::State::kMet);
  EXPECT_EQ(AtLeast("rate", 1.49, 1.5).state, Goal::State::kMissed);
  EXPECT_EQ(AtMost("cost", 5, 5).state, Goal::State::kMet);
  EXPECT_EQ(AtMost("cost", 5.01, 5).state, Goal::State::kMissed);
  EXPECT_EQ(AtMost("cost", std::nullopt, 5).state, Goal::State::kUnmeasured);
}

TEST(ReportTest, ShowsTheTableThenWhatFailedThenTheNotes) {
  Report report("demo", {"what", "ns"});
  report.AddRow({Text("fast"), Number(1.25, 1)});
  report.AddRow({Text("slow"), Nothing()});
  report.AddGoal(AtMost("fast: ns", 1.25, 2));
  report.AddGoal(AtLeast("slow: rate", 0.5, 1));
  report.AddGoal(AtLeast("live: rate", std::nullopt, 1));
  report.AddNote("left out: nothing");
  EXPECT_EQ(report.ToText(),
            "what  ns\n"
            "----  ---\n"
            "fast  1.2\n"
            "slow  -\n"
            "\n"
            "1 of 3 goals pass\n"
            "FAIL: slow: rate: 0.50, goal at least 1\n"
            "not measured: live: rate: goal at least 1\n"
            "\n"
            "left out: nothing\n");
}

TEST(ReportTest, JsonHasTheValuesBehindTheText) {
  Report report("demo", {"what", "ns", "count", "ratio"});
  report.AddRow({Text("fast"), Number(1.25, 1), Count(3), Nothing()});
  report.AddGoal(AtMost("fast: ns", 1.25, 2));
  report.AddNote("a note");
  const auto json = nlohmann::json::parse(report.ToJson());
  EXPECT_EQ(json["benchmark"], "demo");
  EXPECT_EQ(json["rows"][0]["what"], "fast");
  EXPECT_EQ(json["rows"][0]["ns"], 1.25);
  EXPECT_EQ(json["rows"][0]["count"], 3);
  EXPECT_TRUE(json["rows"][0]["ratio"].is_null());
  EXPECT_EQ(json["goals"][0]["state"], "pass");
  EXPECT_EQ(json["notes"][0], "a note");
}

TEST(ReportTest, CsvAndChartsShowTheMeasuredFigures) {
  Report report("demo", {"what", "window", "ns", "ratio", "goal"});
  report.AddRow({Text("fast, small"), Count(1), Number(1.25, 2), Nothing(), Text("pass")});
  report.AddRow({Text("slow"), Count(16), Number(5, 2), Number(4, 1), Text("-")});
  EXPECT_EQ(report.ToCsv(),
            "what,window,ns,ratio,goal\n"
            "\"fast, small\",1,1.25,,pass\n"
            "slow,16,5.00,4.0,-\n");
  const std::string svg = report.ToSvg();
  EXPECT_THAT(svg, HasSubstr("demo: ns"));
  EXPECT_THAT(svg, HasSubstr("demo: ratio"));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("demo: window")));
  EXPECT_THAT(svg, HasSubstr("slow 16"));
}

TEST(ReportTest, GoalsHoldUnlessOneWasMissedOrNotMeasured) {
  const auto holds_with = [](Goal::State state) {
    Report report("demo", {"what"});
    report.AddGoal(AtMost("met", 1.0, 2));
    report.AddGoal({.name = "other", .limit = "at most 1", .measured = "", .state = state});
    return report.GoalsHold();
  };
  EXPECT_TRUE(Report("empty", {"what"}).GoalsHold());
  EXPECT_TRUE(holds_with(Goal::State::kMet));
  EXPECT_TRUE(holds_with(Goal::State::kSkipped));
  EXPECT_FALSE(holds_with(Goal::State::kMissed));
  EXPECT_FALSE(holds_with(Goal::State::kUnmeasured));
}

}  // namespace
}  // namespace drydock::bench
