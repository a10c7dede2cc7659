// The program, started as a user starts it.

#include <cstdint>
#include <string>
#include <vector>

#include "drydock/sim/profile/profile.h"
#include "drydock/testing/harness/run_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr drydock::harness::Program kInfo("INFO", "info");

TEST(InfoTest, WithoutFlagsSaysWhichWorldAndWhy) {
  EXPECT_THAT(kInfo.Output({}), AllOf(HasSubstr("fabric "), HasSubstr("because "),
                                      HasSubstr("\nLimits "), HasSubstr("\nCapabilities ")));
}

TEST(InfoTest, EveryProfileIsShownInEveryFormat) {
  for (const drydock::sim::Profile& profile : drydock::sim::Profiles()) {
    const std::string flag = "--profile=" + profile.name;
    const std::string text = kInfo.Output({flag});
    const Json json = Json::parse(kInfo.Output({flag, "--json"}));
    const std::string fi_info = kInfo.Output({flag, "--verbose"});
    EXPECT_THAT(text, HasSubstr(profile.description));
    EXPECT_EQ(json["profile"], profile.name);
    EXPECT_EQ(json["simulated"], true);
    const std::size_t nics = profile.nics.size();
    ASSERT_EQ(json["nics"].size(), 2 * nics);  // efa-direct, then efa
    for (std::size_t i = 0; i < nics; ++i) {
      const drydock::sim::NicProfile& nic = profile.nics[i];
      EXPECT_THAT(text, ContainsRegex(nic.name + " .* efa-direct, efa +sim\n"));
      for (const std::size_t place : {i, nics + i}) {
        EXPECT_EQ(json["nics"][place]["name"], nic.name);
        EXPECT_EQ(json["nics"][place]["pci_address"], nic.pci_address);
        EXPECT_EQ(json["nics"][place]["fabric"], place == i ? "efa-direct" : "efa");
      }
      EXPECT_THAT(fi_info, AllOf(HasSubstr("name: " + nic.name + "-rdm\n"),
                                 HasSubstr("name: " + nic.name + "-dgrm\n")));
    }
  }
}

TEST(InfoTest, BothFabricsOfASimulatedMachine) {
  const std::string text = kInfo.Output({"--profile=p4d"});
  EXPECT_THAT(text, AllOf(HasSubstr("fabric   simulated EFA (efa-direct, profile p4d)\n"),
                          HasSubstr("or       --provider=efa\n"),
                          HasSubstr("\nLimits on efa-direct (the same for all NICs)\n"),
                          HasSubstr("\nLimits on efa (the same for all NICs)\n"),
                          HasSubstr("\nCapabilities on efa (the same for all NICs)\n")));
  EXPECT_EQ(Json::parse(kInfo.Output({"--profile=p4d", "--json"}))["others"], Json({"efa"}));
}

// One fabric is what a program gets that is started with the same flags.
TEST(InfoTest, ProviderChoosesOneFabric) {
  for (const std::string fabric : {"efa-direct", "efa"}) {
    const std::vector<std::string> flags = {"--profile=p4d", "--provider=" + fabric};
    const std::string text = kInfo.Output(flags);
    EXPECT_THAT(text, AllOf(HasSubstr("\nLimits (the same for all NICs)\n"),
                            Not(HasSubstr("or       --provider"))));
    const Json json = Json::parse(kInfo.Output({flags[0], flags[1], "--json"}));
    ASSERT_EQ(json["nics"].size(), 4u);
    EXPECT_EQ(json["others"], Json::array());
    EXPECT_EQ(json["nics"][0]["fabric"], fabric);
    EXPECT_EQ(json["nics"][0]["limits"]["max_rma_bytes"],
              fabric == "efa" ? UINT64_MAX : std::uint64_t{0});
    const std::string fi_info = kInfo.Output({flags[0], flags[1], "--verbose"});
    EXPECT_THAT(fi_info, HasSubstr("        name: " + fabric + "\n"));
    EXPECT_THAT(fi_info, Not(HasSubstr(fabric == "efa" ? " name: efa-direct\n" : " name: efa\n")));
  }
}

