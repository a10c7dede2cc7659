#include "drydock/apps/common/session/transfer_report.h"

#include <chrono>
#include <optional>
#include <sstream>
#include <string>

#include "drydock/coro/virtual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;

class ReportTest : public ::testing::Test {
 protected:
  // The text on standard output since the last call.
  std::string Out() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  static TransferReport ReportOf(bool correct) {
    TransferReport report;
    report.verification.pages = 4;
    if (!correct) report.verification.wrong_pages = {{{7}, {1, 2}}};
    report.bytes = 4'000'000;
    report.elapsed = 1ms;
    return report;
  }

  coro::VirtualClock clock_;
  std::ostringstream out_, err_;
  Console console_{out_, err_, clock_, {}};
  Console json_{out_, err_, clock_, {.form = OutputForm::kJson}};
  Console csv_{out_, err_, clock_, {.form = OutputForm::kCsv}};
};

TEST_F(ReportTest, RightDataIsTheLastLine) {
  EXPECT_EQ(Report(console_, ReportOf(true), {"f", "n", 1}), 0);
  EXPECT_EQ(Out(),
            "received  4 pages, 3.8 MiB in 1 ms, 4 GB/s (32 Gbit/s), simulated time\n"
            "Data is correct\n");
}

TEST_F(ReportTest, WrongDataIsListed) {
  EXPECT_EQ(Report(console_, ReportOf(false), {"f", "n", std::nullopt}), 1);
  EXPECT_EQ(Out(),
            "received  4 pages, 3.8 MiB in 1 ms, 4 GB/s (32 Gbit/s)\n"
            "Data is wrong: 3 of 4 pages\n"
            "  region 0: page 7\n"
            "  region 1: pages 1, 2\n");
}

TEST_F(ReportTest, JsonHasTheWholeResult) {
  EXPECT_EQ(Report(json_, ReportOf(false), {"f", "n", 9}), 1);
  EXPECT_EQ(nlohmann::json::parse(Out()), nlohmann::json::parse(R"({
    "fabric": "f", "nic": "n", "simulated": true, "seed": 9, "correct": false, "pages": 4,
    "wrong_pages": [[7], [1, 2]], "bytes": 4000000, "nanoseconds": 1000000})"));
  EXPECT_EQ(Report(json_, ReportOf(true), {"f", "n", std::nullopt}), 0);
  EXPECT_FALSE(nlohmann::json::parse(Out()).contains("seed"));
}

TEST_F(ReportTest, CsvIsTheResultAndNothingElse) {
  csv_.Say("label", "text");
  EXPECT_EQ(Report(csv_, ReportOf(false), {"f, x", "n", 9}), 1);
  EXPECT_EQ(Out(),
            "fabric,nic,simulated,correct,pages,wrong_pages,bytes,nanoseconds,seed\n"
            "\"f, x\",n,true,false,4,3,4000000,1000000,9\n");
}

}  // namespace
}  // namespace drydock::apps
