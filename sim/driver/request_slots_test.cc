// The driver's requests: ids, contexts, and generations that tell a slot's uses apart.

#include "drydock/sim/driver/request_slots.h"

#include <cstdint>
#include <deque>
#include <map>
#include <set>

#include "drydock/sim/random.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using fabric::Context;
using fabric::OperationKind;

TEST(RequestSlotsTest, GivesBackWhatWasPut) {
  RequestSlots slots(4);
  const std::uint16_t id = slots.Take(Context{42}, OperationKind::kRead, 3);
  const RequestSlots::Request* request = slots.Release(id);
  ASSERT_NE(request, nullptr);
  EXPECT_TRUE(request->signalled);
  EXPECT_EQ(request->context, Context{42});
  EXPECT_EQ(request->kind, OperationKind::kRead);
  EXPECT_EQ(request->descriptors, 3u);
}

TEST(RequestSlotsTest, IsFullWhenAllAreTaken) {
  for (const std::size_t depth : {1u, 3u, 64u, 32768u}) {
    RequestSlots slots(depth);
    std::set<std::uint16_t> ids;
    for (std::size_t i = 0; i < depth; ++i) {
      EXPECT_FALSE(slots.full());
      ids.insert(slots.Take(std::nullopt, OperationKind::kSend));
    }
    EXPECT_TRUE(slots.full());
    EXPECT_EQ(ids.size(), depth);
    EXPECT_NE(slots.Release(*ids.begin()), nullptr);
    EXPECT_FALSE(slots.full());
  }
}

TEST(RequestSlotsTest, IdIsGoodOnce) {
  RequestSlots slots(4);
  const std::uint16_t id = slots.Take(Context{1}, OperationKind::kSend);
  EXPECT_NE(slots.Release(id), nullptr);
  EXPECT_EQ(slots.Release(id), nullptr);
  const std::uint16_t next = slots.Take(Context{2}, OperationKind::kSend);
  EXPECT_EQ(slots.Release(id), nullptr);  // an entry of the slot's earlier use
  EXPECT_NE(slots.Release(next), nullptr);
}

TEST(RequestSlotsTest, IdsThatNobodyTookAreNobodys) {
  RequestSlots slots(3);
  const std::uint16_t id = slots.Take(Context{1}, OperationKind::kSend);
  for (std::uint32_t other = 0; other <= 0xffff; ++other) {
    if (other != id) {
      EXPECT_EQ(slots.Release(static_cast<std::uint16_t>(other)), nullptr) << other;
    }
  }
  EXPECT_NE(slots.Release(id), nullptr);
}

TEST(RequestSlotsTest, SlotIsTakenAgainUnderAnotherId) {
  RequestSlots slots(64);
  std::set<std::uint16_t> ids;
  for (int i = 0; i < 1024; ++i) {  // all generations of one slot
    const std::uint16_t id = slots.Take(std::nullopt, OperationKind::kSend);
    EXPECT_TRUE(ids.insert(id).second);
    slots.Release(id);
  }
}

TEST(RequestSlotsTest, KeepsEveryContextWhateverTheOrder) {
  RandomStream random(1, Subsystem::kDriver, 0, 0);
  RequestSlots slots(48);
  std::deque<std::pair<std::uint16_t, std::uint64_t>> taken;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    if (!slots.full() && random.NextBelow(2) == 0) {
      taken.emplace_back(slots.Take(Context{i}, OperationKind::kSend), i);
    } else if (!taken.empty()) {
      const auto at = static_cast<std::ptrdiff_t>(random.NextBelow(taken.size()));
      const auto [id, context] = taken[static_cast<std::size_t>(at)];
      taken.erase(taken.begin() + at);
      const RequestSlots::Request* request = slots.Release(id);
      ASSERT_NE(request, nullptr);
      EXPECT_EQ(request->context, Context{context});
    }
  }
}

}  // namespace
}  // namespace drydock::sim