// Lines of abcdabcd987/libfabric-efa-demo data/fi_info.yaml.
TEST(InfoTest, P5AsItWasRecorded) {
  const std::string text = kInfo.Output({"--profile=p5", "--format=fi_info", "--nic=rdmap201s0"});
  for (const char* line :
       {"        inject_size: 4096\n        size: 4096\n        iov_limit: 4\n        "
        "rma_iov_limit: 1\n",
        "        size: 8192\n        iov_limit: 4\n",
        "        max_msg_size: 18446744073709551615\n", "        name: rdmap201s0-rdm\n",
        "        mr_cnt: 262144\n", "        cq_cnt: 512\n        ep_cnt: 256\n",
        "        mr_key_size: 4\n        cq_data_size: 4\n", "                bus_id: 201\n",
        "            speed: 100000000000\n            state: FI_LINK_UP\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("rdmap79s0")));
}

// Of one NIC, every limit. efa-direct is not in that recording: these follow the formulas of
// ofiwg/libfabric prov/efa/src/efa_prov_info.c and efa_cq.c.
TEST(InfoTest, LimitsOfOneNicOfP5) {
  const Json json = Json::parse(
      kInfo.Output({"--profile=p5", "--provider=efa-direct", "--nic=rdmap80s0", "--format=json"}));
  ASSERT_EQ(json["nics"].size(), 1u);
  EXPECT_EQ(json["nics"][0]["name"], "rdmap80s0");
  EXPECT_EQ(json["nics"][0]["link_gbps"], 100.0);
  EXPECT_EQ(json["nics"][0]["limits"], Json::parse(R"({
      "address_bytes": 32, "send_queue_depth": 4096, "receive_queue_depth": 8192,
      "completion_queue_depth": 16384, "max_message_bytes": 8928, "max_rma_bytes": 1073741824,
      "inject_bytes": 32, "inject_rma_bytes": 0, "multi_receive_bytes": 0,
      "datagram_bytes": 8968, "datagram_prefix_bytes": 40, "send_segments": 2,
      "receive_segments": 3, "rma_segments": 1, "mtu_bytes": 8928, "key_bytes": 4,
      "immediate_bytes": 4, "max_endpoints": 256, "max_completion_queues": 512,
      "max_memory_regions": 262144})"));
}

TEST(InfoTest, ListNamesTheProfiles) {
  EXPECT_THAT(kInfo.Output({"--list"}), AllOf(HasSubstr("p6-b300"), HasSubstr("--provider=NAME"),
                                              ContainsRegex("\nefa-direct +the EFA device"),
                                              ContainsRegex("\nefa +the EFA provider")));
  const Json json = Json::parse(kInfo.Output({"--list", "--json"}));
  EXPECT_EQ(json["profiles"].size(), drydock::sim::Profiles().size());
  EXPECT_EQ(json["fabrics"][1]["name"], "efa");
}

TEST(InfoTest, HelpTeaches) {
  EXPECT_THAT(kInfo.Output({"--help"}), AllOf(HasSubstr("--profile"), HasSubstr("--format"),
                                              HasSubstr("Examples:"), HasSubstr("info --list")));
}

TEST(InfoTest, RefusesNamesThatDoNotExist) {
  EXPECT_THAT(kInfo.Refusal({"--profile=p9"}), AllOf(HasSubstr("p9"), HasSubstr("p6-b300")));
  EXPECT_THAT(kInfo.Refusal({"--profile=p4d", "--nic=eth9"}),
              AllOf(HasSubstr("eth9"), HasSubstr("rdmap16s27")));
  EXPECT_THAT(kInfo.Refusal({"--provider=nope"}), HasSubstr("nope"));
  EXPECT_THAT(kInfo.Refusal({"--fabric=nope"}), HasSubstr("nope"));
  EXPECT_THAT(kInfo.Refusal({"--profile=p4d", "--provider=nope"}),
              AllOf(HasSubstr("--provider=nope"), HasSubstr("efa-direct and efa")));
  EXPECT_THAT(kInfo.Refusal({"--format=xml"}), AllOf(HasSubstr("xml"), HasSubstr("fi_info")));
  EXPECT_THAT(kInfo.Refusal({"--nope"}), HasSubstr("--nope"));
  EXPECT_THAT(kInfo.Refusal({"nope"}), HasSubstr("nope"));
}

TEST(InfoTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_THAT(kInfo.Refusal({"--json", "--verbose"}),
              AllOf(HasSubstr("json"), HasSubstr("fi_info")));
  EXPECT_THAT(kInfo.Refusal({"--profile=p5", "--provider=tcp"}), HasSubstr("tcp"));
  EXPECT_THAT(kInfo.Refusal({"--list", "--profile=p5"}), HasSubstr("--list"));
  EXPECT_THAT(kInfo.Refusal({"--list", "--verbose"}), HasSubstr("--list"));
}

#ifdef DRYDOCK_HAVE_LIBFABRIC
TEST(InfoTest, RealProvidersInEveryFormat) {
  for (const char* provider : {"tcp", "shm"}) {
    const std::string flag = std::string("--provider=") + provider;
    const std::string text = kInfo.Output({flag});
    EXPECT_THAT(text, AllOf(HasSubstr("libfabric"), HasSubstr("\nLimits ")));
    EXPECT_THAT(text, Not(HasSubstr("profile")));
    const Json json = Json::parse(kInfo.Output({flag, "--json"}));
    EXPECT_EQ(json["simulated"], false);
    EXPECT_EQ(json["profile"], "");
    ASSERT_FALSE(json["nics"].empty());
    const std::string prov_name = json["nics"][0]["provider"];
    EXPECT_THAT(prov_name, HasSubstr(provider));
    EXPECT_THAT(kInfo.Output({flag, "--verbose"}),
                HasSubstr("        prov_name: " + prov_name + "\n"));
  }
}

TEST(InfoTest, ListNamesTheProviders) {
  EXPECT_THAT(kInfo.Output({"--list"}),
              AllOf(ContainsRegex("\ntcp +[1-9]"), ContainsRegex("\nshm +[1-9]")));
}
#else
TEST(InfoTest, WithoutLibfabricProvidersAreRefused) {
  EXPECT_THAT(kInfo.Refusal({"--provider=tcp"}), HasSubstr("libfabric-dev"));
}
#endif

}  // namespace
