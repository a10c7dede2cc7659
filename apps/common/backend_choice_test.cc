#include "drydock/apps/common/backend_choice.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "drydock/apps/common/nic_choice.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(BackendChoiceTest, SimulatorTakesItsProfile) {
  ASSERT_OK_AND_ASSIGN(const auto choice, ChooseBackend({.fabric = "sim", .profile = "p5"}));
  EXPECT_TRUE(choice.simulated);
  EXPECT_EQ(choice.profile->nics.size(), 32u);
  EXPECT_EQ(choice.reason, "");
}

// On any machine, the choice is one that the reason explains.
TEST(BackendChoiceTest, AutoSaysWhichWorldItChoseAndWhy) {
  ASSERT_OK_AND_ASSIGN(const auto choice, ChooseBackend({}));
  if (choice.simulated) {
    EXPECT_EQ(choice.profile->name, "small");
    EXPECT_THAT(choice.reason,
                AnyOf("no EFA NIC here", "no usable libfabric here", "built without libfabric"));
  } else {
    EXPECT_EQ(choice.reason, "an EFA NIC is here");
    EXPECT_EQ(choice.fabric->nics().front().address_format, "FI_ADDR_EFA");
  }
}

TEST(BackendChoiceTest, RefusesWhatDoesNotExistOrGoTogether) {
  EXPECT_THAT(ChooseBackend({.fabric = "verbs"}).status(), StatusIs(kInvalid, HasSubstr("verbs")));
  EXPECT_THAT(ChooseBackend({.fabric = "sim", .provider = "tcp"}).status(),
              StatusIs(kInvalid, HasSubstr("--provider=tcp")));
  EXPECT_THAT(ChooseBackend({.fabric = "sim", .profile = "p9"}).status(),
              StatusIs(kInvalid, AllOf(HasSubstr("p9"), HasSubstr("small"), HasSubstr("p5"))));
}

TEST(BackendChoiceTest, NamedProfileImpliesTheSimulator) {
  ASSERT_OK_AND_ASSIGN(const auto choice, ChooseBackend({.profile = "p5"}));
  EXPECT_TRUE(choice.simulated);
  EXPECT_EQ(choice.profile->name, "p5");
  EXPECT_EQ(choice.reason, "--profile names a simulated machine");
}

// The names are libfabric's, and mean the same here.
TEST(BackendChoiceTest, ProviderNamesTheSimulatedFabric) {
  for (const BackendOptions& world :
       {BackendOptions{.fabric = "sim"}, BackendOptions{.profile = "p4d"}}) {
    for (const SimulatedFabric fabric : SimulatedFabrics()) {
      BackendOptions options = world;
      options.provider = std::string(NameOf(fabric));
      ASSERT_OK_AND_ASSIGN(const auto choice, ChooseBackend(options));
      EXPECT_TRUE(choice.simulated);
      EXPECT_EQ(choice.simulated_fabric, fabric);
      sim::World simulated(1, *choice.profile);
      const auto opened = OpenSimulatedFabric(fabric, simulated, simulated.AddNode("node"));
      EXPECT_EQ(opened->nics().size(), choice.profile->nics.size());
      EXPECT_EQ(opened->nics().front().fabric, options.provider);
    }
    ASSERT_OK_AND_ASSIGN(const auto choice, ChooseBackend(world));
    EXPECT_EQ(choice.simulated_fabric, SimulatedFabric::kEfaDirect);
  }
  for (const char* other : {"tcp", "EFA", "efa-", "efa-direct "}) {
    EXPECT_THAT(ChooseBackend({.fabric = "sim", .provider = other}).status(),
                StatusIs(kInvalid, AllOf(HasSubstr(other), HasSubstr("efa-direct and efa"))));
  }
}

// A feature that a NIC of efa-direct lacks and the software has: the refusal names the flag that
// helps.
TEST(BackendChoiceTest, RefusalNamesTheFabricThatHasIt) {
  using fabric::Capability;
  sim::World world(1, **sim::FindProfile("p4d"));
  sim::Node& node = world.AddNode("node");
  const auto direct = OpenSimulatedFabric(SimulatedFabric::kEfaDirect, world, node);
  const auto efa = OpenSimulatedFabric(SimulatedFabric::kEfa, world, node);
  const fabric::NicInfo& nic = direct->nics().front();
  std::vector<Capability> in_software;
  for (const fabric::CapabilityInfo& row : fabric::CapabilityTable()) {
    const Capability needed[] = {row.capability};
    const absl::Status status = RequireCapabilities(nic, needed);
    if (absl::StrContains(status.message(), "--provider=efa has")) {
      in_software.push_back(row.capability);
    }
  }
  EXPECT_THAT(in_software, Contains(Capability::kRemoteWrite));
  for (const Capability capability : in_software) {
    EXPECT_TRUE(efa->nics().front().capabilities.Has(capability));
    EXPECT_FALSE(nic.capabilities.Has(capability));
    const Capability needed[] = {capability};
    EXPECT_TRUE(RequireCapabilities(efa->nics().front(), needed).ok());
  }
  const Capability both[] = {Capability::kRemoteWrite, Capability::kWriteOrder};
  EXPECT_THAT(RequireCapabilities(nic, both),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("remote_write"), Not(HasSubstr("--provider")))));
}

TEST(BackendChoiceTest, ProfilesDoNotGoWithLibfabric) {
  EXPECT_THAT(ChooseBackend({.provider = "tcp", .profile = "p5"}).status(),
              StatusIs(kInvalid, AllOf(HasSubstr("--profile=p5"), HasSubstr("--provider=tcp"))));
  EXPECT_THAT(ChooseBackend({.fabric = "libfabric", .profile = "p5"}).status(),
              StatusIs(kInvalid, HasSubstr("--fabric=libfabric")));
}

#ifdef DRYDOCK_HAVE_LIBFABRIC
TEST(BackendChoiceTest, ProvidersAreListedOnceEachWithTheirNics) {
  ASSERT_OK_AND_ASSIGN(const auto offers, ListProviders());
  std::set<std::string> names;
  for (const ProviderOffer& offer : offers) {
    EXPECT_TRUE(names.insert(offer.name).second) << offer.name << " comes twice";
    EXPECT_THAT(offer.name, Not(HasSubstr(";")));
    EXPECT_EQ(offer.nics > 0, ChooseBackend({.provider = offer.name}).ok()) << offer.name;
    EXPECT_EQ(offer.nics > 0, !offer.layered.empty()) << offer.name;
  }
  EXPECT_THAT(names, Contains("tcp"));
}

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
TEST(BackendChoiceTest, ProvidersCannotBeListedWithoutLibfabric) {
  EXPECT_THAT(ListProviders().status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("libfabric-dev")));
}

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
}  // namespace drydock::apps
