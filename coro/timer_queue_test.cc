#include "drydock/coro/timer_queue.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using ::testing::ElementsAre;

Time At(std::int64_t nanoseconds) { return Time(Duration(nanoseconds)); }

class RecordingTimer : public TimerNode {
 public:
  RecordingTimer(int id, std::vector<int>& fired)
      : TimerNode(&RecordingTimer::Record), id_(id), fired_(fired) {}

 private:
  static void Record(TimerNode& node) {
    auto& self = static_cast<RecordingTimer&>(node);
    self.fired_.push_back(self.id_);
  }

  int id_;
  std::vector<int>& fired_;
};

class TimerQueueTest : public ::testing::Test {
 protected:
  TimerQueue queue_;
  std::vector<int> fired_;
};

TEST_F(TimerQueueTest, FiresInDeadlineOrderAndNeverEarly) {
  RecordingTimer a(1, fired_), b(2, fired_), c(3, fired_);
  queue_.Arm(a, At(30));
  queue_.Arm(b, At(10));
  queue_.Arm(c, At(20));
  EXPECT_EQ(queue_.NextDeadline(), At(10));
  EXPECT_EQ(queue_.FireDue(At(9)), 0u);
  EXPECT_EQ(queue_.FireDue(At(20)), 2u);
  EXPECT_THAT(fired_, ElementsAre(2, 3));
  EXPECT_EQ(queue_.FireDue(At(30)), 1u);
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.NextDeadline(), kNever);
}

TEST_F(TimerQueueTest, EqualDeadlinesFireInArmingOrder) {
  std::vector<std::unique_ptr<RecordingTimer>> timers;
  std::vector<int> expected;
  for (int i = 0; i < 50; ++i) {
    timers.push_back(std::make_unique<RecordingTimer>(i, fired_));
    queue_.Arm(*timers.back(), At(5));
    expected.push_back(i);
  }
  queue_.FireDue(At(5));
  EXPECT_EQ(fired_, expected);
}

TEST_F(TimerQueueTest, CancelledAndDestroyedTimersDoNotFire) {
  RecordingTimer a(1, fired_), b(2, fired_);
  queue_.Arm(a, At(1));
  queue_.Arm(b, At(2));
  {
    RecordingTimer gone(3, fired_);
    queue_.Arm(gone, At(1));
  }
  a.Cancel();
  EXPECT_FALSE(a.armed());
  queue_.FireDue(At(10));
  EXPECT_THAT(fired_, ElementsAre(2));
}

class RearmingTimer : public TimerNode {
 public:
  explicit RearmingTimer(TimerQueue& queue) : TimerNode(&RearmingTimer::Rearm), queue_(queue) {}
  int fired() const { return fired_; }

 private:
  static void Rearm(TimerNode& node) {
    auto& self = static_cast<RearmingTimer&>(node);
    ++self.fired_;
    self.queue_.Arm(self, At(1));  // in the past
  }

  TimerQueue& queue_;
  int fired_ = 0;
};

TEST_F(TimerQueueTest, TimerThatRearmsInThePastNeitherHoldsTheLoopNorStarvesOthers) {
  RearmingTimer greedy(queue_);
  RecordingTimer later(7, fired_);
  queue_.Arm(greedy, At(1));
  queue_.Arm(later, At(50));
  EXPECT_EQ(queue_.FireDue(At(40)), 1u);
  EXPECT_EQ(queue_.FireDue(At(60)), 2u);
  EXPECT_THAT(fired_, ElementsAre(7));
  EXPECT_EQ(greedy.fired(), 2);
  greedy.Cancel();
}

class CancellingTimer : public TimerNode {
 public:
  explicit CancellingTimer(TimerNode& victim)
      : TimerNode(&CancellingTimer::Fire), victim_(victim) {}

 private:
  static void Fire(TimerNode& node) { static_cast<CancellingTimer&>(node).victim_.Cancel(); }

  TimerNode& victim_;
};

TEST_F(TimerQueueTest, TimerMayCancelThoseThatAreDueWithIt) {
  for (const std::int64_t due : {5, 5'000, 5'000'000}) {  // in the same bucket, and further away
    queue_.SetPresent(At(0));
    RecordingTimer first(1, fired_), second(2, fired_), third(3, fired_);
    CancellingTimer canceller(second);
    queue_.Arm(first, At(due));
    queue_.Arm(canceller, At(due));
    queue_.Arm(second, At(due));
    queue_.Arm(third, At(due));
    EXPECT_EQ(queue_.FireDue(At(due)), 3u);
    EXPECT_THAT(fired_, ElementsAre(1, 3));
    EXPECT_TRUE(queue_.empty());
    fired_.clear();
  }
}

// Times are drawn in units of this many nanoseconds: within one bucket, a few of them, and from all
// levels of the wheel to beyond its reach.
class TimerScaleTest : public TimerQueueTest, public ::testing::WithParamInterface<std::int64_t> {};

INSTANTIATE_TEST_SUITE_P(Scales, TimerScaleTest,
                         ::testing::Values(1, 300, 70'000, 20'000'000, 5'000'000'000,
                                           200'000'000'000));

// Compares the queue with a sorted list over a random sequence of arm, cancel and fire.
TEST_P(TimerScaleTest, AgreesWithASortedListOnRandomSequences) {
  const std::uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  struct Expected {
    std::int64_t deadline;
    int id;
  };
  std::vector<Expected> model;
  std::vector<std::unique_ptr<RecordingTimer>> timers;
  std::int64_t now = 0;
  for (int step = 0; step < 8'000; ++step) {
    const std::uint64_t choice = random() % 10;
    if (choice < 6) {
      const auto delay = static_cast<std::int64_t>(random() % 100) * GetParam();
      const std::int64_t deadline = now + 1 + delay + static_cast<std::int64_t>(random() % 2);
      timers.push_back(std::make_unique<RecordingTimer>(static_cast<int>(timers.size()), fired_));
      queue_.Arm(*timers.back(), At(deadline));
      model.push_back({deadline, static_cast<int>(timers.size()) - 1});
    } else if (choice < 8 && !model.empty()) {
      const std::size_t victim = random() % model.size();
      timers[model[victim].id]->Cancel();
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      std::stable_sort(model.begin(), model.end(), [](const Expected& a, const Expected& b) {
        return a.deadline != b.deadline ? a.deadline < b.deadline : a.id < b.id;
      });
      ASSERT_EQ(queue_.NextDeadline(), model.empty() ? kNever : At(model.front().deadline));
      now += static_cast<std::int64_t>(random() % 20) * GetParam();
      queue_.SetPresent(At(now));
      std::vector<int> due;
      while (!model.empty() && model.front().deadline <= now) {
        due.push_back(model.front().id);
        model.erase(model.begin());
      }
      fired_.clear();
      queue_.FireDue(At(now));
      ASSERT_EQ(fired_, due) << "step " << step;
      ASSERT_EQ(queue_.empty(), model.empty());
    }
  }
}

}  // namespace
}  // namespace drydock::coro
