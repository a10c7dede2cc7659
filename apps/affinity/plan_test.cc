// Where threads and memory go, on machines that are known, and what is said of the outcome.

#include "drydock/apps/affinity/plan.h"

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drydock/apps/affinity/pages.h"
#include "drydock/apps/affinity/report.h"
#include "drydock/apps/common/machine_choice.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/topology/topology_of.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::affinity {
namespace {

using namespace std::chrono_literals;

using ::drydock::gpu::topology::CpuList;
using ::drydock::gpu::topology::Machine;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;

Machine Profile(const char* name) { return sim::TopologyOf(**sim::FindProfile(name)); }

std::vector<Seat> Seats(const Machine& machine, std::vector<std::size_t> nics, Policy policy) {
  return PlanSeats(machine, nics, policy);
}

TEST(PolicyTest, NamesAreWhatTheFlagTakes) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Policy> all, ParsePolicies("all"));
  EXPECT_THAT(all, ElementsAre(Policy::kNear, Policy::kFar, Policy::kNone));
  for (const Policy policy : all) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Policy> one, ParsePolicies(NameOf(policy)));
    EXPECT_THAT(one, ElementsAre(policy));
  }
  EXPECT_THAT(ParsePolicies("Near"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("near, far, none or all")));
}

TEST(ChooseNicsTest, SpreadsOverNodesAndThenOverSwitches) {
  const Machine p5 = Profile("p5");  // two nodes of four switches, four NICs on each
  EXPECT_THAT(ChooseNics(p5, 1), ElementsAre(0));
  EXPECT_THAT(ChooseNics(p5, 2), ElementsAre(0, 16));
  EXPECT_THAT(ChooseNics(p5, 4), ElementsAre(0, 4, 16, 20));
  EXPECT_THAT(ChooseNics(p5, 8), ElementsAre(0, 4, 8, 12, 16, 20, 24, 28));
  EXPECT_THAT(ChooseNics(p5, 9), ElementsAre(0, 1, 4, 8, 12, 16, 20, 24, 28));
  EXPECT_THAT(ChooseNics(p5, 1000), SizeIs(32));
  EXPECT_THAT(ChooseNics(Profile("p4d"), 2), ElementsAre(0, 2));
  EXPECT_THAT(ChooseNics(Machine(), 2), IsEmpty());
}

TEST(PlanSeatsTest, NearIsTheNicsNodeAndItsShareOfTheCpus) {
  const std::vector<Seat> seats = Seats(Profile("p5"), {0, 31}, Policy::kNear);
  ASSERT_THAT(seats, SizeIs(2));
  EXPECT_EQ(seats[0].name, "rdmap79s0");
  EXPECT_EQ(seats[0].cpus, CpuList({0, 1, 2, 96, 97, 98}));
  EXPECT_EQ(seats[1].nic, 31u);
  EXPECT_EQ(seats[1].cpus, CpuList({93, 94, 95, 189, 190, 191}));
  for (const Seat& seat : seats) {
    EXPECT_EQ(seat.thread_node, seat.nic_node);
    EXPECT_EQ(seat.memory_node, seat.nic_node);
  }
}

TEST(PlanSeatsTest, FarIsTheOtherNode) {
  const std::vector<Seat> seats = Seats(Profile("p5"), {0, 31}, Policy::kFar);
  EXPECT_EQ(seats[0].cpus, CpuList({48, 49, 50, 144, 145, 146}));
  EXPECT_EQ(seats[1].cpus, CpuList({45, 46, 47, 141, 142, 143}));
  for (const Seat& seat : seats) {
    EXPECT_EQ(seat.thread_node, 1 - seat.nic_node);
    EXPECT_EQ(seat.memory_node, 1 - seat.nic_node);
  }
}

TEST(PlanSeatsTest, NobodyChoosesWithoutAPolicy) {
  for (const Seat& seat : Seats(Profile("p5"), {0, 31}, Policy::kNone)) {
    EXPECT_EQ(seat.thread_node, kAnywhere);
    EXPECT_EQ(seat.memory_node, kAnywhere);
    EXPECT_THAT(seat.cpus, IsEmpty());
  }
}

TEST(PlanSeatsTest, WhatTheMachineDoesNotTellIsNotMadeUp) {
  Machine machine;
  machine.cpus = {0, 1, 2, 3};
  machine.nics = {{.name = "eth0"}};
  Seat seat = Seats(machine, {0}, Policy::kFar)[0];  // no NUMA node at all
  EXPECT_EQ(seat.memory_node, kAnywhere);
  EXPECT_EQ(seat.cpus, machine.cpus);
  machine.numa_nodes = {{.number = 4, .cpus = {0, 1}}};
  seat = Seats(machine, {0}, Policy::kFar)[0];  // one: far is near
  EXPECT_EQ(seat.nic_node, kAnywhere);
  EXPECT_EQ(seat.memory_node, 4);
  machine.numa_nodes.push_back({.number = 7, .cpus = {2, 3}});
  seat = Seats(machine, {0}, Policy::kFar)[0];
  EXPECT_EQ(seat.memory_node, 7);
  EXPECT_EQ(seat.cpus, CpuList({2, 3}));
}

