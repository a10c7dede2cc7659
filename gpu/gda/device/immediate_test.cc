#include "drydock/gpu/gda/device/immediate.h"

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"

namespace drydock::gpu::gda {
namespace {

TEST(SignalImmediateTest, EveryFieldKeepsItsLargestValue) {
  const SignalImmediate all{15, 127, 127, 16383};
  EXPECT_EQ(all.Encode(), 0xFFFFFFFFu);
  for (int field = 0; field < 4; ++field) {
    const SignalImmediate one{field == 0 ? 15u : 0, field == 1 ? 127u : 0, field == 2 ? 127u : 0,
                              field == 3 ? 16383u : 0};
    const SignalImmediate back = SignalImmediate::Decode(one.Encode());
    EXPECT_EQ(back.epoch, one.epoch);
    EXPECT_EQ(back.source, one.source);
    EXPECT_EQ(back.signal, one.signal);
    EXPECT_EQ(back.sequence, one.sequence);
  }
}

TEST(ArrivalWindowTest, CountsEachNumberOnceInAnyOrder) {
  const auto window = std::make_unique<ArrivalWindow>();
  for (std::uint32_t begin = 0; begin < 3 * SignalImmediate::kSequences; begin += 8) {
    for (const std::uint32_t i : {3u, 0u, 7u, 1u, 2u, 6u, 5u, 4u}) {
      ASSERT_TRUE(NoteArrival(*window, (begin + i) % SignalImmediate::kSequences)) << begin + i;
      ASSERT_FALSE(NoteArrival(*window, (begin + i) % SignalImmediate::kSequences)) << begin + i;
    }
    ASSERT_EQ(window->next, begin + 8);
  }
}

TEST(ArrivalWindowTest, OneThatIsLateByAQueueIsCountedStill) {
  const auto window = std::make_unique<ArrivalWindow>();
  for (std::uint32_t i = 1; i < ArrivalWindow::kWindow; ++i) ASSERT_TRUE(NoteArrival(*window, i));
  EXPECT_TRUE(NoteArrival(*window, 0));
  EXPECT_FALSE(NoteArrival(*window, 0));
  EXPECT_EQ(window->next, ArrivalWindow::kWindow);
}

// Writes that failed took numbers, too.
TEST(ArrivalWindowTest, OneThatNeverComesKeepsNoOtherOut) {
  const auto window = std::make_unique<ArrivalWindow>();
  for (std::uint32_t i = 1; i <= 20000; ++i) {
    if (i % 100 == 0) continue;
    ASSERT_TRUE(NoteArrival(*window, i % SignalImmediate::kSequences)) << i;
    ASSERT_FALSE(NoteArrival(*window, i % SignalImmediate::kSequences)) << i;
  }
}

}  // namespace
}  // namespace drydock::gpu::gda
