// When events happen, and how a program waits for them.

#include "drydock/sim/events/timeline.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/event_log.h"
#include "drydock/sim/events/scheduler.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

using Numbers = std::vector<std::uint64_t>;

// Notes the number of each event, and when it came.
struct Recorder final : Actor {
  explicit Recorder(Timeline& owner) : timeline(owner) {}
  std::uint32_t index() const override { return 3; }
  void OnEvent(const Event& event) override {
    numbers.push_back(event.b);
    times.push_back(timeline.elapsed());
    if (then) then(event);
  }
  std::optional<Step> Describe(const Event& event) const override {
    Step step;
    step.operation = event.b;
    step.kind = event.kind;
    step.packet = event.a;
    return step;
  }

  Timeline& timeline;
  Numbers numbers;
  std::vector<coro::Duration> times;
  std::function<void(const Event&)> then;
};

struct TimelineTest : testing::Test {
  void After(coro::Duration delay, std::uint64_t number) {
    timeline.After(delay, &actor, EventKind::kArrive, 0, number);
  }

  Timeline timeline{ClockKind::kVirtual};
  Recorder actor{timeline};
};

TEST_F(TimelineTest, EventsHappenInTheOrderOfTheirTimesAndThenOfTheirScheduling) {
  After(20ns, 1);
  After(10ns, 2);
  After(20ns, 3);
  After(0ns, 4);
  EXPECT_TRUE(actor.numbers.empty());
  timeline.RunFor(20ns);
  EXPECT_EQ(actor.numbers, (Numbers{4, 2, 1, 3}));
  EXPECT_EQ(actor.times, (std::vector<coro::Duration>{0ns, 10ns, 20ns, 20ns}));
  EXPECT_EQ(timeline.event_count(), 4u);
}

TEST_F(TimelineTest, WhatIsDeliveredWithoutDelayHappensAtOnce) {
  timeline.Deliver(0ns, &actor, EventKind::kAnswer, 0, 1);
  EXPECT_EQ(actor.numbers, Numbers{1});
  timeline.Deliver(1ns, &actor, EventKind::kAnswer, 0, 2);
  EXPECT_EQ(actor.numbers, Numbers{1});
  timeline.RunFor(1ns);
  EXPECT_EQ(actor.numbers, (Numbers{1, 2}));
}

TEST_F(TimelineTest, WhatShouldHaveHappenedBeforeHappensNow) {
  timeline.RunFor(5us);
  timeline.At(Timeline::kStart + 1us, &actor, EventKind::kAlarm, 0, 1);
  timeline.At(Timeline::kStart + 7us, &actor, EventKind::kAlarm, 0, 2);
  timeline.RunFor(0ns);
  EXPECT_EQ(actor.numbers, Numbers{1});
  timeline.RunFor(2us);
  EXPECT_EQ(actor.times, (std::vector<coro::Duration>{5us, 7us}));
}

TEST_F(TimelineTest, WaitEndsWhenAProgramCanSeeSomething) {
  After(10us, 1);
  After(20us, 2);
  After(30us, 3);
  actor.then = [&](const Event& event) {
    if (event.b == 2) timeline.Wake();
  };
  EXPECT_TRUE(timeline.WaitUntil(Timeline::kStart + 1ms));
  EXPECT_EQ(actor.numbers, (Numbers{1, 2}));
  EXPECT_EQ(timeline.elapsed(), 20us);
  EXPECT_FALSE(timeline.TakeWake());  // the wait has taken it
}

TEST_F(TimelineTest, WaitEndsAtItsDeadlineWhereNothingIsToBeSeen) {
  After(10us, 1);
  After(30us, 2);
  EXPECT_TRUE(timeline.WaitUntil(Timeline::kStart + 20us));
  EXPECT_EQ(actor.numbers, Numbers{1});
  EXPECT_EQ(timeline.elapsed(), 20us);
}

TEST_F(TimelineTest, WaitForEverWithoutAnythingToComeIsToldAndFails) {
  int stuck = 0;
  timeline.OnStuck([&] { ++stuck; });
  After(10us, 1);
  EXPECT_FALSE(timeline.WaitUntil(coro::kNever));
  EXPECT_EQ(stuck, 1);
  EXPECT_EQ(actor.numbers, Numbers{1});
  EXPECT_EQ(timeline.elapsed(), 10us);
  timeline.WakeAt(Timeline::kStart + 1ms);
  EXPECT_TRUE(timeline.WaitUntil(coro::kNever));
  EXPECT_EQ(timeline.elapsed(), 1ms);
  EXPECT_EQ(stuck, 1);
}

