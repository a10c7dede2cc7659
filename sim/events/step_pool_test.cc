// The possible next steps of the network, and which one is picked.

#include "drydock/sim/events/step_pool.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/scheduler.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

// Which operation, which kind, which packet.
using Name = std::tuple<std::uint64_t, EventKind, std::uint32_t>;
using Names = std::vector<Name>;

Name NameOf(const Step& step) { return {step.operation, step.kind, step.packet}; }

// Operation b of an event, from 10 on of another NIC; those of which nothing is known any more,
// those that have ended, and those that keep their turn.
struct Network final : Actor {
  std::uint32_t index() const override { return 0; }
  void OnEvent(const Event&) override {}
  std::optional<Step> Describe(const Event& event) const override {
    if (unknown.contains(event.b)) return std::nullopt;
    Step step;
    step.operation = event.b;
    step.kind = event.kind;
    step.packet = event.a;
    step.calm = calm.contains(event.b);
    step.initiator = event.b < 10 ? 0 : 1;
    step.initiator_machine = 1;
    step.target_machine = 2;
    return step;
  }
  bool IsPointless(const Event& event) const override { return ended.contains(event.b); }

  std::set<std::uint64_t> unknown;
  std::set<std::uint64_t> ended;
  std::set<std::uint64_t> calm;
};

// Picks number `next`, and notes its arguments.
struct Picker final : Scheduler {
  Grain grain() const override { return size; }
  std::size_t Pick(std::span<const Step> ready, coro::Duration now) override {
    asked.emplace_back();
    for (const Step& step : ready) asked.back().push_back(NameOf(step));
    asked_at = now;
    return next;
  }

  Grain size = Grain::kPackets;
  std::size_t next = 0;
  std::vector<Names> asked;
  coro::Duration asked_at{};
};

struct StepPoolTest : testing::Test {
  bool Take(std::uint64_t operation, EventKind kind = EventKind::kArrive,
            std::uint32_t packet = 0) {
    return pool.Take({.actor = &network, .b = operation, .a = packet, .kind = kind});
  }
  Names Steps() const {
    Names names;
    for (const Step& step : pool.Steps()) names.push_back(NameOf(step));
    return names;
  }

  Network network;
  Picker picker;
  StepPool pool{picker};
};

TEST_F(StepPoolTest, TakesWhatIsOnTheNetworkAndNothingElse) {
  for (const EventKind kind : {EventKind::kArrive, EventKind::kReadData, EventKind::kPlaceRest,
                               EventKind::kAnswer, EventKind::kLand, EventKind::kRnrRetry}) {
    EXPECT_TRUE(Take(1, kind));
  }
  EXPECT_EQ(Steps().size(), 6u);
  for (const EventKind kind : {EventKind::kTransmit, EventKind::kTimeOut, EventKind::kAlarm,
                               EventKind::kSilence, EventKind::kDeferred, EventKind::kVisible,
                               EventKind::kDoorbell, EventKind::kNicDies, EventKind::kNicResets}) {
    EXPECT_FALSE(Take(1, kind));
  }
  EXPECT_EQ(Steps().size(), 6u);
}

TEST_F(StepPoolTest, EventThatWouldComeToNothingIsTakenAndForgotten) {
  network.unknown = {1};
  EXPECT_TRUE(Take(1));
  EXPECT_TRUE(pool.empty());
}

TEST_F(StepPoolTest, StepsComeInTheOrderOfOperationKindAndPacketAndEachOnce) {
  Take(2, EventKind::kArrive, 1);
  Take(1, EventKind::kAnswer);
  Take(2, EventKind::kArrive, 0);
  Take(2, EventKind::kArrive, 1);  // the same packet again
  Take(1, EventKind::kReadData);
  EXPECT_EQ(Steps(), (Names{{1, EventKind::kReadData, 0},
                            {1, EventKind::kAnswer, 0},
                            {2, EventKind::kArrive, 0},
                            {2, EventKind::kArrive, 1}}));
}

TEST_F(StepPoolTest, SchedulerIsAskedAboutWhatStillHasAPoint) {
  for (const std::uint64_t operation : {1, 2, 3}) Take(operation);
  network.ended = {1};
  picker.next = 1;
  const StepPool::Choice choice = pool.Pick(7us);
  EXPECT_EQ(picker.asked,
            (std::vector<Names>{{{2, EventKind::kArrive, 0}, {3, EventKind::kArrive, 0}}}));
  EXPECT_EQ(picker.asked_at, 7us);
  ASSERT_TRUE(choice.step.has_value());
  EXPECT_EQ(choice.step->operation, 3u);
  EXPECT_FALSE(choice.waits);
  EXPECT_EQ(Steps().size(), 2u);  // the caller that lets it happen removes it
}

