// Findings as text and as JSON: made-up NICs, and the machine that was recorded.

#include "drydock/apps/info/report.h"

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "drydock/apps/info/limit_table.h"
#include "drydock/sim/profile/profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::info {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

fabric::NicInfo MadeUpNic(const std::string& name) {
  fabric::NicInfo nic;
  nic.name = name;
  nic.domain = name + "-rdm";
  nic.provider = "efa";
  nic.fabric = "efa-direct";
  nic.pci_address = "0000:4f:00.0";
  nic.vendor_device_id = "1d0f:efa1";
  nic.address_format = "FI_ADDR_EFA";
  nic.numa_node = 1;
  nic.link_gbps = 200;
  nic.link_state = fabric::LinkState::kUp;
  nic.limits.send_queue_depth = 4096;
  nic.limits.max_message_bytes = 8928;
  nic.limits.max_rma_bytes = 1 << 30;
  nic.capabilities = {fabric::Capability::kMessages, fabric::Capability::kRemoteRead};
  return nic;
}

Report MadeUpReport() {
  Report report;
  report.fabric = "made up";
  report.nics = {MadeUpNic("nic0"), MadeUpNic("nic1")};
  return report;
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string Limit(const std::string& name, const fabric::Limits& limits) {
  for (const LimitRow& row : LimitTable()) {
    if (row.name == name) return FormatLimit(row, limits);
  }
  return "no such limit";
}

// ---- Limits ----

// Each field holds its own number, so that a row that reads another field shows.
TEST(LimitTableTest, EveryRowReadsItsOwnField) {
  const fabric::Limits limits = {.address_bytes = 1,
                                 .send_queue_depth = 2,
                                 .receive_queue_depth = 3,
                                 .completion_queue_depth = 4,
                                 .max_message_bytes = 5,
                                 .max_rma_bytes = 6,
                                 .inject_bytes = 7,
                                 .inject_rma_bytes = 8,
                                 .multi_receive_bytes = 9,
                                 .datagram_bytes = 10,
                                 .datagram_prefix_bytes = 11,
                                 .send_segments = 12,
                                 .receive_segments = 13,
                                 .rma_segments = 14,
                                 .mtu_bytes = 15,
                                 .key_bytes = 16,
                                 .immediate_bytes = 17,
                                 .max_endpoints = 18,
                                 .max_completion_queues = 19,
                                 .max_memory_regions = 20};
  std::set<std::string> names;
  std::uint64_t expected = 1;
  for (const LimitRow& row : LimitTable()) {
    EXPECT_EQ(row.value(limits), expected++) << row.name;
    EXPECT_TRUE(names.insert(std::string(row.name)).second) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_FALSE(row.zero.empty()) << row.name;
  }
  EXPECT_EQ(expected, 21u);
}

TEST(LimitTableTest, ValuesSayTheirUnitAndWhatZeroMeans) {
  fabric::Limits limits;
  EXPECT_EQ(Limit("address_bytes", limits), "varies");
  EXPECT_EQ(Limit("max_rma_bytes", limits), "none");
  EXPECT_EQ(Limit("mtu_bytes", limits), "not told");
  EXPECT_EQ(Limit("max_memory_regions", limits), "not told");
  limits.max_rma_bytes = 1 << 30;
  limits.max_message_bytes = 8928;
  limits.send_queue_depth = 4096;
  EXPECT_EQ(Limit("max_rma_bytes", limits), "1 GiB");
  EXPECT_EQ(Limit("max_message_bytes", limits), "8928 B (8.7 KiB)");
  EXPECT_EQ(Limit("send_queue_depth", limits), "4096");
  limits.max_message_bytes = fabric::Limits::kUnlimited;
  EXPECT_EQ(Limit("max_message_bytes", limits), "no limit");
}

// ---- For a person ----

TEST(ReportTest, NicsHaveOneLineEach) {
  const std::string text = FormatReport(MadeUpReport());
  EXPECT_THAT(text, HasSubstr("fabric   made up\n"));
  EXPECT_THAT(text, ContainsRegex("nic0 +0000:4f:00.0 +1 +200 +up +efa-direct +efa\n"));
  EXPECT_THAT(text, ContainsRegex("nic1 +0000:4f:00.0 +1 +200 +up +efa-direct +efa\n"));
}

TEST(ReportTest, SaysWhichWorldAndWhy) {
  Report report = MadeUpReport();
  EXPECT_THAT(FormatReport(report), AllOf(Not(HasSubstr("because")), Not(HasSubstr("profile"))));
  report.reason = "no EFA NIC here";
  report.profile = "p5";
  report.profile_description = "a large machine";
  EXPECT_THAT(FormatReport(report), AllOf(HasSubstr("because  no EFA NIC here\n"),
                                          HasSubstr("profile  p5 (a large machine)\n")));
}

TEST(ReportTest, WhatIsNotToldIsADash) {
  Report report;
  report.nics.emplace_back();
  report.nics.front().name = "eth0";
  report.nics.front().provider = "tcp";
  EXPECT_THAT(FormatReport(report), ContainsRegex("eth0 +- +- +- +unknown +- +tcp\n"));
}

TEST(ReportTest, EqualLimitsAndCapabilitiesAreShownOnce) {
  const std::string text = FormatReport(MadeUpReport());
  EXPECT_THAT(text, AllOf(HasSubstr("Limits (the same for all NICs)\n"),
                          HasSubstr("Capabilities (the same for all NICs)\n")));
  EXPECT_EQ(Count(text, "Limits"), 1);
  EXPECT_EQ(Count(text, "send_queue_depth"), 1);
  EXPECT_THAT(text, ContainsRegex("max_rma_bytes +1 GiB +the longest write or read\n"));
  EXPECT_THAT(text, ContainsRegex("messages +send and receive\n"));
  EXPECT_THAT(text, HasSubstr("not here: remote_write, "));
}

TEST(ReportTest, OneNicIsNamed) {
  Report report = MadeUpReport();
  report.nics.pop_back();
  EXPECT_THAT(FormatReport(report),
              AllOf(HasSubstr("Limits of nic0\n"), HasSubstr("Capabilities of nic0\n")));
}

TEST(ReportTest, DifferentLimitsAndCapabilitiesNameTheirNics) {
  Report report = MadeUpReport();
  report.nics.push_back(MadeUpNic("nic2"));
  report.nics[1].limits.max_memory_regions = 7;
  report.nics[0].capabilities.Add(fabric::Capability::kAtomics);
  const std::string text = FormatReport(report);
  EXPECT_THAT(
      text, AllOf(HasSubstr("Limits of nic0, nic2\n"), HasSubstr("Limits of nic1\n"),
                  HasSubstr("Capabilities of nic0\n"), HasSubstr("Capabilities of nic1, nic2\n")));
}

// A NIC that is there on two fabrics has one line; what differs names the fabric.
TEST(ReportTest, SeveralFabricsOfTheSameNics) {
  Report report = MadeUpReport();
  report.others = {"efa"};
  for (std::size_t i = 0; i < 2; ++i) {
    fabric::NicInfo nic = report.nics[i];
    nic.fabric = "efa";
    nic.limits.max_rma_bytes = 7;
    report.nics.push_back(nic);
  }
  const std::string text = FormatReport(report);
  EXPECT_THAT(text, HasSubstr("or       --provider=efa\n"));
  EXPECT_THAT(text, ContainsRegex("nic0 .*efa-direct, efa +efa\nnic1 .*efa-direct, efa +efa\n"));
  EXPECT_EQ(Count(text, "0000:4f:00.0"), 2);
  EXPECT_THAT(text, AllOf(HasSubstr("Limits on efa-direct (the same for all NICs)\n"),
                          HasSubstr("Limits on efa (the same for all NICs)\n"),
                          HasSubstr("Capabilities (the same for all NICs)\n")));
  report.nics[3].limits.max_rma_bytes = 8;
  EXPECT_THAT(FormatReport(report),
              AllOf(HasSubstr("Limits of nic0 on efa\n"), HasSubstr("Limits of nic1 on efa\n")));
  EXPECT_EQ(Json::parse(FormatJson(report))["others"], Json({"efa"}));
}

TEST(ReportTest, LongListsOfNamesAreBroken) {
  Report report;
  for (int i = 0; i < 40; ++i) report.nics.push_back(MadeUpNic("rdmap" + std::to_string(i)));
  report.nics.back().limits.mtu_bytes = 1;
  const std::string text = FormatReport(report);
  const auto from = text.find("Limits of rdmap0, ");
  ASSERT_NE(from, std::string::npos);
  const std::string heading = text.substr(from, text.find("\n\n", from) - from);
  EXPECT_EQ(Count(heading, "\n"), 3);
  EXPECT_EQ(Count(heading, ", rdmap"), 39 - 1 - 3);
}

// ---- JSON ----

TEST(JsonTest, HoldsEveryFieldRaw) {
  Report report = MadeUpReport();
  report.simulated = true;
  report.profile = "p5";
  report.reason = "because";
  report.nics[0].limits.max_message_bytes = fabric::Limits::kUnlimited;
  const Json json = Json::parse(FormatJson(report));
  EXPECT_EQ(json["fabric"], "made up");
  EXPECT_EQ(json["simulated"], true);
  EXPECT_EQ(json["profile"], "p5");
  EXPECT_EQ(json["reason"], "because");
  ASSERT_EQ(json["nics"].size(), 2u);
  Json nic = json["nics"][0];
  EXPECT_EQ(nic["limits"].size(), LimitTable().size());
  EXPECT_EQ(nic["limits"]["max_message_bytes"], UINT64_MAX);
  EXPECT_EQ(nic["limits"]["max_rma_bytes"], 1073741824u);
  EXPECT_EQ(nic["limits"]["mtu_bytes"], 0u);
  nic.erase("limits");
  EXPECT_EQ(nic, Json({{"name", "nic0"},
                       {"domain", "nic0-rdm"},
                       {"provider", "efa"},
                       {"fabric", "efa-direct"},
                       {"pci_address", "0000:4f:00.0"},
                       {"vendor_device_id", "1d0f:efa1"},
                       {"address_format", "FI_ADDR_EFA"},
                       {"numa_node", 1},
                       {"link_gbps", 200.0},
                       {"link_state", "up"},
                       {"capabilities", {"messages", "remote_read"}}}));
}

TEST(JsonTest, NamesThatAreNotTextDoNotBreakIt) {
  Report report = MadeUpReport();
  report.nics[0].name = "eth\xff\"";
  EXPECT_EQ(Json::parse(FormatJson(report))["nics"][0]["name"], "eth\xef\xbf\xbd\"");
}

// ---- What there is to choose from ----

TEST(ListTest, HoldsEveryProfileAndProvider) {
  const Providers providers = std::vector<ProviderOffer>{
      {.name = "tcp", .layered = "tcp;ofi_rxm", .nics = 2}, {.name = "verbs"}};
  const std::string text = FormatList(providers);
  const Json json = Json::parse(FormatListJson(providers));
  ASSERT_EQ(json["profiles"].size(), sim::Profiles().size());
  for (std::size_t i = 0; i < sim::Profiles().size(); ++i) {
    const sim::Profile& profile = sim::Profiles()[i];
    EXPECT_THAT(text, HasSubstr(profile.description));
    EXPECT_EQ(json["profiles"][i]["name"], profile.name);
    EXPECT_EQ(json["profiles"][i]["nics"], profile.nics.size());
  }
  EXPECT_EQ(json["fabrics"].size(), 2u);
  EXPECT_THAT(text, ContainsRegex("efa-direct +the EFA device as it is"));
  EXPECT_THAT(text, ContainsRegex("tcp +2 +tcp;ofi_rxm\n"));
  EXPECT_THAT(text, ContainsRegex("verbs +0 +-\n"));
  EXPECT_EQ(json["providers"], Json::parse(R"([
      {"name": "tcp", "opened_as": "tcp;ofi_rxm", "nics": 2},
      {"name": "verbs", "opened_as": "", "nics": 0}])"));
}

TEST(ListTest, WithoutLibfabricSaysSo) {
  const Providers providers = absl::UnimplementedError("install libfabric");
  EXPECT_THAT(FormatList(providers), AllOf(HasSubstr("p5.48xlarge"), HasSubstr("install libfab")));
  EXPECT_EQ(Json::parse(FormatListJson(providers))["providers"], Json::array());
}

}  // namespace
}  // namespace drydock::apps::info
