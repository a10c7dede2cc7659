// A receiver's link by itself: which packets wait, which are held back, and which are lost.

#include "drydock/sim/network/ingress.h"

#include <chrono>

#include "drydock/coro/time.h"
#include "drydock/sim/profile/profile.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

constexpr coro::Time kMorning{1s};

// A byte takes 1 ns; answers come after 10 us.
Profile Eight() {
  Profile profile = Profiles().front();
  profile.link_gbps = 8;
  profile.receive_gbps = 0;
  profile.one_way = {.fixed = 9us};
  profile.ack_delay = 1us;
  profile.congestion_target = 20us;
  profile.incast_queue = 100us;
  profile.retransmit_delay = 50us;
  return profile;
}

TEST(IngressTest, PacketsThatAreSpacedDoNotWait) {
  Ingress link(Eight());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(link.Hold(1, 1000, kMorning + i * 1us), 0us);
    EXPECT_EQ(link.Take(1, 1000, kMorning + i * 1us).wait, 0us);
  }
}

TEST(IngressTest, PacketsOfTwoSendersComeOneAfterTheOther) {
  Ingress link(Eight());
  EXPECT_EQ(link.Take(1, 1000, kMorning).wait, 0us);
  EXPECT_EQ(link.Take(2, 1000, kMorning).wait, 1us);
  EXPECT_EQ(link.Take(1, 1000, kMorning).wait, 2us);
  EXPECT_EQ(link.Take(2, 1000, kMorning + 1us).wait, 2us);
}

// 300 Gbit/s: a byte takes 26.67 ps.
TEST(IngressTest, ARateOfNoWholePicosecondsForAByteIsKept) {
  Profile profile = Eight();
  profile.receive_gbps = 300;
  Ingress link(profile);
  EXPECT_EQ(link.Take(1, 300'000, kMorning).wait, 0us);
  EXPECT_NEAR(static_cast<double>(link.Take(2, 300'000, kMorning).wait.count()), 8000, 1);
}

TEST(IngressTest, WhoKnowsOfTheQueueHoldsBack) {
  Ingress link(Eight());
  for (int i = 0; i < 21; ++i) link.Take(1, 1000, kMorning);
  EXPECT_EQ(link.Hold(1, 1000, kMorning), 0us);  // no packet waited too long
  const Passage late = link.Take(1, 1000, kMorning);
  EXPECT_EQ(late.wait, 21us);
  EXPECT_EQ(late.retransmissions, 0u);
  // Its answer was due 10 us after the 20 that it may wait; another one, whose packets did not
  // wait, knows nothing.
  for (int i = 0; i < 30; ++i) link.Take(2, 1000, kMorning + 21us);
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 29us), 0us);
  EXPECT_EQ(link.Hold(3, 1000, kMorning + 31us), 0us);
  // 20 us are still in the queue: as many as may be, and one packet's time and a little later.
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 31us), 0us);
  link.Take(3, 5000, kMorning + 31us);
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 31us), 5us + 1062ns);
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 31us), 5us + 2 * 1062ns + 1ns);
}

// Of several packets that travel as one the first waits as it would alone, and those behind it take
// their turns.
TEST(IngressTest, APieceIsHeldBackAsItsFirstPacketIs) {
  const auto full = [] {
    Ingress link(Eight());
    for (int i = 0; i < 60; ++i) link.Take(1, 1000, kMorning);
    return link;
  };
  constexpr coro::Time kLater = kMorning + 31us;
  Ingress packets = full();
  Ingress pieces = full();
  for (int piece = 0; piece < 3; ++piece) {
    const coro::Duration first = packets.Hold(1, 1000, kLater);
    for (int packet = 1; packet < 16; ++packet) packets.Hold(1, 1000, kLater);
    EXPECT_EQ(first, pieces.Hold(1, 1000, kLater, 15 * 1000)) << piece;
  }
}

TEST(IngressTest, WhoHasNotWaitedTooLongHoldsNothingBack) {
  Ingress link(Eight());
  for (int i = 0; i < 2; ++i) link.Take(1, 1000, kMorning);
  for (int i = 0; i < 30; ++i) link.Take(2, 1000, kMorning);
  link.Take(3, 30000, kMorning + 31us);  // the queue is too long again
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 31us), 0us);
  EXPECT_GT(link.Hold(2, 1000, kMorning + 31us), 0us);
}

TEST(IngressTest, AFullQueueLosesPacketsUntilThereIsRoom) {
  Ingress link(Eight());
  for (int i = 0; i < 101; ++i) EXPECT_EQ(link.Take(1, 1000, kMorning).retransmissions, 0u) << i;
  const Passage lost = link.Take(1, 1000, kMorning);  // would wait for 101 us
  EXPECT_EQ(lost.retransmissions, 1u);
  EXPECT_TRUE(lost.impairs);
  EXPECT_EQ(lost.wait, 101us);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(link.Take(1, 1000, kMorning).retransmissions, i < 49 ? 1u : 2u) << i;
  }
  const Passage other = link.Take(2, 1000, kMorning);
  EXPECT_EQ(other.retransmissions, 2u);
  EXPECT_TRUE(other.impairs);  // the first of this sender
  EXPECT_FALSE(link.Take(2, 1000, kMorning).impairs);
}

TEST(IngressTest, AnEmptyQueueForgetsWhoWasSlow) {
  Ingress link(Eight());
  for (int i = 0; i < 102; ++i) link.Take(1, 1000, kMorning);
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 70us), 11us + 1062ns);
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 102us), 0us);
  // While a sender is held back, an empty queue is none yet.
  for (int i = 0; i < 102; ++i) link.Take(1, 1000, kMorning + 200us);
  for (int i = 0; i < 50; ++i) link.Hold(1, 1000, kMorning + 270us);
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 310us), 0us);
  for (int i = 0; i < 102; ++i) {
    EXPECT_FALSE(link.Take(1, 1000, kMorning + 310us).impairs);
  }
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 600us), 0us);
  bool impairs = false;
  for (int i = 0; i < 102; ++i) impairs = link.Take(1, 1000, kMorning + 700us).impairs || impairs;
  EXPECT_TRUE(impairs);
}

TEST(IngressTest, WithoutFiguresNothingIsLostOrHeldBack) {
  Profile profile = Eight();
  profile.congestion_target = profile.incast_queue = {};
  Ingress link(profile);
  for (int i = 0; i < 1000; ++i) {
    const Passage passage = link.Take(1, 1000, kMorning);
    EXPECT_EQ(passage.wait, i * 1us);
    EXPECT_EQ(passage.retransmissions, 0u);
  }
  EXPECT_EQ(link.Hold(1, 1000, kMorning + 100us), 0us);
}

}  // namespace
}  // namespace drydock::sim
