#include "drydock/sim/explore/ddmin.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Part = std::vector<std::size_t>;

bool HasAll(const Part& part, const Part& needed) {
  return std::includes(part.begin(), part.end(), needed.begin(), needed.end());
}

TEST(DdminTest, NothingIsNeededWhereNothingMatters) {
  EXPECT_THAT(Ddmin(100, [](const Part&) { return true; }), IsEmpty());
  EXPECT_THAT(Ddmin(0, [](const Part&) { return true; }), IsEmpty());
}

TEST(DdminTest, FindsTheOneElementInLogarithmicallyManySteps) {
  for (const std::size_t culprit :
       {std::size_t{0}, std::size_t{1}, std::size_t{500}, std::size_t{999}}) {
    int asked = 0;
    const Part part = Ddmin(1000, [&](const Part& tried) {
      ++asked;
      return HasAll(tried, {culprit});
    });
    EXPECT_THAT(part, ElementsAre(culprit));
    EXPECT_LE(asked, 22) << culprit;
  }
}

TEST(DdminTest, FindsElementsThatActTogether) {
  int asked = 0;
  const Part part = Ddmin(300, [&](const Part& tried) {
    ++asked;
    return HasAll(tried, {41, 263});
  });
  EXPECT_THAT(part, ElementsAre(41, 263));
  EXPECT_LT(asked, 100);
}

TEST(DdminTest, KeepsWhatHasToBeWhole) {
  const Part part = Ddmin(9, [](const Part& tried) { return tried.size() == 9; });
  EXPECT_EQ(part.size(), 9u);
}

TEST(DdminTest, NoSingleElementOfTheAnswerCanBeSpared) {
  // Fails when at least five elements are left whose sum is even: not monotone.
  const auto fails = [](const Part& tried) {
    std::size_t sum = 0;
    for (const std::size_t index : tried) sum += index;
    return tried.size() >= 5 && sum % 2 == 0;
  };
  const Part part = Ddmin(64, fails);
  EXPECT_TRUE(fails(part));
  for (std::size_t i = 0; i < part.size(); ++i) {
    Part rest = part;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(fails(rest));
  }
}

TEST(DdminTest, AsksNothingMoreWhenItIsToStop) {
  std::size_t asked = 0;
  const Part part = Ddmin(
      std::size_t{1} << 20, [&](const Part&) { return ++asked == 3; }, [&] { return asked >= 5; });
  EXPECT_EQ(asked, 5u);
  EXPECT_EQ(part.size(), std::size_t{1} << 19);  // the half that failed
}

TEST(DdminTest, AsksForNoPartTwiceInARow) {
  Part last = {99};
  Ddmin(16, [&](const Part& tried) {
    EXPECT_NE(tried, last);
    last = tried;
    return HasAll(tried, {2, 3, 11});
  });
}

}  // namespace
}  // namespace drydock::sim::explore
