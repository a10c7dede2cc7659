#include "drydock/coro/slot_table.h"

#include <cstdint>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using ::testing::ElementsAre;

TEST(SlotTableTest, FindsWhatWasTaken) {
  SlotTable<int> table;
  const auto [first, one] = table.Take();
  *one = 1;
  const auto [second, two] = table.Take();
  *two = 2;
  ASSERT_NE(table.Find(first), nullptr);
  EXPECT_EQ(*table.Find(first), 1);
  EXPECT_EQ(*table.Find(second), 2);
  EXPECT_EQ(table.taken(), 2u);
}

TEST(SlotTableTest, NobodyFindsAnotherUsersSlot) {
  SlotTable<int> table;
  const auto old = table.Take().first;
  table.Free(old);
  EXPECT_EQ(table.Find(old), nullptr);
  const auto young = table.Take().first;  // the same slot
  EXPECT_EQ(static_cast<std::uint32_t>(young), static_cast<std::uint32_t>(old));
  EXPECT_EQ(table.Find(old), nullptr);
  EXPECT_NE(table.Find(young), nullptr);
}

// Whatever its generation is, which comes round after four billion users.
TEST(SlotTableTest, NoNameIsEverZero) {
  SlotTable<int> table;
  for (int i = 0; i < 100; ++i) EXPECT_NE(static_cast<std::uint32_t>(table.Take().first), 0u);
  EXPECT_EQ(table.taken(), 100u);
  EXPECT_EQ(table.Find(0), nullptr);
}

TEST(SlotTableTest, NamesThatNobodyGaveAreNotFound) {
  SlotTable<int> table;
  EXPECT_EQ(table.Find(0), nullptr);
  const auto name = table.Take().first;
  EXPECT_NE(name, 0u);
  for (const std::uint64_t wrong :
       {std::uint64_t{0}, ~std::uint64_t{0}, name + 1, name ^ std::uint64_t{1} << 32}) {
    EXPECT_EQ(table.Find(wrong), nullptr) << wrong;
  }
  table.Free(name);
  for (std::uint64_t wrong = 0; wrong < 64; ++wrong) {
    EXPECT_EQ(table.Find(name ^ std::uint64_t{1} << wrong), nullptr) << wrong;
  }
  EXPECT_EQ(table.Find(name + (std::uint64_t{1} << 32)), nullptr) << "that is given next";
}

TEST(SlotTableDeathTest, FreeingTwiceIsABug) {
  SlotTable<int> table;
  const auto name = table.Take().first;
  table.Free(name);
  EXPECT_DEATH(table.Free(name), "freed twice");
}

TEST(SlotTableTest, EachThatIsTakenIsVisitedAndMayBeFreed) {
  SlotTable<int> table;
  std::vector<std::uint64_t> names;
  for (int i = 0; i < 4; ++i) {
    const auto [name, value] = table.Take();
    *value = i;
    names.push_back(name);
  }
  table.Free(names[1]);
  std::vector<int> seen;
  table.ForEach([&](std::uint64_t name, int value) {
    seen.push_back(value);
    table.Free(name);
  });
  EXPECT_THAT(seen, ElementsAre(0, 2, 3));
  EXPECT_EQ(table.taken(), 0u);
}

// Against a map, with a name for each Take that was ever made.
TEST(SlotTableTest, BehavesAsAMapOfNames) {
  std::mt19937 random(7);  // NOLINT: the same each time
  SlotTable<std::uint64_t> table;
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  std::unordered_set<std::uint64_t> ever;
  std::vector<std::uint64_t> names;
  for (std::uint64_t step = 0; step < 20000; ++step) {
    if (names.empty() || random() % 2 == 0) {
      const auto [name, value] = table.Take();
      EXPECT_TRUE(ever.insert(name).second) << "a name is given twice";
      *value = step;
      model[name] = step;
      names.push_back(name);
    } else {
      const std::size_t index = random() % names.size();
      const std::uint64_t name = names[index];
      if (model.count(name) == 0) {
        EXPECT_EQ(table.Find(name), nullptr);
      } else {
        ASSERT_NE(table.Find(name), nullptr);
        EXPECT_EQ(*table.Find(name), model[name]);
        table.Free(name);
        model.erase(name);
      }
    }
    EXPECT_EQ(table.taken(), model.size());
  }
}

}  // namespace
}  // namespace drydock::coro
