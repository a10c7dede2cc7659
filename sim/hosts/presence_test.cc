#include "drydock/sim/hosts/presence.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/testing/unique_name.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

// We are in slot 0, and look at slot 1.
class PresenceTest : public testing::Test {
 protected:
  std::unique_ptr<Directory> Join() {
    absl::StatusOr<std::unique_ptr<Directory>> directory =
        Directory::Join(name_, {.profile = "some profile", .fingerprint = 42});
    EXPECT_TRUE(directory.ok()) << directory.status();
    if (!directory.ok()) std::abort();
    (*directory)->Announce();
    return *std::move(directory);
  }

  const std::string name_ = sim_testing::UniqueName("drydock-efa-test");
  const std::unique_ptr<Directory> ours_ = Join();
  Presence presence_{*ours_, nullptr, 1};
};

TEST_F(PresenceTest, NoneAppearsInAFreeSlot) {
  EXPECT_EQ(presence_.Living(), 0u);
  EXPECT_FALSE(presence_.Appear(presence_.Living()));
  EXPECT_FALSE(presence_.present());
  EXPECT_FALSE(presence_.NoteDeath());
}

TEST_F(PresenceTest, ItIsPresentUntilItsOwnerSaysThatItHasGone) {
  auto other = Join();
  const std::uint32_t incarnation = other->incarnation();
  EXPECT_EQ(presence_.Living(), incarnation);
  EXPECT_FALSE(presence_.present());
  EXPECT_TRUE(presence_.Appear(presence_.Living()));
  EXPECT_EQ(presence_.incarnation(), incarnation);
  EXPECT_FALSE(presence_.is_far());

  other.reset();
  EXPECT_EQ(presence_.Living(), 0u);
  EXPECT_EQ(presence_.incarnation(), incarnation);
  presence_.Vanish();
  EXPECT_FALSE(presence_.present());
}

TEST_F(PresenceTest, OneThatIsNotTrustedStaysAwayAndItsSuccessorDoesNot) {
  auto other = Join();
  ASSERT_TRUE(presence_.Appear(presence_.Living()));
  presence_.Distrust();
  presence_.Vanish();
  EXPECT_EQ(presence_.Living(), other->incarnation());
  EXPECT_FALSE(presence_.Appear(presence_.Living()));
  EXPECT_FALSE(presence_.present());

  other.reset();
  EXPECT_FALSE(presence_.Appear(presence_.Living()));
  other = Join();
  EXPECT_TRUE(presence_.Appear(presence_.Living()));
  EXPECT_EQ(presence_.incarnation(), other->incarnation());
}

TEST_F(PresenceTest, TheDeathOfAProcessThatHoldsItsSlotNoLongerIsNoted) {
  {
    const auto other = Join();
    ASSERT_TRUE(presence_.Appear(presence_.Living()));
    EXPECT_FALSE(presence_.NoteDeath());
    presence_.Vanish();
  }
  const pid_t child = fork();
  if (child == 0) {
    const auto dies = Join();
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));

  const std::uint32_t epoch = ours_->epoch();
  ASSERT_TRUE(presence_.Appear(presence_.Living()));
  EXPECT_TRUE(presence_.NoteDeath());
  EXPECT_EQ(presence_.Living(), 0u);
  EXPECT_NE(ours_->epoch(), epoch);
}

}  // namespace
}  // namespace drydock::sim
