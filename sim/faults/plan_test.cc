// Fault plans in the simulator as a whole: a plan changes nothing but its faults, and a run is a
// function of seed and plan.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/error.h"
#include "drydock/sim/testing/fault_scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using fabric::ErrorCode;

// Queues may be short here.
void Expect(ErrorCode posted) {
  EXPECT_TRUE(posted == ErrorCode::kOk || posted == ErrorCode::kAgain);
}

// A world's whole history under traffic of every kind.
std::string Traffic(Lab& lab) {
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  for (std::uint64_t i = 1; i <= 6; ++i) {
    const std::size_t at = i * 16384;
    Fill(a.Bytes(at, 12000), i);
    Expect(b.endpoint->Recv(b.RecvAt(at, 4096, 300 + i)));
    fabric::WriteRequest write = a.WriteTo(b, at, 12000, i == 3 ? 0 : i);
    write.immediate = static_cast<std::uint32_t>(i);
    Expect(a.endpoint->Write(write));
    Expect(a.endpoint->Read(a.ReadFrom(b, 8192, 4000, 100 + i)));
    Expect(a.endpoint->Send(a.SendTo(b, at, 3000, 200 + i)));
  }
  lab.Watch();
  return lab.world().digest().ToHex();
}

std::string DigestWith(std::vector<FaultRule> rules, std::uint64_t seed) {
  Lab lab(seed, Small(), sim::ClockKind::kVirtual, EngineOf(std::move(rules), seed));
  lab.AllowFindings(sim::Check::kBufferRace);  // every kind of request uses the same bytes
  return Traffic(lab);
}

// One rule of each fault.
std::vector<FaultRule> OneOfEach() {
  std::vector<FaultRule> rules;
  for (const fabric::faults::FaultInfo& info : fabric::faults::Catalogue()) {
    if (sim::DeviceFaults()[static_cast<std::size_t>(info.fault)]) {
      rules.push_back(Rule(info.fault));
    }
  }
  return rules;
}

TEST(FaultPlanInTheDeviceTest, RulesThatNeverMatchChangeNothing) {
  std::vector<FaultRule> rules = OneOfEach();
  for (FaultRule& rule : rules) rule.when.nics = {"nobody"};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Lab without(seed);
    without.AllowFindings(sim::Check::kBufferRace);  // every kind of request uses the same bytes
    const std::string digest = Traffic(without);
    EXPECT_EQ(DigestWith({}, seed), digest) << "seed " << seed;
    EXPECT_EQ(DigestWith(rules, seed), digest) << "seed " << seed;
  }
}

TEST(FaultPlanInTheDeviceTest, RunIsAFunctionOfSeedAndPlan) {
  for (FaultRule rule : OneOfEach()) {
    rule.when.probability = 0.5;
    EXPECT_EQ(DigestWith({rule}, 3), DigestWith({rule}, 3)) << rule.name;
  }
}

// In the same traffic each fault finds something to happen to, and changes the world's history.
TEST(FaultPlanInTheDeviceTest, EveryFaultStrikes) {
  Lab without(3);
  without.AllowFindings(sim::Check::kBufferRace);  // every kind of request uses the same bytes
  const std::string digest = Traffic(without);
  for (FaultRule rule : OneOfEach()) {
    rule.parameters.up = coro::Duration(1);
    const std::shared_ptr<FaultEngine> engine = EngineOf({rule}, 3);
    Lab lab(3, Small(), sim::ClockKind::kVirtual, engine);
    lab.AllowFindings(sim::Check::kBufferRace);  // every kind of request uses the same bytes
    // Queues that are a little shorter change nothing here.
    const bool size =
        fabric::faults::Describe(rule.fault).point == fabric::faults::Point::kCapacity;
    const std::string changed = Traffic(lab);
    EXPECT_TRUE(size || changed != digest) << rule.name;
    EXPECT_GT(engine->Report()[0].fired, 0u) << rule.name;
    EXPECT_EQ(engine->Report()[0].layer, fabric::faults::Layer::kDevice) << rule.name;
  }
}

// Of faults that both layers could apply, the device has the ends of operations and their times,
// and the decorator those that the device does not see, but for faults that are not one NIC's.
TEST(FaultPlanInTheDeviceTest, LeavesCallsAndReadsToTheDecorator) {
  using fabric::faults::Point;
  for (const fabric::faults::FaultInfo& info : fabric::faults::Catalogue()) {
    if (!info.decorator) continue;
    const bool ends = info.point == Point::kOutcome || info.point == Point::kTiming;
    const bool elsewhere = info.fault == Fault::kPeerAborted || info.fault == Fault::kDroppedPeer;
    EXPECT_EQ(sim::DeviceFaults()[static_cast<std::size_t>(info.fault)],
              info.device && ends && !elsewhere)
        << info.name;
  }
}

// A device that is given a fault that it does not know ends the program, by the fault's name.
TEST(FaultPlanInTheDeviceDeathTest, AForeignFaultIsNotTakenForAnother) {
  for (const Fault fault : {Fault::kInsertPeerFails, Fault::kDroppedPeer}) {
    fabric::faults::FaultSet foreign;
    foreign.set(static_cast<std::size_t>(fault));
    const auto engine = Must(FaultEngine::Create({.rules = {Rule(fault)}}, 1, {.device = foreign}));
    EXPECT_DEATH(
        {
          Lab lab(1, Small(), sim::ClockKind::kVirtual, engine);
          Traffic(lab);
        },
        std::string(fabric::faults::Describe(fault).name));
  }
}

// Of the faults that only the device can apply, all but those that host memory cannot show.
TEST(FaultPlanInTheDeviceTest, OnlyDeviceMemoryIsMissing) {
  for (const fabric::faults::FaultInfo& info : fabric::faults::Catalogue()) {
    if (info.decorator) continue;
    const bool applied = sim::DeviceFaults()[static_cast<std::size_t>(info.fault)];
    EXPECT_EQ(applied, info.fault != Fault::kLateDeviceVisibility) << info.name;
  }
}

// One device works by both clocks, so a plan holds for both.
TEST(FaultPlanInTheDeviceTest, HoldsOnTheMachinesClock) {
  const auto engine = EngineOf({Nth(Fault::kRemoteAddress, 2)}, 1);
  Lab lab(1, Small(), sim::ClockKind::kReal, engine);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 64, i)), ErrorCode::kOk);
    EXPECT_EQ(lab.Take(a, i).ok(), i != 2);
  }
  EXPECT_EQ(engine->Report()[0].fired, 1u);
}

}  // namespace
}  // namespace drydock::sim_testing
