// A machine that is simulated is one for every program that takes its name.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/testing/harness/subprocess.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace {

using ::drydock::testing_matchers::IsOk;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class EveryMachineTest : public ::testing::TestWithParam<const drydock::sim::Profile*> {
 protected:
  static drydock::harness::ProcessEnd Run(const char* program, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), drydock::harness::ProgramPath(program));
    absl::StatusOr<drydock::harness::ProcessEnd> end = drydock::harness::Subprocess::Run(arguments);
    EXPECT_THAT(end, IsOk());
    return end.ok() ? *std::move(end) : drydock::harness::ProcessEnd();
  }
  const drydock::sim::Profile& profile() const { return *GetParam(); }
  // What a person would type: the name of the instance type, if it is one.
  std::string type() const {
    return profile().aliases.empty() ? profile().name : profile().aliases.front();
  }
};

INSTANTIATE_TEST_SUITE_P(Profiles, EveryMachineTest, ::testing::ValuesIn([] {
                           std::vector<const drydock::sim::Profile*> all;
                           for (const drydock::sim::Profile& profile : drydock::sim::Profiles()) {
                             all.push_back(&profile);
                           }
                           return all;
                         }()),
                         [](const auto& parameter) {
                           std::string name = parameter.param->name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EveryMachineTest, InfoListsItsNics) {
  const drydock::harness::ProcessEnd end = Run("INFO", {"--profile=" + type(), "--json"});
  ASSERT_EQ(end.exit_code, 0) << end;
  const Json json = Json::parse(end.out);
  EXPECT_EQ(json["profile"], profile().name);
  EXPECT_EQ(json["unknown"], profile().unknown);
  EXPECT_EQ(json["nics"].size(), 2 * profile().nics.size());  // efa-direct, then efa
  EXPECT_EQ(json["nics"][0]["vendor_device_id"], profile().vendor_device_id);
  EXPECT_EQ(json["nics"][0]["link_gbps"], profile().link_gbps);
}

TEST_P(EveryMachineTest, GpulocSaysWhereItsDevicesAre) {
  const drydock::harness::ProcessEnd end =
      Run("GPULOC", {"--topology=profile:" + type(), "--json"});
  ASSERT_EQ(end.exit_code, 0) << end;
  const Json json = Json::parse(end.out);
  EXPECT_EQ(json["machine"], type());
  EXPECT_EQ(json["nics"].size(), profile().nics.size());
  EXPECT_EQ(json["gpus"].size(), profile().gpus.size());
  std::string source = "profile " + profile().name;
  if (!profile().unknown.empty()) absl::StrAppend(&source, "; unknown: ", profile().unknown);
  EXPECT_EQ(json["source"], source);
}

// Where the machine has no RDMA write, the program says so and names no rate.
TEST_P(EveryMachineTest, WhatifPredictsItsRateOrSaysWhyNot) {
  const drydock::harness::ProcessEnd end = Run("WHATIF", {"--profile=" + type(), "--json"});
  if (profile().limits.max_rma_bytes == 0) {
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(end.err, HasSubstr(profile().name));
    return;
  }
  ASSERT_EQ(end.exit_code, 0) << end;
  const double gbps = Json::parse(end.out)["rows"][0]["predicted_overall_gbps"];
  EXPECT_GT(gbps, 0);
  EXPECT_LE(gbps, profile().link_gbps * static_cast<double>(profile().nics.size()));
}

TEST_P(EveryMachineTest, DoctorPlansForIt) {
  const drydock::harness::ProcessEnd end =
      Run("DOCTOR", {"--only=plan", "--plan-profile=" + type(), "--plan-memory=1MiB", "--json"});
  EXPECT_THAT(end.exit_code, ::testing::Le(1)) << end;
  EXPECT_THAT(end.out, HasSubstr("against " + profile().description));
}

TEST_P(EveryMachineTest, EfaRunIsIt) {
  const drydock::harness::ProcessEnd end =
      Run("EFA_RUN", {"--profile=" + type(), "--", "/bin/true"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.err, HasSubstr(absl::StrCat("profile ", profile().name, " (",
                                              profile().description, "), ", profile().nics.size(),
                                              profile().nics.size() == 1 ? " NIC," : " NICs,")));
}

TEST(MachinesTest, HelpOfEfaRunNamesAllOfThem) {
  const absl::StatusOr<drydock::harness::ProcessEnd> end =
      drydock::harness::Subprocess::Run({drydock::harness::ProgramPath("EFA_RUN"), "--help"});
  ASSERT_THAT(end, IsOk());
  for (const drydock::sim::Profile& profile : drydock::sim::Profiles()) {
    EXPECT_THAT(end->out, HasSubstr(profile.name));
  }
}

}  // namespace
