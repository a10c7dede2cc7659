#include "drydock/apps/common/progress.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "drydock/coro/virtual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kErase = "\r\033[K";

class ProgressTest : public ::testing::Test {
 protected:
  ~ProgressTest() override {
    std::fclose(stream_);
    std::free(text_);
  }

  // The text drawn since the last call.
  std::string Drawn() {
    std::fflush(stream_);
    const std::string all(text_, length_);
    const std::string drawn = all.substr(seen_);
    seen_ = all.size();
    return drawn;
  }

  coro::VirtualClock clock_;
  char* text_ = nullptr;
  std::size_t length_ = 0;
  std::size_t seen_ = 0;
  std::FILE* stream_ = open_memstream(&text_, &length_);
};

TEST_F(ProgressTest, ShortWorkIsSilent) {
  {
    Progress progress({"writes", 16, 1 << 20}, clock_, stream_, /*terminal=*/true);
    clock_.Advance(999ms);
    progress.Update(16);
  }
  EXPECT_EQ(Drawn(), "");
}

TEST_F(ProgressTest, WorkOfMoreThanASecondShowsHowFarItIs) {
  Progress progress({"writes", 16, 1'000'000}, clock_, stream_, /*terminal=*/true);
  clock_.Advance(2s);
  progress.Update(4);
  EXPECT_EQ(Drawn(), std::string(kErase) +
                         "[#######.......................] 4 of 16 writes, 2 MB/s (16 Mbit/s)");
}

TEST_F(ProgressTest, PiecesWithoutBytesHaveARateOfTheirOwn) {
  Progress progress({"seeds", 16, 0, /*rate=*/true}, clock_, stream_, /*terminal=*/true);
  clock_.Advance(2s);
  progress.Update(8);
  EXPECT_THAT(Drawn(), EndsWith("] 8 of 16 seeds, 4 seeds/s"));
}

TEST_F(ProgressTest, RedrawsTenTimesASecondAtMost) {
  Progress progress({"writes", 16, 1}, clock_, stream_, /*terminal=*/true);
  clock_.Advance(1s);
  progress.Update(1);
  EXPECT_THAT(Drawn(), HasSubstr("1 of 16"));
  clock_.Advance(99ms);
  progress.Update(2);
  EXPECT_EQ(Drawn(), "");
  clock_.Advance(1ms);
  progress.Update(3);
  EXPECT_THAT(Drawn(), HasSubstr("3 of 16"));
}

TEST_F(ProgressTest, GoesAwayForOtherOutputAndAtTheEnd) {
  {
    Progress progress({"writes", 16, 1}, clock_, stream_, /*terminal=*/true);
    clock_.Advance(1s);
    progress.Update(1);
    Drawn();
    progress.Hide();
    EXPECT_EQ(Drawn(), kErase);
    progress.Hide();
    EXPECT_EQ(Drawn(), "");
    clock_.Advance(1s);
    progress.Update(2);
    EXPECT_THAT(Drawn(), HasSubstr("2 of 16"));
  }
  EXPECT_EQ(Drawn(), kErase);
}

// A peer may claim more than was asked for, and nothing may be asked for.
TEST_F(ProgressTest, NumbersOutOfRangeAreHarmless) {
  Progress more({"writes", 2, 0}, clock_, stream_, /*terminal=*/true);
  Progress none({"writes", 0, 0}, clock_, stream_, /*terminal=*/true);
  clock_.Advance(1s);
  more.Update(5);
  EXPECT_THAT(Drawn(), EndsWith(std::string(30, '#') + "] 2 of 2 writes"));
  none.Update(0);
  EXPECT_THAT(Drawn(), StartsWith(std::string(kErase) + "[" + std::string(30, '.') + "] 0 of 0"));
}

TEST_F(ProgressTest, IsSilentWhereNoTerminalIs) {
  {
    Progress progress({"writes", 16, 1}, clock_, stream_, /*terminal=*/false);
    clock_.Advance(10s);
    progress.Update(1);
  }
  EXPECT_EQ(Drawn(), "");
}

}  // namespace
}  // namespace drydock::apps
