// A full send queue has room again when its completion queue was read, and not before.

#include <chrono>
#include <cstdint>
#include <vector>

#include "drydock/sim/checks/checks.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/checks/progress.h"
#include "drydock/sim/testing/lab.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::ErrorCode;
using sim::Check;
using sim::Finding;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AgainWithoutReadingTest : public ::testing::Test {
 protected:
  AgainWithoutReadingTest() : lab_(1), a_(lab_.Add("a")), b_(lab_.Add("b")) { lab_.Introduce(); }

  ErrorCode Post() { return a_.endpoint->Write(a_.WriteTo(b_, 0, 64, 1)); }
  void FillTheQueue() {
    while (Post() == ErrorCode::kOk) {
    }
  }
  void Retry(int times) {
    for (int i = 0; i < times; ++i) ASSERT_EQ(Post(), ErrorCode::kAgain);
  }

  Lab lab_;
  Side& a_;
  Side& b_;
};

TEST_F(AgainWithoutReadingTest, AProgramThatOnlyRetriesIsTold) {
  FillTheQueue();
  Retry(3000);
  const std::vector<Finding> findings = lab_.world().checks().TakeFindings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].check, Check::kAgainWithoutReading);
  EXPECT_EQ(findings[0].times, 3u);
  EXPECT_EQ(findings[0].where, a_.nic.name());
  EXPECT_THAT(sim::ToText(findings[0]), HasSubstr("again-without-reading: a/"));
  EXPECT_THAT(sim::ToText(findings[0]), HasSubstr("was full 1000 times in a row"));
}

// However long it takes: the queue stays full as long as nothing has completed.
TEST_F(AgainWithoutReadingTest, AProgramThatReadsBetweenRetriesIsFine) {
  b_.node.Kill();  // nothing completes before its timeout
  FillTheQueue();
  fabric::Completion completion;
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(Post(), ErrorCode::kAgain);
    ASSERT_EQ(a_.queue->Read({&completion, 1}).count, 0u);
  }
  EXPECT_THAT(lab_.world().findings(), IsEmpty());
}

// It ends by its deadline, if it has one; a program that does not wait never gets there.
TEST_F(AgainWithoutReadingTest, OnlyAProgramThatDoesNotWaitGoesOnForEver) {
  int endless = 0;
  lab_.world().checks().OnEndlessLoop([&endless](auto, const auto&) { ++endless; });
  FillTheQueue();
  for (std::uint64_t i = 0; i <= sim::Progress::kInVain; ++i) {
    ASSERT_EQ(Post(), ErrorCode::kAgain);
    lab_.world().timeline().RunFor(10us);
  }
  EXPECT_EQ(endless, 0);
  Retry(static_cast<int>(sim::Progress::kInVain));
  EXPECT_EQ(endless, 1);
  lab_.ExpectFinding(Check::kAgainWithoutReading, 200);
}

TEST_F(AgainWithoutReadingTest, AFewRetriesAreFine) {
  for (int round = 0; round < 10; ++round) {
    FillTheQueue();
    Retry(900);
    lab_.Watch();
    a_.completions.clear();
  }
  EXPECT_THAT(lab_.world().findings(), IsEmpty());
}

}  // namespace
}  // namespace drydock::sim_testing
