#include "drydock/sim/rdm/reorder_window.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using Turn = ReorderWindow::Turn;

using Packets = std::vector<HeldPacket>;

HeldPacket Marked(int mark) { return {static_cast<std::byte>(mark)}; }

TEST(ReorderWindowTest, TellsEarlyFromPast) {
  ReorderWindow window(16, 5);
  EXPECT_EQ(window.TurnOf(5), Turn::kDue);
  EXPECT_EQ(window.TurnOf(6), Turn::kEarly);
  EXPECT_EQ(window.TurnOf(4), Turn::kPast);
  EXPECT_EQ(window.TurnOf(5u + 0x7fffffffu), Turn::kEarly);
  EXPECT_EQ(window.TurnOf(5u + 0x80000000u), Turn::kPast);
}

TEST(ReorderWindowTest, ReturnsPacketsInTheirTurn) {
  ReorderWindow window(16);
  window.Hold(2, Marked(2));
  window.Hold(1, Marked(1));
  window.Hold(4, Marked(4));
  EXPECT_EQ(window.Next(), Packets{Marked(1)});
  EXPECT_EQ(window.Next(), Packets{Marked(2)});
  EXPECT_TRUE(window.Next().empty());
  EXPECT_EQ(window.due(), 3u);
  EXPECT_EQ(window.Next(), Packets{Marked(4)});
}

TEST(ReorderWindowTest, HoldsSoManyBytes) {
  ReorderWindow window(16, 0, 1000);
  EXPECT_TRUE(window.Hold(1, HeldPacket(300)));
  EXPECT_TRUE(window.Hold(1, HeldPacket(300)));
  EXPECT_FALSE(window.Hold(2, HeldPacket(300)));  // each costs more than its bytes
  EXPECT_EQ(window.Next().size(), 2u);
  EXPECT_TRUE(window.Hold(2, HeldPacket(300)));
  EXPECT_FALSE(window.Hold(3, HeldPacket(10000)));
  EXPECT_EQ(window.Next().size(), 1u);
  EXPECT_TRUE(window.Next().empty());
}

TEST(ReorderWindowTest, DueMessageCanBeKept) {
  ReorderWindow window(16, 0, 1000);
  window.Hold(1, HeldPacket(700));
  window.KeepDue(window.Next());
  EXPECT_EQ(window.TurnOf(1), Turn::kDue);
  EXPECT_FALSE(window.Hold(2, HeldPacket(700)));
  EXPECT_EQ(window.TakeDue(), Packets{HeldPacket(700)});
  EXPECT_TRUE(window.TakeDue().empty());
  EXPECT_TRUE(window.Hold(2, HeldPacket(700)));
}

TEST(ReorderWindowTest, PacketsOfOneMessageStayTogether) {
  ReorderWindow window(16);
  window.Hold(1, Marked(10));
  window.Hold(1, Marked(11));
  EXPECT_EQ(window.Next(), (Packets{Marked(10), Marked(11)}));
}

TEST(ReorderWindowTest, NumbersWrapAround) {
  ReorderWindow window(16, UINT32_MAX);
  EXPECT_EQ(window.TurnOf(UINT32_MAX), Turn::kDue);
  EXPECT_EQ(window.TurnOf(0), Turn::kEarly);
  EXPECT_EQ(window.TurnOf(UINT32_MAX - 1), Turn::kPast);
  window.Hold(0, Marked(0));
  EXPECT_EQ(window.Next(), Packets{Marked(0)});
  EXPECT_EQ(window.TurnOf(UINT32_MAX), Turn::kPast);
  EXPECT_EQ(window.TurnOf(1), Turn::kEarly);
}

// Packets beyond the window are kept all the same, and counted.
TEST(ReorderWindowTest, OverflowIsCountedAndKept) {
  ReorderWindow window(4);
  window.Hold(3, Marked(3));
  EXPECT_EQ(window.overflowed(), 0u);
  window.Hold(4, Marked(4));
  window.Hold(1000000, Marked(9));
  EXPECT_EQ(window.overflowed(), 2u);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(window.Next().empty());
  EXPECT_EQ(window.Next(), Packets{Marked(3)});
  EXPECT_EQ(window.Next(), Packets{Marked(4)});
}

}  // namespace
}  // namespace drydock::sim::rdm
