#include "apps/write/console.h"

#include <chrono>
#include <sstream>
#include <string>

#include "coro/virtual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "testing/mocks/mock_fabric.h"

namespace apps::write {
namespace {

using namespace std::chrono_literals;
using ::testing::Return;

class ConsoleTest : public ::testing::Test {
 protected:
  // What was printed on standard output since the last call.
  std::string Out() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  static RandomFillMessage Request(std::size_t pages, CompletionMode mode) {
    RandomFillMessage request;
    request.completion = mode;
    for (std::uint32_t i = 0; i < pages; ++i) request.page_indices.push_back(i);
    return request;
  }

  static TransferReport Report(bool correct) {
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
  Console verbose_{out_, err_, clock_, {.verbose = true}};
};

TEST_F(ConsoleTest, LabelsAreAligned) {
  console_.Say("seed", "1");
  console_.Say("simulated", "2 ms");
  EXPECT_EQ(Out(), "seed      1\nsimulated 2 ms\n");
}

TEST_F(ConsoleTest, DetailsAreForTheVerboseAndProblemsForAll) {
  for (Console* console : {&console_, &verbose_, &json_}) {
    const Log log = console->log();
    log(Severity::kDetail, "write", "page 3");
    log(Severity::kEvent, "wrote", "all");
    log(Severity::kProblem, "", "no");
    EXPECT_EQ(err_.str(), "write: no\n");
    err_.str("");
    EXPECT_EQ(Out(), console == &json_      ? ""
                     : console == &verbose_ ? "write     page 3\nwrote     all\n"
                                            : "wrote     all\n");
  }
}

TEST_F(ConsoleTest, FabricLineSaysWhatIsKnown) {
  fabric::MockFabric some_fabric;
  EXPECT_CALL(some_fabric, description()).WillRepeatedly(Return("the fabric"));
  fabric::NicInfo nic;
  nic.name = "eth0";
  console_.SayFabric(some_fabric, nic, "");
  EXPECT_EQ(Out(), "fabric    the fabric, NIC eth0\n");
  nic.link_gbps = 100;
  console_.SayFabric(some_fabric, nic, "it is there");
  EXPECT_EQ(Out(), "fabric    the fabric, NIC eth0, 100 Gbit/s (auto: it is there)\n");
}

TEST_F(ConsoleTest, PagesAreListedUpToSixteen) {
  console_.SayRequest(Request(2, CompletionMode::kLast), 16 << 20);
  EXPECT_EQ(Out(),
            "request   2 pages of 1 MiB into each of 2 regions of 16 MiB, data seed "
            "0xb584035fabe6ce9b, remote context 0x123, completion last\n"
            "pages     0, 1 (a region has 16)\n");
  RandomFillMessage many = Request(17, CompletionMode::kCount);
  many.page_bytes = 4096;
  console_.SayRequest(many, 1 << 20);
  EXPECT_THAT(Out(), ::testing::HasSubstr(" 14, 15 and 1 more (a region has 256)\n"));
}

TEST_F(ConsoleTest, ProgressIsSaidAtEachQuarter) {
  console_.BeginProgress(Request(4, CompletionMode::kCount));
  console_.ShowProgress({0, 8, 0us});
  console_.ShowProgress({1, 8, 1us});
  EXPECT_EQ(Out(), "");
  console_.ShowProgress({2, 8, 2us});
  EXPECT_EQ(Out(), "progress  25%: 2 of 8 writes after 2 us\n");
  console_.ShowProgress({2, 8, 3us});
  console_.ShowProgress({3, 8, 4us});
  EXPECT_EQ(Out(), "");
  console_.ShowProgress({7, 8, 5us});  // several at once: one line
  EXPECT_EQ(Out(), "progress  87%: 7 of 8 writes after 5 us\n");
  console_.ShowProgress({8, 8, 6us});
  EXPECT_EQ(Out(), "progress  100%: 8 of 8 writes after 6 us\n");
}

TEST_F(ConsoleTest, OneAnnouncementIsNotCalledAWrite) {
  console_.BeginProgress(Request(4, CompletionMode::kLast));
  console_.ShowProgress({1, 1, 1ms});
  EXPECT_EQ(Out(), "progress  100%: 1 of 1 announcements after 1 ms\n");
}

TEST_F(ConsoleTest, RightDataIsTheLastLine) {
  EXPECT_EQ(console_.Report(Report(true), {"f", "n", 1}), 0);
  EXPECT_EQ(Out(),
            "received  4 pages, 3.8 MiB in 1 ms, 4 GB/s (32 Gbit/s), simulated time\n"
            "Data is correct\n");
}

TEST_F(ConsoleTest, WrongDataIsListed) {
  EXPECT_EQ(console_.Report(Report(false), {"f", "n", std::nullopt}), 1);
  EXPECT_EQ(Out(),
            "received  4 pages, 3.8 MiB in 1 ms, 4 GB/s (32 Gbit/s)\n"
            "Data is wrong: 3 of 4 pages\n"
            "  region 0: page 7\n"
            "  region 1: pages 1, 2\n");
}

TEST_F(ConsoleTest, JsonHasTheWholeResult) {
  json_.BeginProgress(Request(4, CompletionMode::kCount));
  json_.ShowProgress({8, 8, 1ms});
  EXPECT_EQ(json_.Report(Report(false), {"f", "n", 9}), 1);
  EXPECT_EQ(nlohmann::json::parse(Out()), nlohmann::json::parse(R"({
    "fabric": "f", "nic": "n", "simulated": true, "seed": 9, "correct": false, "pages": 4,
    "wrong_pages": [[7], [1, 2]], "bytes": 4000000, "nanoseconds": 1000000})"));
  EXPECT_EQ(json_.Report(Report(true), {"f", "n", std::nullopt}), 0);
  EXPECT_FALSE(nlohmann::json::parse(Out()).contains("seed"));
}

TEST_F(ConsoleTest, CsvIsTheResultAndNothingElse) {
  csv_.Say("label", "text");
  EXPECT_EQ(csv_.Report(Report(false), {"f, x", "n", 9}), 1);
  EXPECT_EQ(Out(),
            "fabric,nic,simulated,correct,pages,wrong_pages,bytes,nanoseconds,seed\n"
            "\"f, x\",n,true,false,4,3,4000000,1000000,9\n");
}

}  // namespace
}  // namespace apps::write
