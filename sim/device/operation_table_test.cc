// Every work request that is under way, by an id that never finds another one.

#include "drydock/sim/device/operation_table.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

TEST(OperationTableTest, IdOfAnOperationThatHasEndedFindsNothing) {
  OperationTable table;
  Operation& first = table.Start();
  const OperationId id = first.id;
  EXPECT_EQ(table.Find(id), &first);
  EXPECT_EQ(OperationId::Unpack(id.Pack()).slot, id.slot);
  table.End(first);
  EXPECT_EQ(table.Find(id), nullptr);
  Operation& second = table.Start();  // in the same slot
  EXPECT_EQ(second.id.slot, id.slot);
  EXPECT_EQ(table.Find(id), nullptr);
  EXPECT_EQ(table.Find(second.id), &second);
  EXPECT_EQ(table.Find({1000, 1}), nullptr);
  EXPECT_EQ(table.live(), 1u);
}

TEST(OperationTableTest, SequenceNumbersNeverRepeatAndFreshOnesAreEmpty) {
  OperationTable table;
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    Operation& operation = table.Start();
    EXPECT_EQ(operation.segment_count, 0u);
    EXPECT_EQ(operation.next_packet, 0u);
    EXPECT_FALSE(operation.ended || operation.answered || operation.silent);
    EXPECT_TRUE(i == 0 || operation.sequence > last);
    last = operation.sequence;
    operation.next_packet = 9;
    operation.ended = true;
    table.End(operation);
  }
}

TEST(OperationTableTest, VisitMayEndWhatItVisits) {
  OperationTable table;
  std::vector<OperationId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(table.Start().id);
  int visits = 0;
  table.ForEach([&](Operation& operation) {
    if (visits++ % 2 == 0) table.End(operation);
  });
  EXPECT_EQ(visits, 10);
  EXPECT_EQ(table.live(), 5u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(table.Find(ids[i]) != nullptr, i % 2 == 1);
}

TEST(OperationTableTest, ReferencesStayWhileOthersComeAndGo) {
  OperationTable table;
  Operation& first = table.Start();
  first.length = 77;
  for (int i = 0; i < 10000; ++i) table.Start();
  EXPECT_EQ(first.length, 77u);
  EXPECT_EQ(table.Find(first.id), &first);
}

}  // namespace
}  // namespace drydock::sim