TEST_F(TimelineTest, WorkOfTheProgramTakesTimeInWhichThingsHappen) {
  After(30ns, 1);
  After(31ns, 2);
  timeline.Charge(10ns, 3);
  EXPECT_EQ(timeline.elapsed(), 30ns);
  EXPECT_EQ(actor.numbers, Numbers{1});
  timeline.RunDue();  // nothing is due by itself
  EXPECT_EQ(actor.numbers, Numbers{1});
}

TEST_F(TimelineTest, RunEndsWhenItsConditionHoldsOrItsTimeIsOver) {
  for (const std::uint64_t number : {1, 2, 3}) After(number * 10us, number);
  EXPECT_TRUE(timeline.RunUntil([&] { return actor.numbers.size() == 2; }, 1ms));
  EXPECT_EQ(timeline.elapsed(), 20us);
  EXPECT_FALSE(timeline.RunUntil([&] { return actor.numbers.size() == 4; }, 1ms));
  EXPECT_EQ(actor.numbers.size(), 3u);
  EXPECT_EQ(timeline.elapsed(), 20us + 1ms);
}

TEST_F(TimelineTest, WaitedIsTheTimeThatNoWorkTook) {
  timeline.Charge(5us, 2);
  EXPECT_EQ(timeline.waited(), 0us);
  timeline.RunFor(10us);
  timeline.Charge(1us);
  EXPECT_EQ(timeline.waited(), 10us);
  timeline.WaitUntil(Timeline::kStart + 30us);
  EXPECT_EQ(timeline.waited(), 19us);
  EXPECT_EQ(timeline.elapsed(), 30us);
}

TEST_F(TimelineTest, NewsAreWhatHappenedAndTheProgramsLooksAtTheTime) {
  std::uint64_t news = timeline.news();
  const auto has_news = [&] {
    const std::uint64_t now = timeline.news();
    return std::exchange(news, now) != now;
  };
  EXPECT_FALSE(has_news());
  timeline.Now();
  EXPECT_TRUE(has_news());
  timeline.WaitUntil(Timeline::kStart);
  EXPECT_TRUE(has_news());
  timeline.backstage().Now();  // not the program's look
  timeline.Charge(1us);
  After(10us, 1);
  EXPECT_FALSE(has_news());
  EXPECT_TRUE(timeline.under_way());
  EXPECT_EQ(timeline.next_event(), Timeline::kStart + 11us);
  timeline.RunFor(10us);
  EXPECT_TRUE(has_news());
  EXPECT_FALSE(timeline.under_way());
  EXPECT_EQ(timeline.next_event(), coro::kNever);
}

TEST(TimelineLogTest, EverythingThatHappensIsEntered) {
  struct Listener final : EventListener {
    void OnLogged(const LoggedEvent& event) override { events.push_back(event); }
    std::vector<LoggedEvent> events;
  };
  EventLog log;
  Listener listener;
  log.set_listener(&listener);
  Timeline timeline(ClockKind::kVirtual, &log);
  Recorder actor(timeline);
  timeline.After(5us, &actor, EventKind::kArrive, 7, 9);
  timeline.RunFor(1ms);
  const LoggedEvent expected{
      .time = 5us, .kind = EventKind::kArrive, .actor = 3, .packet = 7, .operation = 9};
  EXPECT_EQ(listener.events, std::vector{expected});
}

TEST(RealTimelineTest, WhatIsDueHappensWhenTheProgramPolls) {
  Timeline timeline(ClockKind::kReal);
  Recorder actor(timeline);
  EXPECT_FALSE(timeline.IsVirtual());
  timeline.After(0ns, &actor, EventKind::kArrive, 0, 1);
  timeline.After(1h, &actor, EventKind::kArrive, 0, 2);
  timeline.After(1ms, &actor, EventKind::kArrive, 0, 3);
  timeline.Charge(1h);  // a program's work takes its time by itself
  EXPECT_TRUE(actor.numbers.empty());
  timeline.RunDue();
  EXPECT_EQ(actor.numbers.at(0), 1u);
  while (actor.numbers.size() < 2) timeline.WaitUntil(timeline.Now() + 1ms);
  EXPECT_EQ(actor.numbers, (Numbers{1, 3}));
}

TEST(RealTimelineDeathTest, IsNotSetAheadOfTheClock) {
  Timeline timeline(ClockKind::kReal);
  EXPECT_DEATH(timeline.RunFor(1h), "the machine's clock runs by itself");
}

TEST(RealTimelineTest, ALookAtTheTimeGoesOnWithTheClock) {
  Timeline timeline(ClockKind::kReal);
  const coro::Time before = timeline.Now();
  while (timeline.Now() == before) {
  }
  EXPECT_GT(timeline.TimeNow(), before);
  EXPECT_GT(timeline.ElapsedNow(), 0ns);
  EXPECT_EQ(timeline.elapsed(), 0ns);  // nothing has happened
}