TEST(WithNicsTest, PlacesAreTheMachinesWhereItKnowsThem) {
  fabric::NicInfo known;
  known.name = "rdmap147s0-of-a-provider";
  known.pci_address = "0000:93:00.0";
  fabric::NicInfo other;
  other.name = "lo";
  fabric::NicInfo placed;
  placed.name = "eth1";
  placed.numa_node = 1;
  const std::vector<fabric::NicInfo> nics = {known, other, placed};
  const Machine machine = WithNics(Profile("p5"), nics);
  ASSERT_THAT(machine.nics, SizeIs(3));
  EXPECT_EQ(machine.nics[0].name, known.name);
  EXPECT_EQ(machine.nics[0].numa_node, 1);
  EXPECT_GE(machine.nics[0].bridge, 0);
  EXPECT_EQ(machine.nics[1].numa_node, kAnywhere);
  EXPECT_EQ(machine.nics[2].numa_node, 1);
}

TEST(SeatAnywhereTest, MemoryIsOnTheFirstNodeAndThreadsAnywhere) {
  const Machine p5 = Profile("p5");
  std::vector<std::size_t> nics;
  for (std::size_t i = 0; i < 32; ++i) nics.push_back(i);
  const auto threads = [&](std::uint64_t seed) {
    std::vector<Seat> seats = PlanSeats(p5, nics, Policy::kNone);
    SeatAnywhere(p5, seed, seats);
    std::vector<int> nodes;
    for (const Seat& seat : seats) {
      EXPECT_EQ(seat.memory_node, 0);
      nodes.push_back(seat.thread_node);
    }
    return nodes;
  };
  EXPECT_THAT(threads(1), AllOf(::testing::Contains(0), ::testing::Contains(1)));
  EXPECT_EQ(threads(1), threads(1));
  EXPECT_NE(threads(1), threads(2));
}

// ---- What the system does ----

TEST(PagesTest, AThreadRunsWhereItIsPinned) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  std::thread([cpu] {
    EXPECT_THAT(PinThisThread({cpu}), IsOk());
    EXPECT_EQ(sched_getcpu(), cpu);
  }).join();
  EXPECT_THAT(PinThisThread({60000}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("run on CPUs 60000: ")));
}

// A container may forbid it; a node that is not there, the system always does.
TEST(PagesTest, MemoryIsBoundOrTheSystemSaysWhy) {
  ASSERT_OK_AND_ASSIGN(Pages pages, Pages::Map(10000));
  EXPECT_THAT(pages.BindTo(0), AnyOf(IsOk(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                      HasSubstr("NUMA node 0: "))));
  EXPECT_THAT(pages.BindTo(999), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("bind memory to NUMA node 999: ")));
  pages.bytes()[9999] = std::byte{1};
  const Pages moved = std::move(pages);
  EXPECT_EQ(moved.bytes()[9999], std::byte{1});
  EXPECT_THAT(moved.bytes(), SizeIs(10000));
}

// ---- What is said ----

// Two NICs, with the same figures for both.
PolicyResult Result(Policy policy, coro::Duration pages_took, coro::Duration write_took) {
  const std::vector<Seat> seats = Seats(Profile("small"), {0, 1}, policy);
  return {policy, {{seats[0], pages_took, write_took}, {seats[1], pages_took, write_took}}};
}

Report ReportOf(std::vector<PolicyResult> results) {
  Report report;
  report.simulated = true;
  report.profile = "small";
  report.load.page_bytes = 1000;
  report.load.pages = 100;
  report.policies = std::move(results);
  return report;
}

TEST(ReportTest, SharesAreOfTheNearResult) {
  const Report report =
      ReportOf({Result(Policy::kNear, 10us, 30us), Result(Policy::kFar, 20us, 31us),
                Result(Policy::kNone, 10100ns, 29us)});
  EXPECT_DOUBLE_EQ(TotalGbps(report, report.policies[0]), 160);
  EXPECT_EQ(Meaning(report),
            "far has 50 % of near's rate and 1.00 us more per write; none has near's rate and "
            "1.00 us less per write (simulated: figures of profile small, not measured)");
  const Json json = Json::parse(FormatJson(report));
  EXPECT_EQ(json["policies"][1]["policy"], "far");
  EXPECT_DOUBLE_EQ(json["policies"][1]["share_of_near"], 0.5);
  EXPECT_DOUBLE_EQ(json["policies"][1]["nics"][1]["gbps"], 40);
  EXPECT_EQ(json["policies"][0]["nics"][1]["cpus"], "4-7");
  EXPECT_THAT(FormatText(report), HasSubstr("\nfar                 80.0  50 %        31.00\n"));
}

TEST(ReportTest, WithoutNearThereIsNothingToCompareWith) {
  const Report report = ReportOf({Result(Policy::kFar, 20us, 31us)});
  EXPECT_THAT(Meaning(report), HasSubstr("leave out --policy"));
  EXPECT_TRUE(Json::parse(FormatJson(report))["policies"][0]["share_of_near"].is_null());
  EXPECT_THAT(FormatText(report), Not(HasSubstr("%")));
}

TEST(ReportTest, MeasuredFiguresAreCalledThat) {
  Report report = ReportOf({Result(Policy::kNear, 10us, 30us), Result(Policy::kFar, 10us, 30us)});
  report.simulated = false;
  report.note = "one NUMA node";
  EXPECT_THAT(Meaning(report), AllOf(HasSubstr("measured here"), Not(HasSubstr("simulated"))));
  EXPECT_THAT(FormatText(report), HasSubstr("note      one NUMA node\n"));
}

TEST(ReportTest, NoTimeIsNoRate) {
  const Report report = ReportOf({Result(Policy::kNear, 0us, 0us), Result(Policy::kFar, 1us, 1us)});
  EXPECT_EQ(TotalGbps(report, report.policies[0]), 0);
  EXPECT_THAT(FormatText(report), Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace drydock::apps::affinity
