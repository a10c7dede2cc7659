#include "drydock/apps/goal/agenda.h"

#include <chrono>
#include <queue>
#include <vector>

#include "drydock/apps/goal/schedule.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::goal {
namespace {

using ::testing::ElementsAre;

Due At(int ns, OpIndex op, Moment moment = Moment::kEnds) {
  return {coro::Time(std::chrono::nanoseconds(ns)), op, moment};
}

std::vector<Due> Drain(Agenda& agenda) {
  std::vector<Due> order;
  while (!agenda.empty()) order.push_back(agenda.Pop());
  return order;
}

TEST(AgendaTest, OfOneMomentTheFirstOfTheScheduleIsFirstWhicheverCpuItIsOf) {
  Agenda agenda(3);
  agenda.Push(0, At(5, 9));
  agenda.Push(1, At(5, 2));
  agenda.Push(2, At(4, 7));
  agenda.Push(1, At(5, 2, Moment::kBegins));
  EXPECT_THAT(Drain(agenda), ElementsAre(At(4, 7), At(5, 2, Moment::kBegins), At(5, 2), At(5, 9)));
}

TEST(AgendaTest, WhatComesInFrontOfOthersIsFirstAndTheOthersFollowOnce) {
  Agenda agenda(2);
  agenda.Push(0, At(5, 3));
  agenda.Push(0, At(5, 2));
  agenda.Push(0, At(5, 1));
  EXPECT_EQ(agenda.first(), At(5, 1));
  EXPECT_EQ(agenda.Pop(), At(5, 1));
  agenda.Push(0, At(5, 0));
  agenda.Push(1, At(5, 4));
  EXPECT_THAT(Drain(agenda), ElementsAre(At(5, 0), At(5, 2), At(5, 3), At(5, 4)));
}

// Beside one heap of everything.
TEST(AgendaTest, IsInTheOrderOfAHeapHoweverItIsFilled) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Agenda agenda(4);
    std::priority_queue<Due, std::vector<Due>, std::greater<>> heap;
    for (std::uint32_t i = 0; i < 400; ++i) {
      const std::uint64_t word = coro::Combine(seed, i);
      if (word % 3 != 0) {
        const Due due = At(static_cast<int>((word >> 8) % 20), i);
        agenda.Push((word >> 16) % 4, due);
        heap.push(due);
      } else if (!heap.empty()) {
        ASSERT_EQ(agenda.Pop(), heap.top());
        heap.pop();
      }
      ASSERT_EQ(agenda.empty(), heap.empty());
      if (!heap.empty()) {
        ASSERT_EQ(agenda.first(), heap.top());
      }
    }
  }
}

}  // namespace
}  // namespace drydock::apps::goal
