// A completion queue must have room for all that may complete before it is read.

#include <chrono>
#include <cstdint>
#include <vector>

#include "drydock/sim/checks/checks.h"
#include "drydock/sim/checks/finding.h"
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

// `count` writes with immediate from one machine to another.
void WriteAll(Side& from, Side& to, std::uint32_t count) {
  for (std::uint32_t i = 1; i <= count; ++i) {
    fabric::WriteRequest write = from.WriteTo(to, 0, 64, i);
    write.immediate = i;
    ASSERT_EQ(from.endpoint->Write(write), ErrorCode::kOk);
  }
}

TEST(CompletionQueueCapacityTest, AFullQueueIsReportedOnceWithAllItsLosses) {
  Lab lab(1);
  Side& fast = lab.Add("fast");
  Side& slow = lab.Add("slow", {.queue_depth = 8});
  lab.Introduce();
  WriteAll(fast, slow, 20);
  lab.world().timeline().RunFor(10ms);
  const std::vector<Finding> findings = lab.world().checks().TakeFindings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].check, Check::kCompletionQueueCapacity);
  EXPECT_EQ(findings[0].times, 12u);
  EXPECT_EQ(findings[0].where, slow.nic.name());
  EXPECT_THAT(findings[0].where, HasSubstr("slow/"));
  EXPECT_GT(findings[0].first, 0ns);
  EXPECT_LT(findings[0].first, 10ms);
  EXPECT_THAT(sim::ToText(findings[0]), HasSubstr("completion-queue-capacity: slow/"));
  EXPECT_THAT(sim::ToText(findings[0]), HasSubstr(" of 8 entries was full"));
  EXPECT_THAT(sim::ToText(findings[0]), HasSubstr("(12 times, first after "));
  EXPECT_THAT(lab.world().findings(), IsEmpty());
}

TEST(CompletionQueueCapacityTest, TheFindingSaysWhatBecomesOfTheQueue) {
  for (const bool doorbell : {false, true}) {
    sim::Profile profile = CopyOf("small");
    profile.device.cq_doorbell = doorbell;
    Lab lab(1, profile);
    Side& fast = lab.Add("fast");
    Side& slow = lab.Add("slow", {.queue_depth = 8});
    lab.Introduce();
    WriteAll(fast, slow, 9);
    lab.world().timeline().RunFor(10ms);
    const std::vector<Finding> findings = lab.world().checks().TakeFindings();
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_THAT(
        sim::ToText(findings[0]),
        HasSubstr(doorbell ? "what completed then is lost"
                           : "its entries were overwritten, so that none is seen for a lap"));
  }
}

TEST(CompletionQueueCapacityTest, EachQueueHasItsOwnFinding) {
  Lab lab(1);
  Side& fast = lab.Add("fast");
  Side& slow = lab.Add("slow", {.queue_depth = 8});
  Side& slower = lab.AddBeside(slow, {.queue_depth = 4});
  lab.Introduce();
  WriteAll(fast, slow, 10);
  WriteAll(fast, slower, 10);
  lab.world().timeline().RunFor(10ms);
  const std::vector<Finding> findings = lab.world().checks().TakeFindings();
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_NE(findings[0].queue, findings[1].queue);
  EXPECT_EQ(findings[0].times + findings[1].times, 2u + 6u);
}

TEST(CompletionQueueCapacityTest, AQueueThatIsFullAndLosesNothingIsFine) {
  Lab lab(1);
  Side& fast = lab.Add("fast");
  Side& slow = lab.Add("slow", {.queue_depth = 8});
  lab.Introduce();
  WriteAll(fast, slow, 8);
  lab.world().timeline().RunFor(10ms);
  EXPECT_THAT(lab.world().findings(), IsEmpty());
}

TEST(CompletionQueueCapacityTest, AProgramThatReadsInTimeMayWriteForEver) {
  Lab lab(1);
  Side& fast = lab.Add("fast", {.queue_depth = 8});
  Side& slow = lab.Add("slow", {.queue_depth = 8});
  lab.Introduce();
  for (int round = 0; round < 100; ++round) {
    WriteAll(fast, slow, 8);
    for (std::uint32_t i = 1; i <= 8; ++i) {
      EXPECT_TRUE(lab.Take(fast, i).ok());
      EXPECT_TRUE(lab.TakeNameless(slow).ok());
    }
  }
  EXPECT_THAT(lab.world().findings(), IsEmpty());
}

}  // namespace
}  // namespace drydock::sim_testing
