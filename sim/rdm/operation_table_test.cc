#include "drydock/sim/rdm/operation_table.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

// The behaviour of an operation of the test; it records when it was run.
struct Script {
  Blocked blocked = Blocked::kNo;
  bool done = false;
  int advances = 0;
  int reports = 0;
};

class Scripted final : public Operation {
 public:
  Scripted(Peer& peer, Script& script, std::vector<Script*>& order)
      : Operation(peer), script_(script), order_(order) {}

  Blocked Advance() override {
    ++script_.advances;
    order_.push_back(&script_);
    return script_.blocked;
  }
  bool OnPacket(const Packet&) override { return false; }
  void OnPacketSent(const Outcome&) override {}
  bool Done() const override { return script_.done; }
  void Report() override { ++script_.reports; }

 private:
  Script& script_;
  std::vector<Script*>& order_;
};

class OperationTableTest : public ::testing::Test {
 protected:
  OperationId Start(Script& script, Peer& peer) {
    return table_.Start(std::make_unique<Scripted>(peer, script, order_));
  }
  OperationId Start(Script& script) { return Start(script, peer_); }

  Settings settings_;
  Peer peer_{nullptr, settings_, 1};
  Peer other_{nullptr, settings_, 2};
  std::vector<Script*> order_;
  OperationTable table_;
};

TEST_F(OperationTableTest, OperationBeginsWhenItStarts) {
  Script script;
  const OperationId id = Start(script);
  EXPECT_NE(id, kNoOperation);
  EXPECT_EQ(script.advances, 1);
  ASSERT_NE(table_.Find(id), nullptr);
  EXPECT_EQ(table_.Find(id)->id(), id);
}

TEST_F(OperationTableTest, OperationEndsOnce) {
  Script script;
  const OperationId id = Start(script);
  script.done = true;
  table_.Run(*table_.Find(id));
  EXPECT_EQ(script.reports, 1);
  EXPECT_EQ(table_.Find(id), nullptr);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(OperationTableTest, OperationMayEndAtOnce) {
  Script script{.done = true};
  EXPECT_EQ(table_.Find(Start(script)), nullptr);
  EXPECT_EQ(script.reports, 1);
}

// Numbers of ended operations, invented ones, and those of other peers find nothing.
TEST_F(OperationTableTest, OldNumbersFindNothing) {
  Script first{.done = true}, second;
  const OperationId old = Start(first);
  const OperationId fresh = Start(second);
  EXPECT_NE(old, fresh);
  EXPECT_EQ(table_.Find(old), nullptr);
  EXPECT_NE(table_.Find(fresh), nullptr);
  EXPECT_NE(table_.Find(fresh, peer_), nullptr);
  EXPECT_EQ(table_.Find(fresh, other_), nullptr);
  for (const OperationId invented : {kNoOperation, fresh + 1, fresh ^ (OperationId{1} << 40),
                                     OperationId{UINT64_MAX}, fresh & UINT32_MAX}) {
    EXPECT_EQ(table_.Find(invented), nullptr) << invented;
  }
}

TEST_F(OperationTableTest, BlockedOperationsRunAgainInTurn) {
  Script one{.blocked = Blocked::kByPeer}, two{.blocked = Blocked::kByPeer}, free;
  Start(one);
  Start(two);
  Start(free);
  order_.clear();
  two.blocked = Blocked::kNo;
  table_.RunBlocked();
  EXPECT_EQ(order_, (std::vector{&one, &two}));
  order_.clear();
  table_.RunBlocked();
  EXPECT_EQ(order_, std::vector{&one});
}

// When the device is full it is full for all operations; each has its turn to find that out.
TEST_F(OperationTableTest, FullDeviceStopsAllWithoutStarvingOne) {
  Script one{.blocked = Blocked::kByDevice}, two{.blocked = Blocked::kByDevice},
      three{.blocked = Blocked::kByDevice};
  for (Script* script : {&one, &two, &three}) Start(*script);
  order_.clear();
  for (int i = 0; i < 6; ++i) table_.RunBlocked();
  EXPECT_EQ(order_, (std::vector{&one, &two, &three, &one, &two, &three}));
}

TEST_F(OperationTableTest, VisitReachesEveryOperation) {
  std::vector<Script> scripts(5);
  for (Script& script : scripts) Start(script);
  int visited = 0;
  table_.ForEach([&](Operation&) {
    if (++visited == 2) scripts[1].done = true;
  });
  EXPECT_EQ(visited, 5);
  EXPECT_EQ(scripts[1].reports, 1);
  EXPECT_EQ(table_.size(), 4u);
  EXPECT_TRUE(table_.Any([](const Operation&) { return true; }));
  EXPECT_FALSE(table_.Any([](const Operation&) { return false; }));
}

}  // namespace
}  // namespace drydock::sim::rdm
