#include "drydock/apps/common/session/console.h"

#include <chrono>
#include <sstream>
#include <string>

#include "drydock/coro/virtual_clock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;

class ConsoleTest : public ::testing::Test {
 protected:
  // The text on standard output since the last call.
  std::string Out() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  coro::VirtualClock clock_;
  std::ostringstream out_, err_;
  Console console_{out_, err_, clock_, {}};
  Console json_{out_, err_, clock_, {.form = OutputForm::kJson}};
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
  fabric::NicInfo nic;
  nic.name = "eth0";
  console_.SayFabric("the fabric", nic, "");
  EXPECT_EQ(Out(), "fabric    the fabric, NIC eth0\n");
  nic.link_gbps = 100;
  console_.SayFabric("the fabric", nic, "it is there");
  EXPECT_EQ(Out(), "fabric    the fabric, NIC eth0, 100 Gbit/s (auto: it is there)\n");
}

TEST_F(ConsoleTest, ProgressIsSaidAtEachQuarter) {
  console_.BeginProgress({"writes", 8});
  console_.ShowProgress(0, 0us);
  console_.ShowProgress(1, 1us);
  EXPECT_EQ(Out(), "");
  console_.ShowProgress(2, 2us);
  EXPECT_EQ(Out(), "progress  25%: 2 of 8 writes after 2 us\n");
  console_.ShowProgress(2, 3us);
  console_.ShowProgress(3, 4us);
  EXPECT_EQ(Out(), "");
  console_.ShowProgress(7, 5us);  // several at once: one line
  EXPECT_EQ(Out(), "progress  87%: 7 of 8 writes after 5 us\n");
  console_.ShowProgress(8, 6us);
  EXPECT_EQ(Out(), "progress  100%: 8 of 8 writes after 6 us\n");
}

TEST_F(ConsoleTest, AScriptGetsTheResultAndNothingElse) {
  json_.BeginProgress({"writes", 8});
  json_.ShowProgress(8, 1ms);
  json_.Say("seed", "1");
  json_.PrintResult("{}\n");
  EXPECT_EQ(Out(), "{}\n");
}

}  // namespace
}  // namespace drydock::apps