TEST_F(StepPoolTest, CalmOperationsOfANicKeepTheirOrder) {
  network.calm = {1, 2, 4, 11, 12};
  for (const std::uint64_t operation : {1, 2, 3, 4, 11, 12}) Take(operation);
  Take(2, EventKind::kAnswer);
  Take(4, EventKind::kAnswer);
  pool.Pick(0us);
  EXPECT_EQ(picker.asked.back(), (Names{{1, EventKind::kArrive, 0},
                                        {2, EventKind::kAnswer, 0},
                                        {3, EventKind::kArrive, 0},
                                        {11, EventKind::kArrive, 0}}));
  pool.Remove(pool.Steps().front());
  pool.Pick(0us);
  EXPECT_EQ(picker.asked.back(), (Names{{2, EventKind::kArrive, 0},
                                        {2, EventKind::kAnswer, 0},
                                        {3, EventKind::kArrive, 0},
                                        {11, EventKind::kArrive, 0}}));
}

TEST_F(StepPoolTest, SchedulerIsNotAskedAboutNothing) {
  Take(1);
  network.ended = {1};
  const StepPool::Choice choice = pool.Pick(0us);
  EXPECT_FALSE(choice.step.has_value());
  EXPECT_FALSE(choice.waits);
  EXPECT_TRUE(picker.asked.empty());
  EXPECT_TRUE(pool.empty());
}

TEST_F(StepPoolTest, SchedulerMayLetTimePass) {
  Take(1);
  picker.next = Scheduler::kNobody;
  const StepPool::Choice choice = pool.Pick(0us);
  EXPECT_FALSE(choice.step.has_value());
  EXPECT_TRUE(choice.waits);
  EXPECT_FALSE(pool.empty());
}

TEST_F(StepPoolTest, RemovesOneEventOfAStepAtATime) {
  Take(1, EventKind::kArrive, 4);
  Take(1, EventKind::kArrive, 4);
  Take(2);
  const Step step = pool.Steps().front();
  const std::optional<Event> first = pool.Remove(step);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->b, 1u);
  EXPECT_EQ(first->a, 4u);
  EXPECT_TRUE(pool.Remove(step).has_value());
  EXPECT_FALSE(pool.Remove(step).has_value());
  EXPECT_EQ(Steps(), (Names{{2, EventKind::kArrive, 0}}));
}

TEST_F(StepPoolTest, PointlessEventIsNotRemovedAsIfItHappened) {
  Take(1);
  const Step step = pool.Steps().front();
  network.ended = {1};
  EXPECT_FALSE(pool.Remove(step).has_value());
}

TEST_F(StepPoolTest, WholeOperationIsOneStepThatTouchesBothMachines) {
  picker.size = Grain::kOperations;
  Take(1, EventKind::kArrive, 0);
  Take(1, EventKind::kArrive, 1);
  Take(1, EventKind::kAnswer);
  EXPECT_TRUE(pool.takes_whole_operations());
  const std::vector<Step> steps = pool.Steps();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].touches[0], Touch::All(1));
  EXPECT_EQ(steps[0].touches[1], Touch::All(2));
  int events = 0;
  while (pool.Remove(steps[0]).has_value()) ++events;
  EXPECT_EQ(events, 3);
}

TEST_F(StepPoolTest, NicsThatAreAboutToSendAreCounted) {
  pool.Happens(EventKind::kTransmit);  // of the time before
  EXPECT_FALSE(pool.more_to_come());
  EXPECT_FALSE(Take(1, EventKind::kTransmit));
  EXPECT_FALSE(Take(2, EventKind::kTransmit));
  EXPECT_FALSE(Take(3, EventKind::kAlarm));
  pool.Happens(EventKind::kTransmit);
  EXPECT_TRUE(pool.more_to_come());
  pool.Happens(EventKind::kAlarm);
  EXPECT_TRUE(pool.more_to_come());
  pool.Happens(EventKind::kTransmit);
  EXPECT_FALSE(pool.more_to_come());
}

TEST_F(StepPoolTest, ProgramThatComputesForLongIsChargedNowAndThen) {
  const auto charge = [&](int times) {
    int charged = 0;
    for (int i = 0; i < times; ++i) charged += pool.Charged() ? 1 : 0;
    return charged;
  };
  EXPECT_EQ(charge(4095), 0);
  pool.Waits();
  EXPECT_EQ(charge(4095), 0);
  EXPECT_EQ(charge(1), 1);
  EXPECT_EQ(charge(8192), 2);
}

}  // namespace
}  // namespace drydock::sim
