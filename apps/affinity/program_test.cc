// The program, started as a user starts it, and as its README shows it.

#include <fstream>
#include <string>
#include <vector>

#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/run_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr drydock::harness::Program kAffinity("AFFINITY", "affinity");

// The link between the nodes of this profile carries half of what one NIC does.
TEST(AffinityTest, FarCostsRateAndTimeAndNoneSomeOfBoth) {
  const Json json = Json::parse(kAffinity.Output({"--profile=small", "--pages=32", "--json"}));
  ASSERT_EQ(json["policies"].size(), 3u);
  const Json& near = json["policies"][0];
  const Json& far = json["policies"][1];
  const Json& none = json["policies"][2];
  EXPECT_EQ(json["simulated"], true);
  EXPECT_EQ(json["numa_link_gbytes_per_s"], 6);
  EXPECT_GT(near["gbps"], 160);
  for (const Json& nic : far["nics"]) EXPECT_LT(nic["gbps"], 48);
  EXPECT_LT(far["gbps"], none["gbps"]);
  EXPECT_LT(none["gbps"], near["gbps"]);
  // Seven crossings of 50 ns: doorbell and completion twice each, a read twice, a write once.
  const double far_takes = far["us_per_write"].get<double>() - near["us_per_write"].get<double>();
  EXPECT_NEAR(far_takes, 0.35, 0.05);
}

TEST(AffinityTest, TheSoftwareProtocolAndSlowerMachinesWorkToo) {
  const std::string text = kAffinity.Output(
      {"--profile=p4d", "--provider=efa", "--nics=1", "--pages=2", "--policy=near"});
  EXPECT_THAT(text, AllOf(StartsWith("fabric    simulated efa, two p4d.24xlarge"),
                          HasSubstr("rdmap16s27"), HasSubstr("leave out --policy")));
}

TEST(AffinityTest, OneNicCanBeNamed) {
  const Json json = Json::parse(kAffinity.Output({"--nic=rdmap201s0", "--pages=4", "--json"}));
  ASSERT_EQ(json["policies"][1]["nics"].size(), 1u);
  EXPECT_EQ(json["policies"][0]["nics"][0]["cpus"], "93-95,189-191");
  EXPECT_EQ(json["policies"][1]["nics"][0]["memory_node"], 0);
}

#if defined(DRYDOCK_HAVE_LIBFABRIC) && defined(DRYDOCK_HAVE_HWLOC)
TEST(AffinityTest, RealFabricsAreMeasured) {
  const Json json = Json::parse(kAffinity.Output({"--provider=tcp", "--pages=20", "--json"}));
  EXPECT_EQ(json["simulated"], false);
  const std::size_t policies = json["numa_nodes"] > 1 ? 3 : 2;
  ASSERT_EQ(json["policies"].size(), policies);
  for (const Json& policy : json["policies"]) {
    EXPECT_GT(policy["gbps"], 0);
    EXPECT_GT(policy["us_per_write"], 0);
  }
  if (policies == 3) return;
  EXPECT_THAT(json["note"].get<std::string>(), StartsWith("this machine has one NUMA node"));
  EXPECT_THAT(kAffinity.Refusal({"--provider=tcp", "--policy=far"}), HasSubstr("cannot differ"));
}
#endif

TEST(AffinityTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(kAffinity.Refusal({"near"}), HasSubstr("unexpected argument 'near'"));
  EXPECT_THAT(kAffinity.Refusal({"--policy=close"}), HasSubstr("near, far, none or all"));
  EXPECT_THAT(kAffinity.Refusal({"--profile=p9"}), HasSubstr("there are small, p4d, p5"));
  EXPECT_THAT(kAffinity.Refusal({"--profile=p4d"}), HasSubstr("--provider=efa has it in software"));
  EXPECT_THAT(kAffinity.Refusal({"--page-size=0"}), HasSubstr("--page-size=0 is not between"));
  EXPECT_THAT(kAffinity.Refusal({"--window=257"}),
              HasSubstr("--window=257 is not between 1 and 256"));
  EXPECT_THAT(kAffinity.Refusal({"--pages=99999999"}), HasSubstr("--pages=99999999 is more than"));
  EXPECT_THAT(kAffinity.Refusal({"--window=256", "--page-size=16777216"}),
              HasSubstr("4 GiB under way"));
  EXPECT_THAT(kAffinity.Refusal({"--topology=profile:p5"}),
              HasSubstr("--topology is for real NICs"));
  const std::string machine = ::testing::TempDir() + "/machine.xml";
  std::ofstream(machine) << "<topology/>";
  EXPECT_THAT(kAffinity.Refusal({"--topology=" + machine, "--svg=" + machine}),
              HasSubstr("is a file that this run reads"));
  EXPECT_THAT(kAffinity.Refusal({"--nic=eth7"}), HasSubstr("--nic=eth7 does not exist"));
  EXPECT_THAT(kAffinity.Refusal({"--profile=small", "--nics=3"}),
              HasSubstr("--nics=3: the machine has 2 NICs"));
  EXPECT_THAT(kAffinity.Refusal({"--nic=rdmap79s0", "--nics=2"}),
              HasSubstr("--nics asks for several"));
}

TEST(AffinityTest, HelpTeaches) {
  EXPECT_THAT(kAffinity.Output({"--help"}),
              AllOf(StartsWith("affinity: writes pages"), HasSubstr("--policy (default all)\n"),
                    HasSubstr("affinity --nics=32"), HasSubstr("the link between two NUMA nodes"),
                    // Nothing said is the simulator here, whatever NIC there is.
                    HasSubstr("(not for batch and affinity), else the simulator"),
                    HasSubstr("batch and affinity p5")));
}

TEST(AffinityTest, ReadmeShowsWhatIsPrinted) {
  const std::vector<drydock::harness::ReadmeSession> sessions =
      drydock::harness::ReadmeSessions("//apps/affinity");
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_EQ(kAffinity.Output(sessions[0].arguments), sessions[0].output);
}

}  // namespace
