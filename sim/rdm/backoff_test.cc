#include "drydock/sim/rdm/backoff.h"

#include <chrono>
#include <set>

#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using namespace std::chrono_literals;

constexpr coro::Time kStart{1s};

class BackoffTest : public ::testing::Test {
 protected:
  Settings settings_;
};

TEST_F(BackoffTest, FirstWaitIsShortAndRandom) {
  std::set<coro::Time> ends;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Backoff backoff(settings_, seed);
    EXPECT_FALSE(backoff.active());
    backoff.Refused(kStart);
    EXPECT_TRUE(backoff.active());
    EXPECT_GE(backoff.until(), kStart + settings_.backoff_least);
    EXPECT_LT(backoff.until(), kStart + settings_.backoff_most);
    ends.insert(backoff.until());
  }
  EXPECT_GT(ends.size(), 90u);
}

TEST_F(BackoffTest, SameSeedWaitsTheSame) {
  Backoff one(settings_, 7), other(settings_, 7);
  one.Refused(kStart);
  other.Refused(kStart);
  EXPECT_EQ(one.until(), other.until());
}

TEST_F(BackoffTest, EachTimeWaitsTwiceAsLongUpToTheCap) {
  Backoff backoff(settings_, 1);
  backoff.Refused(kStart);
  coro::Duration wait = backoff.until() - kStart;
  for (int i = 0; i < 40; ++i) {
    backoff.Leave();
    EXPECT_FALSE(backoff.active());
    backoff.Refused(kStart);
    wait = std::min(2 * wait, settings_.backoff_cap);
    EXPECT_EQ(backoff.until() - kStart, wait);
  }
  EXPECT_EQ(wait, settings_.backoff_cap);
}

// Several packets of one peer are refused at about the same time: that is one time.
TEST_F(BackoffTest, RefusalDuringTheWaitBeginsItAnew) {
  Backoff backoff(settings_, 1);
  backoff.Refused(kStart);
  const coro::Duration wait = backoff.until() - kStart;
  backoff.Refused(kStart + 10us);
  EXPECT_EQ(backoff.until(), kStart + 10us + wait);
}

TEST_F(BackoffTest, SuccessStartsAllOver) {
  Backoff backoff(settings_, 1);
  for (int i = 0; i < 10; ++i) {
    backoff.Refused(kStart);
    backoff.Leave();
  }
  backoff.Succeeded();
  backoff.Refused(kStart);
  EXPECT_LT(backoff.until(), kStart + settings_.backoff_most);
}

}  // namespace
}  // namespace drydock::sim::rdm
