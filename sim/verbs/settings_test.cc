#include "drydock/sim/verbs/settings.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/virtual_time/virtual_time.h"
#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

using Environment = std::map<std::string, std::string>;

absl::StatusOr<Settings> Read(const Environment& environment) {
  return Settings::FromEnvironment([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

// The message of a failure, with its code.
std::string FailureOf(const Environment& environment) {
  return Read(environment).status().ToString();
}

TEST(SettingsTest, NothingIsSet) {
  const absl::StatusOr<Settings> settings = Read({});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->profile, "p5");
  EXPECT_EQ(settings->nics, 0u);
  EXPECT_EQ(settings->seed, 1u);
  EXPECT_EQ(settings->fabric, "default");
  EXPECT_EQ(settings->zone, 0u);
  EXPECT_TRUE(settings->delays);
  EXPECT_EQ(settings->faults, "");
  EXPECT_EQ(settings->trace, "");
  EXPECT_EQ(settings->findings, FindingsMode::kOff);
  EXPECT_EQ(settings->findings_file, "");
}

TEST(SettingsTest, OnlyAProcessInVirtualTimeHasARecord) {
  EXPECT_EQ(Read({{"DRYDOCK_EFA_RECORD", "/a"}})->record, "");
  EXPECT_EQ(Read({{"DRYDOCK_EFA_RECORD", "/a"}, {"DRYDOCK_EFA_VIRTUAL", "0000000017"}})->record,
            "/a");
}

TEST(SettingsTest, EverythingIsSet) {
  const absl::StatusOr<Settings> settings = Read({{"DRYDOCK_EFA_PROFILE", "small"},
                                                  {"DRYDOCK_EFA_NICS", "2"},
                                                  {"DRYDOCK_EFA_SEED", "18446744073709551615"},
                                                  {"DRYDOCK_EFA_FABRIC", "My_net-7"},
                                                  {"DRYDOCK_EFA_ZONE", "3"},
                                                  {"DRYDOCK_EFA_DELAYS", "off"},
                                                  {"DRYDOCK_EFA_FAULTS", "/plans/a b.json"},
                                                  {"DRYDOCK_EFA_TRACE", "out.json"},
                                                  {"DRYDOCK_EFA_FINDINGS", "fail"},
                                                  {"DRYDOCK_EFA_FINDINGS_FILE", "found.json"}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->profile, "small");
  EXPECT_EQ(settings->nics, 2u);
  EXPECT_EQ(settings->seed, UINT64_MAX);
  EXPECT_EQ(settings->fabric, "My_net-7");
  EXPECT_EQ(settings->zone, 3u);
  EXPECT_FALSE(settings->delays);
  EXPECT_EQ(settings->faults, "/plans/a b.json");
  EXPECT_EQ(settings->trace, "out.json");
  EXPECT_EQ(settings->findings, FindingsMode::kFail);
  EXPECT_EQ(settings->findings_file, "found.json");
}

TEST(SettingsTest, AnEmptyVariableIsAsGoodAsNone) {
  Environment environment;
  for (const char* name : {kProfileVariable, kNicsVariable, kSeedVariable, kFabricVariable,
                           kZoneVariable, kDelaysVariable, kFaultsVariable, kTraceVariable,
                           kFindingsVariable, kFindingsFileVariable, kNetworkVariable, kKeyVariable,
                           kVirtualVariable, kDigestVariable, kRecordVariable, kLimitVariable}) {
    environment[name] = "";
  }
  const absl::StatusOr<Settings> settings = Read(environment);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->profile, "p5");
  EXPECT_EQ(settings->nics, 0u);
  EXPECT_EQ(settings->seed, 1u);
  EXPECT_EQ(settings->fabric, "default");
  EXPECT_EQ(settings->virtual_process, 0);
  EXPECT_EQ(settings->findings, FindingsMode::kOff);
}

TEST(SettingsTest, WhatBecomesOfFindings) {
  EXPECT_EQ(Read({{"DRYDOCK_EFA_FINDINGS", "report"}})->findings, FindingsMode::kReport);
  EXPECT_EQ(Read({{"DRYDOCK_EFA_FINDINGS", "off"}})->findings, FindingsMode::kOff);
  EXPECT_EQ(FailureOf({{"DRYDOCK_EFA_FINDINGS", "loud"}}),
            "INVALID_ARGUMENT: DRYDOCK_EFA_FINDINGS=loud: one of fail, report and off");
}

TEST(SettingsTest, ANumberThatIsNone) {
  const std::map<std::string, std::string> most = {{"DRYDOCK_EFA_NICS", "4294967295"},
                                                   {"DRYDOCK_EFA_SEED", "18446744073709551615"}};
  for (const auto& [name, last] : most) {
    for (const std::string text : {"x", "-1", "1.5", "4 NICs", "18446744073709551616", "0x10"}) {
      EXPECT_EQ(FailureOf({{name.c_str(), text.c_str()}}),
                "INVALID_ARGUMENT: " + name + "=" + text + " is not a number up to " + last);
    }
  }
  EXPECT_EQ(FailureOf({{"DRYDOCK_EFA_NICS", "4294967296"}}),
            "INVALID_ARGUMENT: DRYDOCK_EFA_NICS=4294967296 is not a number up to 4294967295");
}

TEST(SettingsTest, TheNameOfAFabricIsAWord) {
  const std::string longest(32, 'a');
  EXPECT_TRUE(Read({{"DRYDOCK_EFA_FABRIC", longest}}).ok());
  EXPECT_TRUE(Read({{"DRYDOCK_EFA_FABRIC", "job.1234.0"}}).ok());
  for (const std::string& name :
       {longest + "a", std::string("a/b"), std::string("a b"), std::string("."), std::string(".a"),
        std::string("caf\xc3\xa9")}) {
    const std::string failure = FailureOf({{"DRYDOCK_EFA_FABRIC", name}});
    EXPECT_NE(failure.find("INVALID_ARGUMENT: DRYDOCK_EFA_FABRIC=" + name), std::string::npos)
        << failure;
    EXPECT_EQ(failure.find('\n'), std::string::npos) << failure;
  }
}

TEST(SettingsTest, ANetworkHasAPlaceAndAKey) {
  EXPECT_EQ(Read({{"HOME", "/home/a"}})->network, "");
  EXPECT_EQ(Read({{"HOME", "/home/a"}})->key, "");
  const Environment environment{{"DRYDOCK_EFA_NETWORK", "tcp://node1:7471"}, {"HOME", "/home/a"}};
  EXPECT_EQ(Read(environment)->network, "tcp://node1:7471");
  EXPECT_EQ(Read(environment)->key, "/home/a/.drydock-efa-key");
  Environment with_key = environment;
  with_key["DRYDOCK_EFA_KEY"] = "my.key";
  EXPECT_EQ(Read(with_key)->key, "my.key");
  EXPECT_EQ(Read({{"DRYDOCK_EFA_NETWORK", "tcp"},
                  {"HOME", "/"},
                  {"SLURM_STEP_NODELIST", "n[7-9]"},
                  {"SLURM_JOB_ID", "1"}})
                ->network,
            "tcp://n7:20031");
  EXPECT_EQ(
      FailureOf({{"DRYDOCK_EFA_NETWORK", "node1:7471"}, {"HOME", "/"}}),
      "INVALID_ARGUMENT: DRYDOCK_EFA_NETWORK=node1:7471: a network is tcp://HOST:PORT, or tcp "
      "under Slurm or Open MPI 4");
  EXPECT_EQ(FailureOf({{"DRYDOCK_EFA_NETWORK", "tcp"}, {"HOME", "/"}}),
            "NOT_FOUND: DRYDOCK_EFA_NETWORK=tcp: neither Slurm's nor Open MPI 4's environment is "
            "here: name the host and port");
  EXPECT_EQ(FailureOf({{"DRYDOCK_EFA_NETWORK", "tcp"},
                       {"HOME", "/"},
                       {"PRTE_LAUNCHED", "1"},
                       {"PMIX_RANK", "0"}}),
            "NOT_FOUND: DRYDOCK_EFA_NETWORK=tcp: Open MPI 5 does not tell the host: name the host "
            "and port");
  EXPECT_EQ(FailureOf({{"DRYDOCK_EFA_NETWORK", "tcp://node1:7471"}}),
            "INVALID_ARGUMENT: no key file: neither DRYDOCK_EFA_KEY nor HOME is set");
  Environment zoned = environment;
  zoned["DRYDOCK_EFA_ZONE"] = "1";
  EXPECT_EQ(FailureOf(zoned),
            "INVALID_ARGUMENT: DRYDOCK_EFA_ZONE=1: the machines of "
            "DRYDOCK_EFA_NETWORK=tcp://node1:7471 are in one availability zone");
}

TEST(SettingsTest, AllNicsOfAProfileOrTheFirstOnes) {
  Settings settings{.profile = "p5"};
  const absl::StatusOr<Profile> all = settings.MakeProfile();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->name, "p5");
  ASSERT_EQ(all->nics.size(), 32u);

  settings.nics = 4;
  const absl::StatusOr<Profile> four = settings.MakeProfile();
  ASSERT_TRUE(four.ok()) << four.status();
  ASSERT_EQ(four->nics.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(four->nics[i].name, all->nics[i].name);

  settings.nics = 32;
  EXPECT_TRUE(settings.MakeProfile().ok());
  settings.nics = 33;
  EXPECT_EQ(settings.MakeProfile().status().ToString(),
            "INVALID_ARGUMENT: 33 NICs: a machine of profile p5 has 32");
}

TEST(SettingsTest, DelaysAreOnOrOff) {
  EXPECT_TRUE(Read({{"DRYDOCK_EFA_DELAYS", "on"}})->delays);
  EXPECT_TRUE(Read({{"DRYDOCK_EFA_DELAYS", ""}})->delays);
  EXPECT_EQ(FailureOf({{"DRYDOCK_EFA_DELAYS", "0"}}),
            "INVALID_ARGUMENT: DRYDOCK_EFA_DELAYS=0: one of on and off");
  EXPECT_FALSE(Settings{}.MakeProfile()->instant);
  const absl::StatusOr<Profile> without = Settings{.nics = 2, .delays = false}.MakeProfile();
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_TRUE(without->instant);
  EXPECT_EQ(without->nics.size(), 2u);
}

TEST(SettingsTest, AProfileHasOtherNames) {
  const absl::StatusOr<Profile> profile = Settings{.profile = "p5.48xlarge"}.MakeProfile();
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->name, "p5");
}

TEST(SettingsTest, AProfileThatIsNotThere) {
  const absl::Status status = Settings{.profile = "p7"}.MakeProfile().status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_NE(status.message().find("p7"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("small"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace drydock::sim::verbs
