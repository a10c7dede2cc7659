// The time of a process: the cost of looks, waits and sleeps, and when it ends.

#include "drydock/sim/virtual_time/process_time.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kSecond = 1'000'000'000;

// A world in which something happens at these moments, in order.
class Moments final : public VirtualTime::Runner {
 public:
  explicit Moments(std::vector<std::int64_t> moments = {}) : moments_(std::move(moments)) {}

  std::int64_t Run(std::int64_t deadline) override {
    ++runs;
    if (moments_.empty() || moments_.front() > deadline) return deadline;
    const std::int64_t moment = moments_.front();
    moments_.erase(moments_.begin());
    return moment;
  }

  int runs = 0;

 private:
  std::vector<std::int64_t> moments_;
};

TEST(ProcessTimeTest, ALookTakesTwentyNanosecondsAndWorkAsLongAsIsSaid) {
  ProcessTime time;
  EXPECT_EQ(time.now(), VirtualTime::kBegin);
  EXPECT_EQ(time.Look(), VirtualTime::kBegin + 20);
  time.Spend(5us);
  EXPECT_EQ(time.now(), VirtualTime::kBegin + 5020);
}

TEST(ProcessTimeTest, AWaitEndsWithTheFirstThatHappensAndASleepDoesNot) {
  ProcessTime time;
  Moments world({VirtualTime::kBegin + 100, VirtualTime::kBegin + 200});
  time.Follow(&world);
  EXPECT_TRUE(time.Wait(VirtualTime::kBegin + 1000));
  EXPECT_EQ(time.now(), VirtualTime::kBegin + 100);
  time.Sleep(VirtualTime::kBegin + 1000);
  EXPECT_EQ(time.now(), VirtualTime::kBegin + 1000);
  EXPECT_EQ(world.runs, 3);
}

TEST(ProcessTimeTest, AWaitForNothingIsTold) {
  ProcessTime time;
  EXPECT_FALSE(time.Wait(VirtualTime::kNever));
  Moments world;
  time.Follow(&world);
  EXPECT_FALSE(time.Wait(VirtualTime::kNever));
  EXPECT_EQ(time.now(), VirtualTime::kBegin);
}

TEST(ProcessTimeTest, LooksInVainTakeLongerUntilSomethingHappens) {
  ProcessTime time;
  Moments world({VirtualTime::kBegin + 350});
  time.Follow(&world);
  time.LookedInVain();
  EXPECT_EQ(time.now(), VirtualTime::kBegin + 100);
  time.LookedInVain();
  EXPECT_EQ(time.now(), VirtualTime::kBegin + 300);
  time.LookedInVain();  // 400 ns, and something happens after 50
  EXPECT_EQ(time.now(), VirtualTime::kBegin + 350);
  time.LookedInVain();
  EXPECT_EQ(time.now(), VirtualTime::kBegin + 450);
  for (int i = 0; i < 20; ++i) time.LookedInVain();
  const std::int64_t before = time.now();
  time.LookedInVain();
  EXPECT_EQ(time.now() - before, 100'000);
}

TEST(ProcessTimeTest, ASleepThatIsOverIsALookInVain) {
  ProcessTime time;
  Moments world;
  time.Follow(&world);
  time.Sleep(VirtualTime::kBegin);
  EXPECT_EQ(time.now(), VirtualTime::kBegin + 100);
  time.Sleep(VirtualTime::kBegin - kSecond);
  EXPECT_EQ(time.now(), VirtualTime::kBegin + 300);
  EXPECT_EQ(world.runs, 2);
}

TEST(ProcessTimeTest, WhatIsLeftBecomesADeadline) {
  ProcessTime time;
  const timespec left{.tv_sec = 2, .tv_nsec = 5};
  EXPECT_EQ(time.After(&left), VirtualTime::kBegin + 2 * kSecond + 5);
  EXPECT_EQ(time.After(nullptr), VirtualTime::kNever);
  const timespec ages{.tv_sec = INT64_MAX, .tv_nsec = 0};
  EXPECT_EQ(time.After(&ages), VirtualTime::kNever);
}

TEST(ProcessTimeDeathTest, WhoLivesLongerThanTheLimitHangs) {
  setenv(kLimitVariable, "3", 1);
  ProcessTime time;
  time.Spend(3s);
  EXPECT_EXIT(time.Spend(1ns), testing::ExitedWithCode(VirtualTime::kHangs), "longer than it may");
  unsetenv(kLimitVariable);
}

TEST(ProcessTimeDeathTest, WhoSleepsForEverHangs) {
  ProcessTime time;
  EXPECT_EXIT(time.Sleep(VirtualTime::kNever), testing::ExitedWithCode(VirtualTime::kHangs),
              "sleeps for ever");
  Moments world({VirtualTime::kBegin + 100, VirtualTime::kNever});
  time.Follow(&world);
  EXPECT_EXIT(time.Sleep(VirtualTime::kNever), testing::ExitedWithCode(VirtualTime::kHangs),
              "sleeps for ever");
}

TEST(ProcessTimeDeathTest, SomebodyElseMayEndTheProcess) {
  ProcessTime time;
  time.OnHang([](const char*) { std::_Exit(7); });
  EXPECT_EXIT(time.Hang("why"), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace drydock::sim
