#include "drydock/apps/doctor/plan.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drydock/apps/doctor/finding.h"
#include "drydock/apps/doctor/machine.h"
#include "drydock/apps/doctor/system_files.h"
#include "drydock/apps/doctor/testing/fake_machine.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::doctor {
namespace {

using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

constexpr std::uint64_t kGiB = 1 << 30;

// The findings for a plan, with this limit of locked memory.
std::vector<Finding> CheckAll(const Plan& plan, const char* profile, const std::string& limit) {
  const FakeMachine machine;
  machine.Write("/proc/meminfo", "MemTotal:       2097152000 kB\n");
  machine.Write("/proc/self/limits", "Max locked memory   " + limit + "   " + limit + " bytes\n");
  const SystemFiles files(machine.root());
  MachineFacts facts(files);
  facts.nics.resize(1);  // the plan is for this machine
  EXPECT_THAT(CheckPlanIsSane(plan), StatusIs(absl::StatusCode::kOk));
  std::vector<Finding> all;
  Findings findings(Group::kPlan, all);
  CheckPlan(plan, **sim::FindProfile(profile), facts, findings);
  return all;
}

// That of one check, on a p5.
Finding Check(const Plan& plan, const std::string& check, const std::string& limit = "unlimited") {
  for (const Finding& finding : CheckAll(plan, "p5", limit)) {
    if (finding.check == check) return finding;
  }
  ADD_FAILURE() << "no finding " << check;
  return {};
}

TEST(PlanTest, SizesAreReadAsPeopleWriteThem) {
  EXPECT_THAT(ParseSize("0"), IsOkAndHolds(0));
  EXPECT_THAT(ParseSize("4096"), IsOkAndHolds(4096));
  EXPECT_THAT(ParseSize("64GiB"), IsOkAndHolds(64 * kGiB));
  EXPECT_THAT(ParseSize("64 gb"), IsOkAndHolds(64 * kGiB));
  EXPECT_THAT(ParseSize("1.5T"), IsOkAndHolds(1536 * kGiB));
  EXPECT_THAT(ParseSize("512MiB"), IsOkAndHolds(kGiB / 2));
  for (const char* text :
       {"", "GiB", "64X", "1e3", "-1", "64GiBs", "1..2G", "9999999PiB", "64KK"}) {
    EXPECT_THAT(ParseSize(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
}

TEST(PlanTest, NumbersThatNoRunHasAreRefused) {
  EXPECT_THAT(CheckPlanIsSane({.processes = 0}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckPlanIsSane({.peers = UINT64_MAX}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PlanTest, ProcessesShareTheNics) {
  // 8 processes with 4 of the 32 NICs each: one on each NIC.
  EXPECT_THAT(Check({.processes = 8, .nics = 4}, "plan-queue-pairs").what, HasSubstr(": 1 of 256"));
  EXPECT_THAT(Check({.processes = 8}, "plan-queue-pairs").what, HasSubstr(": 8 of 256"));
  EXPECT_EQ(Check({.processes = 256}, "plan-queue-pairs").severity, Severity::kOk);
  EXPECT_EQ(Check({.processes = 257}, "plan-queue-pairs").severity, Severity::kCannot);
  EXPECT_EQ(Check({.nics = 33}, "plan-nics").severity, Severity::kCannot);
}

TEST(PlanTest, QueuesHoldWhatMayBeUnderWay) {
  EXPECT_EQ(Check({.peers = 4096}, "plan-send-queue").severity, Severity::kOk);
  EXPECT_EQ(Check({.peers = 4097}, "plan-send-queue").severity, Severity::kWarning);
  // Own completions are bounded by the send queue (4096), what arrives is not.
  EXPECT_EQ(Check({.peers = 4096, .in_flight = 3}, "plan-completions").severity, Severity::kOk);
  const Finding more = Check({.peers = 4096, .in_flight = 4}, "plan-completions");
  EXPECT_EQ(more.severity, Severity::kWarning);
  EXPECT_THAT(more.fix, HasSubstr("20480 entries"));
  EXPECT_EQ(Check({.peers = 4096, .in_flight = 8}, "plan-completions").severity, Severity::kCannot);
  EXPECT_EQ(Check({.processes = 2, .peers = 1024}, "plan-address-handles").severity,
            Severity::kWarning);
}

TEST(PlanTest, MemoryIsCountedInPagesAndOnEveryNic) {
  EXPECT_EQ(Check({.memory_bytes = 4 * kGiB}, "plan-region-pages").severity, Severity::kOk);
  const Finding large = Check({.memory_bytes = 64 * kGiB}, "plan-region-pages");
  EXPECT_EQ(large.severity, Severity::kCannot);
  EXPECT_THAT(large.fix, HasSubstr("huge pages"));
  EXPECT_EQ(Check({.memory_bytes = 64 * kGiB, .regions = 16}, "plan-region-pages").severity,
            Severity::kOk);
  EXPECT_EQ(Check({.memory_bytes = 96 * kGiB, .regions = 96}, "plan-pages").severity,
            Severity::kOk);
  EXPECT_EQ(Check({.memory_bytes = 97 * kGiB, .regions = 97}, "plan-pages").severity,
            Severity::kCannot);

  const Plan four = {.nics = 4, .memory_bytes = kGiB};
  EXPECT_EQ(Check(four, "plan-locked-memory", "4294967296").severity, Severity::kOk);
  const Finding locked = Check(four, "plan-locked-memory", "4294967295");
  EXPECT_EQ(locked.severity, Severity::kCannot);
  EXPECT_THAT(locked.what, HasSubstr("4 GiB (1 GiB on 4 NICs, each counts)"));
  EXPECT_EQ(Check(four, "plan-locked-memory").severity, Severity::kOk);

  EXPECT_EQ(Check({.processes = 20, .memory_bytes = 100 * kGiB}, "plan-memory").severity,
            Severity::kOk);
  EXPECT_EQ(Check({.processes = 21, .memory_bytes = 100 * kGiB}, "plan-memory").severity,
            Severity::kCannot);
}

// Where peers cannot write, a region has no limit of theirs: 96 GiB instead of 4.
TEST(PlanTest, NicsWithoutRdmaWriteTakeLargerRegions) {
  const auto of = [](const char* profile, std::uint64_t bytes, const std::string& check) {
    for (const Finding& finding :
         CheckAll({.peers = 16, .memory_bytes = bytes}, profile, "unlimited")) {
      if (finding.check == check) return finding;
    }
    return Finding{};
  };
  EXPECT_EQ(of("p5", 8 * kGiB, "plan-region-pages").severity, Severity::kCannot);
  EXPECT_TRUE(of("p5", 8 * kGiB, "plan-writes").what.empty());
  for (const char* profile : {"p4d", "c5n", "c7gn"}) {
    const Finding region = of(profile, 8 * kGiB, "plan-region-pages");
    EXPECT_EQ(region.severity, Severity::kOk) << profile;
    EXPECT_THAT(region.what, ::testing::Not(HasSubstr("peers write"))) << profile;
    EXPECT_EQ(of(profile, 97 * kGiB, "plan-region-pages").severity, Severity::kCannot) << profile;
    EXPECT_THAT(of(profile, 0, "plan-writes").what, HasSubstr("no RDMA write")) << profile;
  }
}

// The largest plan that is accepted does not overflow into one that fits.
TEST(PlanTest, TheLargestPlanFitsNothing) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  const Plan plan = {.processes = kMost,
                     .peers = kMost,
                     .in_flight = kMost,
                     .memory_bytes = std::uint64_t{1} << 62,
                     .regions = kMost};
  for (const char* check : {"plan-queue-pairs", "plan-completions", "plan-memory-regions",
                            "plan-pages", "plan-memory"}) {
    EXPECT_EQ(Check(plan, check).severity, Severity::kCannot) << check;
  }
}

}  // namespace
}  // namespace drydock::apps::doctor
