#include "drydock/apps/explore/report.h"

#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;
using sim::explore::ExploreReport;
using sim::explore::SeedResult;
using sim::explore::Verdict;
using ::testing::HasSubstr;
using ::testing::Not;

SeedResult Wrong(std::uint64_t seed) {
  SeedResult result;
  result.seed = seed;
  result.verdict = Verdict::kWrongData;
  result.text = "page \"3\"";
  return result;
}

// 1000 seeds, of which 12 are wrong and one of those is told.
ExploreReport Report() {
  ExploreReport report;
  report.seeds = 1000;
  report.events = 5000;
  report.counts[static_cast<std::size_t>(Verdict::kCorrect)] = 988;
  report.counts[static_cast<std::size_t>(Verdict::kWrongData)] = 12;
  report.first[Verdict::kCorrect] = SeedResult{};
  report.first[Verdict::kWrongData] = Wrong(17);
  report.failures[17] = Wrong(17);
  report.rules["flushed"] = {300, 20, 4000, 21, 2};
  return report;
}

TEST(ExploreReportTest, SaysWhatFailedAndHowToSeeItAgain) {
  const std::string text = FormatReport({"write", "swarm"}, Report(), 2s);
  EXPECT_THAT(text, HasSubstr("verdict     seeds  first seed\n"));
  EXPECT_THAT(text, HasSubstr("wrong-data     12          17\n"));
  EXPECT_THAT(text, HasSubstr("flushed    300        20      4000     21\n"));
  EXPECT_THAT(text, HasSubstr("seed 17: wrong-data: page \"3\"\n  ./bazelw run //apps/explore -- "
                              "--scenario=write --faults=swarm --seed=17\n"));
  EXPECT_THAT(text, HasSubstr("(and 11 more that failed)"));
  EXPECT_THAT(text, HasSubstr("1000 seeds in 2 s, 500 seeds/s, 5000 events: 12 failed\n"));
  EXPECT_THAT(text, Not(HasSubstr("crash")));
}

TEST(ExploreReportTest, AReplayLineCanBeTypedAgain) {
  EXPECT_THAT(ReplayCommand({"write", "my plan.json"}, 17),
              HasSubstr("--scenario=write '--faults=my plan.json' --seed=17"));
  EXPECT_THAT(ReplayCapsuleCommand("/tmp/a b.capsule"), HasSubstr("'--replay=/tmp/a b.capsule'"));
}

TEST(ExploreReportTest, OrdersSayWhetherThereAreMoreAndHowToSeeOneAgain) {
  sim::explore::OrdersReport report;
  report.redundant = 3;
  report.complete = true;
  SeedResult fine;
  fine.seed = 1;
  report.orders.Add(fine);
  report.orders.Add(Wrong(2));
  report.names[2] = "order:2.1";
  const Asked asked{"write", "none", "exhaustive"};
  const std::string text = FormatOrders(asked, 9, report, 2s);
  EXPECT_THAT(text, HasSubstr("run 2: wrong-data: page \"3\"\n  ./bazelw run //apps/explore -- "
                              "--scenario=write --faults=none --strategy=order:2.1 --seed=9\n"));
  EXPECT_THAT(text,
              HasSubstr("2 orders of seed 9 in 5 runs, 2 s, and there are no more: 1 failed"));
  const auto json = nlohmann::json::parse(OrdersJson(asked, 9, report, 2s));
  EXPECT_EQ(json["orders"], 2);
  EXPECT_EQ(json["redundant"], 3);
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["failures"][0]["order"], "order:2.1");
  report.complete = false;
  EXPECT_THAT(FormatOrders(asked, 9, report, 2s), HasSubstr("and there are more"));
}

TEST(ExploreReportTest, JsonHasEveryVerdictAndRule) {
  const auto json = nlohmann::json::parse(ReportJson({"write", "swarm"}, Report(), 2s));
  EXPECT_EQ(json["verdicts"]["wrong-data"], 12);
  EXPECT_EQ(json["verdicts"]["crash"], 0);
  EXPECT_EQ(json["failed"], 12);
  EXPECT_EQ(json["seconds"], 2.0);
  EXPECT_EQ(json["rules"][0]["name"], "flushed");
  EXPECT_EQ(json["rules"][0]["fired_seeds"], 20);
  EXPECT_EQ(json["failures"][0]["seed"], 17);
  EXPECT_EQ(json["failures"][0]["text"], "page \"3\"");
}

}  // namespace
}  // namespace drydock::apps
