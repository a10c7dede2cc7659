// Actions that are put off.

#include "drydock/sim/events/deferred_actions.h"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "drydock/sim/events/event.h"
#include "drydock/sim/events/event_log.h"
#include "drydock/sim/events/timeline.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

struct DeferredActionsTest : testing::Test {
  std::function<void()> Note(int number) {
    return [this, number] { done.push_back(number); };
  }

  Timeline timeline{ClockKind::kVirtual};
  DeferredActions deferred{timeline};
  std::vector<int> done;
};

TEST_F(DeferredActionsTest, ActionHappensWhenItsDelayIsOver) {
  deferred.After(10us, Note(1));
  EXPECT_FALSE(deferred.empty());
  timeline.RunFor(9us);
  EXPECT_TRUE(done.empty());
  timeline.RunFor(1us);
  EXPECT_EQ(done, std::vector{1});
  EXPECT_TRUE(deferred.empty());
}

TEST_F(DeferredActionsTest, ActionWithoutADelayIsNotCalledBeforeItIsPutOff) {
  deferred.After(0us, Note(1));
  EXPECT_TRUE(done.empty());
  timeline.RunFor(0us);
  EXPECT_EQ(done, std::vector{1});
}

TEST_F(DeferredActionsTest, ActionsHappenInTheOrderOfTheirTimesAndThenOfTheirCalls) {
  deferred.After(20us, Note(1));
  deferred.After(10us, Note(2));
  deferred.After(20us, Note(3));
  timeline.RunFor(1ms);
  EXPECT_EQ(done, (std::vector{2, 1, 3}));
}

TEST_F(DeferredActionsTest, ActionMayPutOffAnother) {
  deferred.After(10us, [this] {
    EXPECT_TRUE(deferred.empty());  // it is under way, and no longer put off
    done.push_back(1);
    deferred.After(0us, Note(2));
    deferred.After(10us, Note(3));
  });
  timeline.RunFor(10us);
  EXPECT_EQ(done, (std::vector{1, 2}));
  timeline.RunFor(10us);
  EXPECT_EQ(done, (std::vector{1, 2, 3}));
}

TEST_F(DeferredActionsTest, ActionIsReleasedWhenItHasHappened) {
  auto held = std::make_shared<int>();
  deferred.After(10us, [held] {});
  EXPECT_EQ(held.use_count(), 2);
  timeline.RunFor(10us);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(DeferredActionsTest, ActionsHappenToNoNicAndAreNumbered) {
  struct Listener final : EventListener {
    void OnLogged(const LoggedEvent& event) override { events.push_back(event); }
    std::vector<LoggedEvent> events;
  };
  EventLog log;
  Listener listener;
  log.set_listener(&listener);
  Timeline logged(ClockKind::kVirtual, &log);
  DeferredActions actions(logged);
  actions.After(2us, Note(1));
  actions.After(1us, Note(2));
  logged.RunFor(1ms);
  EXPECT_EQ(actions.index(), kNoActor);
  ASSERT_EQ(listener.events.size(), 2u);
  EXPECT_EQ(listener.events[0].kind, EventKind::kDeferred);
  EXPECT_EQ(listener.events[0].actor, kNoActor);
  EXPECT_EQ(listener.events[0].operation, 1u);
  EXPECT_EQ(listener.events[1].operation, 0u);
}

}  // namespace
}  // namespace drydock::sim
