// Events come out by time, and at one time in the order in which they were put in.

#include "drydock/sim/events/event_queue.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "drydock/sim/random.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

coro::Time At(std::uint64_t nanoseconds) {
  return coro::Time(coro::Duration(static_cast<std::int64_t>(nanoseconds)));
}

TEST(EventQueueTest, EarliestFirst) {
  EventQueue queue;
  EXPECT_TRUE(queue.empty());
  for (const std::uint64_t time : {5, 1, 4, 2, 3})
    queue.Push({At(time), nullptr, time, 0, EventKind::kAlarm});
  EXPECT_EQ(queue.size(), 5u);
  for (std::uint64_t time = 1; time <= 5; ++time) {
    EXPECT_EQ(queue.next_time(), At(time));
    EXPECT_EQ(queue.Pop().b, time);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueTest, EqualTimesInTheOrderOfPushing) {
  EventQueue queue;
  for (std::uint64_t i = 0; i < 1000; ++i)
    queue.Push({At(i % 3), nullptr, i, 0, EventKind::kAlarm});
  std::uint64_t last = 0;
  coro::Time time = At(0);
  for (int i = 0; i < 1000; ++i) {
    const Event event = queue.Pop();
    EXPECT_GE(event.time, time);
    EXPECT_TRUE(i == 0 || event.time != time || event.b > last);
    time = event.time;
    last = event.b;
  }
}

TEST(EventQueueTest, CarriesWhatWasPut) {
  EventQueue queue;
  queue.Push({At(7), nullptr, 3, 2, EventKind::kLand});
  const Event event = queue.Pop();
  EXPECT_EQ(event.time, At(7));
  EXPECT_EQ(event.kind, EventKind::kLand);
  EXPECT_EQ(event.a, 2u);
  EXPECT_EQ(event.b, 3u);
}

TEST(EventQueueTest, AgreesWithASortedMapWhenPushesAndPopsAlternate) {
  EventQueue queue;
  std::multimap<coro::Time, std::uint64_t> model;  // keeps the order of insertion of equal keys
  RandomStream random(1, Subsystem::kDriver, 0, 0);
  coro::Time now{};  // nothing is scheduled in the past
  for (std::uint64_t i = 0; i < 20000; ++i) {
    if (model.empty() || random.NextBelow(5) < 3) {
      const coro::Time time = now + coro::Duration(random.NextBelow(100));
      queue.Push({time, nullptr, i, 0, EventKind::kAlarm});
      model.emplace(time, i);
    } else {
      const Event event = queue.Pop();
      now = event.time;
      EXPECT_EQ(event.b, model.begin()->second);
      model.erase(model.begin());
    }
    EXPECT_EQ(queue.size(), model.size());
  }
}

}  // namespace
}  // namespace drydock::sim
