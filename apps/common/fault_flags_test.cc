#include "drydock/apps/common/fault_flags.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/flags/reflection.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(FaultFlagsTest, WithoutTheFlagThereIsNothing) {
  ASSERT_OK_AND_ASSIGN(const auto faults, FaultRun::FromFlags(1));
  EXPECT_EQ(faults, nullptr);
}

TEST(FaultFlagsTest, FlagNamesTheFile) {
  const absl::FlagSaver saver;
  std::string error;
  ASSERT_TRUE(absl::FindCommandLineFlag("faults")->ParseFrom(
      WriteFile("plan.json", R"({"rules": []})"), &error));
  ASSERT_OK_AND_ASSIGN(const auto faults, FaultRun::FromFlags(1));
  ASSERT_NE(faults, nullptr);
  EXPECT_THAT(faults->Verify(), IsOk());
}

TEST(FaultFlagsTest, FilesThatAreNoPlanAreRefused) {
  EXPECT_THAT(FaultRun::Load("/nowhere/plan.json", 1).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "--faults=/nowhere/plan.json: no such file, or not readable"));
  EXPECT_THAT(FaultRun::Load(::testing::TempDir(), 1).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not a file")));
  EXPECT_THAT(FaultRun::Load(WriteFile("long.json", std::string((1 << 20) + 1, ' ')), 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, EndsWith("longer than 1 MiB")));
  EXPECT_THAT(FaultRun::Load(WriteFile("bad.json", R"({"rules": [{"fault": "x"}]})"), 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith("--faults="), HasSubstr("rule 1: fault is \"x\""))));
}

TEST(FaultFlagsTest, RuleForTheDeviceIsRefused) {
  EXPECT_THAT(
      FaultRun::Load(WriteFile("device.json", R"({"rules": [{"fault": "packet_loss"}]})"), 1)
          .status(),
      StatusIs(absl::StatusCode::kUnimplemented,
               EndsWith("rule 1 (packet_loss): packet_loss is applied inside the simulated NIC, "
                        "which this run does not have")));
}

TEST(FaultFlagsTest, DeviceTakesWhatItApplies) {
  using fabric::faults::FaultsOf;
  using fabric::faults::Layer;
  const std::string path = WriteFile("layers.json", R"({"rules": [
      {"fault": "packet_loss"}, {"fault": "short_read"}, {"fault": "spurious_wake"}]})");
  ASSERT_OK_AND_ASSIGN(const auto faults, FaultRun::Load(path, 1, FaultsOf(Layer::kDevice)));
  const auto report = faults->engine()->Report();
  EXPECT_EQ(report[0].layer, Layer::kDevice);
  EXPECT_EQ(report[1].layer, Layer::kDevice);
  EXPECT_EQ(report[2].layer, Layer::kDecorator);
}

TEST(FaultFlagsTest, TableTellsWhatFired) {
  ASSERT_OK_AND_ASSIGN(const auto faults, FaultRun::Load(WriteFile("open.json", R"({"rules": [
      {"name": "domain", "fault": "open_domain_fails", "when": {"nth": 2}},
      {"name": "peer", "fault": "insert_peer_fails", "expect_fired": {"min": 1, "max": 2}}]})"),
                                                         1));
  sim::World world(1, **sim::FindProfile("small"));
  ASSERT_OK_AND_ASSIGN(const auto fabric,
                       faults->Wrap(sim::OpenSimFabric(world, world.AddNode("one")), world));
  EXPECT_THAT(fabric->OpenDomain(0).status(), IsOk());
  EXPECT_THAT(fabric->OpenDomain(0).status(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(faults->Table(),
            "rule    fault              eligible  fired  expected\n"
            "------  -----------------  --------  -----  ---------\n"
            "domain  open_domain_fails         2      1  1 or more\n"
            "peer    insert_peer_fails         0      0  1 to 2\n");
  EXPECT_THAT(faults->Verify(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       EndsWith("rule 2 (peer), insert_peer_fails, never fired: 0 of 0 eligible "
                                "events, expected 1 to 2")));
}

}  // namespace
}  // namespace drydock::apps
