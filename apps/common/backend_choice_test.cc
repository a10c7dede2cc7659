#include "apps/common/backend_choice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/sim_fabric.h"
#include "testing/matchers/status_matchers.h"

namespace apps {
namespace {

using ::testing::HasSubstr;
using ::testing_matchers::IsOkAndHolds;
using ::testing_matchers::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(BackendChoiceTest, SimulatorTakesItsProfile) {
  ASSERT_OK_AND_ASSIGN(const auto choice, ChooseBackend({.fabric = "sim", .profile = "p5"}));
  EXPECT_TRUE(choice.simulated);
  EXPECT_EQ(choice.profile->nics.size(), 32u);
  EXPECT_EQ(choice.reason, "");
}

// The machines that run this test have no EFA NIC.
TEST(BackendChoiceTest, AutoFallsBackToTheSimulatorAndSaysSo) {
  ASSERT_OK_AND_ASSIGN(const auto choice, ChooseBackend({}));
  EXPECT_TRUE(choice.simulated);
  EXPECT_EQ(choice.reason, "no EFA NIC here");
}

TEST(BackendChoiceTest, RefusesWhatDoesNotExistOrGoTogether) {
  EXPECT_THAT(ChooseBackend({.fabric = "verbs"}).status(), StatusIs(kInvalid, HasSubstr("verbs")));
  EXPECT_THAT(ChooseBackend({.fabric = "sim", .provider = "tcp"}).status(),
              StatusIs(kInvalid, HasSubstr("--provider=tcp")));
  EXPECT_THAT(ChooseBackend({.fabric = "sim", .profile = "p9"}).status(),
              StatusIs(kInvalid, AllOf(HasSubstr("p9"), HasSubstr("small, p5"))));
}

#ifdef DRYDOCK_HAVE_LIBFABRIC
TEST(BackendChoiceTest, NamedProviderImpliesLibfabric) {
  ASSERT_OK_AND_ASSIGN(const auto choice, ChooseBackend({.provider = "tcp"}));
  EXPECT_FALSE(choice.simulated);
  EXPECT_THAT(std::string(choice.fabric->description()), HasSubstr("tcp"));
  EXPECT_THAT(ChooseBackend({.provider = "nope"}).status(),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("nope"), HasSubstr("tcp"))));
  EXPECT_THAT(ChooseBackend({.fabric = "libfabric"}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("efa")));
}
#else
TEST(BackendChoiceTest, ProviderWithoutLibfabricSaysWhatToInstall) {
  EXPECT_THAT(ChooseBackend({.provider = "tcp"}).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("libfabric-dev")));
}
#endif

TEST(BackendChoiceTest, NicsAreFoundByName) {
  sim::World world(1, **sim::FindProfile("small"));
  const auto fabric = sim::OpenSimFabric(world, world.AddNode("node"));
  EXPECT_THAT(FindNic(*fabric, ""), IsOkAndHolds(0u));
  EXPECT_THAT(FindNic(*fabric, "rdmap147s0"), IsOkAndHolds(1u));
  EXPECT_THAT(FindNic(*fabric, "eth0"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("rdmap79s0, rdmap147s0")));
}

}  // namespace
}  // namespace apps