// ---- With a scheduler ----

// Picks the last ready step, but none before `waits_until`.
struct LastFirst final : Scheduler {
  Grain grain() const override { return size; }
  std::size_t Pick(std::span<const Step> ready, coro::Duration now) override {
    return now < waits_until ? kNobody : ready.size() - 1;
  }
  coro::Duration resumes() const override { return waits_until; }

  Grain size = Grain::kPackets;
  coro::Duration waits_until{};
};

struct ScheduledTest : testing::Test {
  ScheduledTest() { timeline.UseScheduler(scheduler); }
  void After(coro::Duration delay, EventKind kind, std::uint64_t number) {
    timeline.After(delay, &actor, kind, 0, number);
  }

  LastFirst scheduler;
  Timeline timeline{ClockKind::kVirtual};
  Recorder actor{timeline};
};

TEST_F(ScheduledTest, SchedulerOrdersTheNetworkAndEachStepTakesItsTime) {
  for (const std::uint64_t number : {1, 2, 3}) After(1ms, EventKind::kArrive, number);
  timeline.Deliver(0ns, &actor, EventKind::kAnswer, 0, 4);
  EXPECT_TRUE(actor.numbers.empty());
  EXPECT_EQ(timeline.StepsUnderWay().size(), 4u);
  EXPECT_TRUE(timeline.under_way());
  timeline.WaitUntil(Timeline::kStart + 1s);
  EXPECT_EQ(actor.numbers, (Numbers{4, 3, 2, 1}));
  EXPECT_EQ(actor.times.back(), 4 * kStepTime);
  EXPECT_FALSE(timeline.under_way());
}

TEST_F(ScheduledTest, TimersAndADevicesOwnWorkKeepTheirTimes) {
  After(5us, EventKind::kAlarm, 1);
  After(0us, EventKind::kTransmit, 2);
  After(0us, EventKind::kArrive, 3);
  EXPECT_EQ(timeline.StepsUnderWay().size(), 1u);
  timeline.WaitUntil(Timeline::kStart + 1s);
  EXPECT_EQ(actor.numbers, (Numbers{2, 3, 1}));
  EXPECT_EQ(actor.times, (std::vector<coro::Duration>{0us, 1us, 5us}));
}

TEST_F(ScheduledTest, WhatIsAboutToLeaveComesBeforeWhatIsPicked) {
  After(0us, EventKind::kArrive, 1);
  After(5us, EventKind::kTransmit, 2);
  timeline.WaitUntil(Timeline::kStart + 1s);
  EXPECT_EQ(actor.numbers, (Numbers{2, 1}));
}

TEST_F(ScheduledTest, SchedulerThatWaitsIsAskedAgainWhenItSays) {
  scheduler.waits_until = 50us;
  After(0us, EventKind::kArrive, 1);
  After(40us, EventKind::kAlarm, 2);
  After(60us, EventKind::kAlarm, 3);
  timeline.WaitUntil(Timeline::kStart + 1s);
  EXPECT_EQ(actor.numbers, (Numbers{2, 1, 3}));
  EXPECT_EQ(actor.times, (std::vector<coro::Duration>{40us, 51us, 60us}));
}

TEST_F(ScheduledTest, NothingHappensAfterTheDeadlineOfAWait) {
  scheduler.waits_until = coro::Duration::max();
  After(0us, EventKind::kArrive, 1);
  EXPECT_TRUE(timeline.WaitUntil(Timeline::kStart + 20us));
  EXPECT_TRUE(actor.numbers.empty());
  EXPECT_EQ(timeline.elapsed(), 20us);
  EXPECT_FALSE(timeline.WaitUntil(coro::kNever));
}

TEST_F(ScheduledTest, PickedOperationHappensAsAWhole) {
  scheduler.size = Grain::kOperations;
  actor.then = [&](const Event& event) {
    if (event.kind == EventKind::kArrive) After(0us, EventKind::kAnswer, event.b);
  };
  for (const std::uint64_t number : {1, 2}) After(0us, EventKind::kArrive, number);
  timeline.WaitUntil(Timeline::kStart + 1s);
  EXPECT_EQ(actor.numbers, (Numbers{2, 2, 1, 1}));
  EXPECT_EQ(actor.times.back(), 2 * kStepTime);
}

TEST_F(ScheduledTest, NetworkGoesOnForAProgramThatOnlyComputes) {
  After(0us, EventKind::kArrive, 1);
  for (int i = 0; i < 4095; ++i) timeline.Charge(1ns);
  EXPECT_TRUE(actor.numbers.empty());
  timeline.Charge(1ns);
  EXPECT_EQ(actor.numbers, Numbers{1});
}

}  // namespace
}  // namespace drydock::sim
