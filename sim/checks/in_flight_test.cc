#include "drydock/sim/checks/in_flight.h"

#include <cstddef>
#include <cstdint>

#include "drydock/coro/time.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/posted.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using fabric::OperationKind;

constexpr std::uint16_t kDepth = 8192;

// Receives of a driver that takes their contexts from a pool.
Posted Receive(std::uint64_t i) {
  Posted posted;
  posted.kind = OperationKind::kReceive;
  posted.signalled = true;
  posted.context = static_cast<fabric::Context>(0x7f00'0000'0000u + 8896 * i);
  posted.local = i;
  return posted;
}

// Of any number of requests, each is found by its context until it has ended.
TEST(InFlightTest, EachIsFoundUntilItEnds) {
  InFlight receives(kDepth);
  for (std::uint16_t i = 0; i < kDepth; ++i) {
    EXPECT_EQ(receives.Find(Receive(i)), nullptr) << i;
    receives.Add(i, Receive(i), coro::Duration(i));
  }
  EXPECT_EQ(receives.count(), kDepth);
  for (std::uint16_t i = 0; i < kDepth; ++i) {
    const Posted* found = receives.Find(Receive(i));
    ASSERT_NE(found, nullptr) << i;
    EXPECT_EQ(found->local, i);
  }
  for (std::uint16_t i = 0; i < kDepth; i += 3) {
    const Posted* ended = receives.Remove(i);
    ASSERT_NE(ended, nullptr) << i;
    EXPECT_EQ(ended->local, i);
    EXPECT_EQ(receives.Remove(i), nullptr) << i;
  }
  for (std::uint16_t i = 0; i < kDepth; ++i) {
    EXPECT_EQ(receives.Find(Receive(i)) == nullptr, i % 3 == 0) << i;
  }
}

TEST(InFlightTest, AnotherKindWithTheContextIsAnotherRequest) {
  InFlight requests(16);
  requests.Add(0, Receive(1), {});
  Posted send = Receive(1);
  send.kind = OperationKind::kSend;
  EXPECT_EQ(requests.Find(send), nullptr);
  requests.Add(1, send, {});
  EXPECT_EQ(requests.Find(send)->kind, OperationKind::kSend);
  EXPECT_EQ(requests.Find(Receive(1))->kind, OperationKind::kReceive);
}

TEST(InFlightTest, OneWithoutAContextIsCountedAndNotFound) {
  InFlight requests(16);
  Posted posted = Receive(1);
  posted.signalled = false;
  requests.Add(16 + 3, posted, coro::Duration(7));  // the slot's second use
  EXPECT_EQ(requests.count(), 1u);
  EXPECT_EQ(requests.Find(Receive(1)), nullptr);
  std::size_t visited = 0;
  requests.ForEach([&](std::uint16_t slot, const InFlight::Entry& entry) {
    EXPECT_EQ(slot, 3);
    EXPECT_EQ(entry.since, coro::Duration(7));
    ++visited;
  });
  EXPECT_EQ(visited, 1u);
  EXPECT_NE(requests.Remove(16 + 3), nullptr);
  EXPECT_EQ(requests.count(), 0u);
}

}  // namespace
}  // namespace drydock::sim
