// The profiles are consistent, and that of p5 has the values that a p5 reported.

#include "drydock/sim/profile/profile.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Profile& Find(const char* name) { return **FindProfile(name); }

double TotalGbps(const Profile& profile) { return profile.link_gbps * profile.nics.size(); }

// Names of the NICs on the GPU's switch.
std::vector<std::string> NearestNics(const Profile& profile, std::size_t gpu) {
  std::vector<std::string> names;
  for (const NicProfile& nic : profile.nics) {
    if (nic.pcie_switch == profile.gpus[gpu].pcie_switch) names.push_back(nic.name);
  }
  return names;
}

std::vector<std::string> GpuAddresses(const Profile& profile) {
  std::vector<std::string> addresses;
  for (const GpuProfile& gpu : profile.gpus) addresses.push_back(gpu.pci_address);
  return addresses;
}

// ---- Every profile ----

class EveryProfileTest : public ::testing::TestWithParam<const Profile*> {
 protected:
  const Profile& profile() const { return *GetParam(); }
  const DeviceAttributes& device() const { return GetParam()->device; }
};

INSTANTIATE_TEST_SUITE_P(Profiles, EveryProfileTest, ::testing::ValuesIn([] {
                           std::vector<const Profile*> all;
                           for (const Profile& profile : Profiles()) all.push_back(&profile);
                           return all;
                         }()),
                         [](const auto& parameter) {
                           std::string name = parameter.param->name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// docs/fidelity.md says them to its readers.
TEST_P(EveryProfileTest, TimesThatNobodyHasPublishedAreTheDocumentedOnes) {
  EXPECT_EQ(profile().rnr_delay, std::chrono::microseconds(50));
  EXPECT_EQ(profile().unresponsive_timeout, std::chrono::seconds(2));
  EXPECT_EQ(profile().unreachable_timeout, std::chrono::seconds(2));
}

TEST_P(EveryProfileTest, DevicesHaveTheirOwnNamesAndAddresses) {
  std::set<std::string> names;
  std::set<std::string> addresses;
  for (const NicProfile& nic : profile().nics) {
    EXPECT_TRUE(names.insert(nic.name).second) << nic.name;
    EXPECT_TRUE(addresses.insert(nic.pci_address).second) << nic.pci_address;
  }
  for (const GpuProfile& gpu : profile().gpus) {
    EXPECT_TRUE(addresses.insert(gpu.pci_address).second) << gpu.pci_address;
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_EQ(gpu.vendor_device_id.size(), 9u) << gpu.vendor_device_id;
  }
  EXPECT_FALSE(names.empty());
}

TEST_P(EveryProfileTest, NicNamesAreTheirPciAddressesInDecimal) {
  for (const NicProfile& nic : profile().nics) {
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    ASSERT_EQ(
        std::sscanf(nic.pci_address.c_str(), "%4x:%2x:%2x.%1x", &domain, &bus, &slot, &function), 4)
        << nic.pci_address;
    EXPECT_EQ(nic.pci_address, absl::StrFormat("%04x:%02x:%02x.%x", domain, bus, slot, function));
    EXPECT_EQ(nic.name, absl::StrCat("rdmap", bus, "s", slot));
  }
}

TEST_P(EveryProfileTest, DevicesAreInTheOrderOfTheirAddresses) {
  const auto by_address = [](const auto& a, const auto& b) {
    return a.pci_address < b.pci_address;
  };
  EXPECT_TRUE(std::is_sorted(profile().nics.begin(), profile().nics.end(), by_address));
  EXPECT_TRUE(std::is_sorted(profile().gpus.begin(), profile().gpus.end(), by_address));
}

// A place that was not published is not made up.
TEST_P(EveryProfileTest, UnknownPlacesAreSaidToBe) {
  bool unknown = false;
  for (const NicProfile& nic : profile().nics) {
    unknown = unknown || nic.pcie_switch < 0 || nic.numa_node < 0;
  }
  for (const GpuProfile& gpu : profile().gpus) {
    unknown = unknown || gpu.pcie_switch < 0 || gpu.numa_node < 0;
  }
  EXPECT_EQ(unknown, !profile().unknown.empty()) << profile().unknown;
  EXPECT_FALSE(profile().numa_cpus.empty());
}

TEST_P(EveryProfileTest, EverySwitchHasNicsAndGpusOfOneNumaNode) {
  if (!profile().unknown.empty()) GTEST_SKIP() << "unknown: " << profile().unknown;
  struct Switch {
    std::size_t nics = 0;
    std::size_t gpus = 0;
    std::set<int> numa_nodes;
  };
  std::map<int, Switch> switches;
  for (const NicProfile& nic : profile().nics) {
    ++switches[nic.pcie_switch].nics;
    switches[nic.pcie_switch].numa_nodes.insert(nic.numa_node);
  }
  for (const GpuProfile& gpu : profile().gpus) {
    ++switches[gpu.pcie_switch].gpus;
    switches[gpu.pcie_switch].numa_nodes.insert(gpu.numa_node);
  }
  EXPECT_EQ(switches.begin()->first, 0);
  EXPECT_EQ(switches.rbegin()->first, static_cast<int>(switches.size()) - 1);
  EXPECT_EQ(switches.size(), profile().pcie_switches.size());
  std::map<int, int> switches_of_node;
  std::set<std::size_t> gpus;  // on a switch that has any
  for (const auto& [number, contents] : switches) {
    EXPECT_EQ(contents.nics * switches.size(), profile().nics.size()) << "switch " << number;
    if (contents.gpus > 0) gpus.insert(contents.gpus);
    ASSERT_EQ(contents.numa_nodes.size(), 1u) << "switch " << number;
    ++switches_of_node[*contents.numa_nodes.begin()];
  }
  EXPECT_EQ(gpus.size(), 1u);
  ASSERT_EQ(switches_of_node.size(), 2u);
  EXPECT_EQ(profile().numa_cpus.size(), 2u);
  EXPECT_EQ(switches_of_node[0], switches_of_node[1]);
}

TEST_P(EveryProfileTest, QueuesArePowersOfTwoThatTheDeviceCanHold) {
  for (const fabric::Limits& limits :
       {EfaDirectLimits(profile()), EfaDirectLimits(profile(), MaxInlineBytes(profile())),
        EfaLimits(profile()), DatagramLimits(profile())}) {
    EXPECT_TRUE(std::has_single_bit(limits.send_queue_depth)) << limits.send_queue_depth;
    EXPECT_TRUE(std::has_single_bit(limits.receive_queue_depth)) << limits.receive_queue_depth;
    EXPECT_TRUE(std::has_single_bit(limits.completion_queue_depth));
    EXPECT_GE(limits.send_queue_depth, device().min_sq_depth);
    EXPECT_LE(limits.send_queue_depth, device().max_sq_depth);
    EXPECT_LE(limits.receive_queue_depth * device().max_wr_recv_sges, device().max_rq_depth);
    EXPECT_LE(limits.completion_queue_depth, device().max_cq_depth);
    // One endpoint, with queues of the default size, cannot overrun by its own posts.
    EXPECT_GE(limits.completion_queue_depth, limits.send_queue_depth + limits.receive_queue_depth);
  }
}

TEST_P(EveryProfileTest, WideWorkRequestsHalveTheSendQueueAndAllowInjectedWrites) {
  const fabric::Limits narrow = EfaDirectLimits(profile());
  EXPECT_EQ(narrow.inject_bytes, device().inline_buf_size);
  EXPECT_EQ(narrow.inject_rma_bytes, 0u);
  EXPECT_EQ(WorkRequestBytes(profile(), device().inline_buf_size), 64u);
  if (device().inline_buf_size_ex <= device().inline_buf_size) {
    EXPECT_EQ(MaxInlineBytes(profile()), device().inline_buf_size);
    return;
  }
  const fabric::Limits wide = EfaDirectLimits(profile(), device().inline_buf_size + 1);
  EXPECT_EQ(wide.send_queue_depth * 2, narrow.send_queue_depth);
  EXPECT_EQ(wide.receive_queue_depth, narrow.receive_queue_depth);
  EXPECT_EQ(wide.inject_bytes, device().inline_buf_size + 1);
  EXPECT_EQ(wide.inject_rma_bytes, wide.max_rma_bytes > 0 ? wide.inject_bytes : 0);
  EXPECT_EQ(WorkRequestBytes(profile(), MaxInlineBytes(profile())), 128u);
  EXPECT_EQ(MaxInlineBytes(profile()), 80u);
}

TEST_P(EveryProfileTest, RemoteMemoryAccessNeedsReadAndWrite) {
  const fabric::Limits limits = EfaDirectLimits(profile());
  const bool both = device().rdma_read && device().rdma_write;
  EXPECT_EQ(limits.max_rma_bytes, both ? 1ull << 30 : 0);
  EXPECT_EQ(limits.rma_segments, both ? 1u : 0u);
  EXPECT_EQ(device().rdma_read || device().rdma_write, device().max_rdma_size > 0);
  // The fabric `efa` makes up for it in software.
  EXPECT_EQ(EfaLimits(profile()).max_rma_bytes, fabric::Limits::kUnlimited);
}

TEST_P(EveryProfileTest, BytesLandOnceWhereTheDeviceSaysSo) {
  if (device().data_polling_128) {
    EXPECT_EQ(profile().duplicate_one_in, 0u);
  }
}

TEST_P(EveryProfileTest, PageLimitsAreInOrder) {
  EXPECT_LE(device().max_remote_write_pages, device().max_mr_pages);
  EXPECT_TRUE(std::has_single_bit(device().page_bytes));
  EXPECT_GT(device().max_total_pages, 0u);
}

TEST_P(EveryProfileTest, TimePasses) {
  EXPECT_GT(profile().one_way.fixed, coro::Duration::zero());
  EXPECT_GT(profile().issue_cost, coro::Duration::zero());
  EXPECT_GT(profile().retransmit_delay, coro::Duration::zero());
  EXPECT_GT(profile().paths, 1u);
  EXPECT_GT(profile().path_spread, coro::Duration::zero());
  // An answer that only took long must not be taken for a peer that is gone.
  const coro::Duration slowest = profile().one_way.fixed + profile().one_way.jitter +
                                 profile().one_way.tail + profile().path_spread +
                                 profile().retransmit_delay;
  EXPECT_GT(profile().unresponsive_timeout, 100 * slowest);
  EXPECT_GT(profile().unreachable_timeout, 100 * slowest);
  EXPECT_GE(profile().dma_gbps, profile().link_gbps);
}

TEST_P(EveryProfileTest, LimitsAreThoseOfEfaDirect) {
  const fabric::Limits limits = EfaDirectLimits(profile());
  EXPECT_EQ(profile().limits.send_queue_depth, limits.send_queue_depth);
  EXPECT_EQ(profile().limits.receive_queue_depth, limits.receive_queue_depth);
  EXPECT_EQ(profile().limits.completion_queue_depth, limits.completion_queue_depth);
  EXPECT_EQ(profile().limits.max_rma_bytes, limits.max_rma_bytes);
  EXPECT_EQ(profile().limits.max_message_bytes, device().mtu);
  EXPECT_EQ(profile().limits.max_endpoints, device().max_qp);
}

// ---- Single machines ----

TEST(ProfileTest, SmallHasShortQueuesAndBothSizesOfWorkRequests) {
  const fabric::Limits& limits = Find("small").limits;
  EXPECT_EQ(&Find("small"), &Profiles().front());
  EXPECT_EQ(limits.send_queue_depth, 64u);
  EXPECT_EQ(limits.receive_queue_depth, 64u);
  EXPECT_EQ(limits.completion_queue_depth, 256u);
  EXPECT_EQ(MaxInlineBytes(Find("small")), 80u);
  EXPECT_EQ(Find("small").nics.size(), 2u);
  EXPECT_GT(Find("small").duplicate_one_in, 0u);
  EXPECT_GT(Find("small").retransmit_one_in, 0u);
}

// EC2's instance types: NICs, their rates, and the sums of these.
TEST(ProfileTest, RatesAddUpToThoseOfTheInstanceTypes) {
  EXPECT_EQ(TotalGbps(Find("p4d")), 4 * 100);
  EXPECT_EQ(TotalGbps(Find("p5")), 32 * 100);
  EXPECT_EQ(TotalGbps(Find("p5en")), 16 * 200);
  EXPECT_EQ(TotalGbps(Find("p6-b200")), 8 * 400);
  EXPECT_EQ(TotalGbps(Find("p6-b300")), 16 * 400);
  EXPECT_EQ(Find("p5").nics.size(), 32u);
  EXPECT_EQ(Find("p5en").nics.size(), 16u);
  EXPECT_EQ(Find("p6-b200").nics.size(), 8u);
  EXPECT_EQ(Find("p6-b300").nics.size(), 16u);
  const struct {
    const char* name;
    double nics;
    double gbps;
    std::size_t gpus;
    const char* vendor_device_id;
    bool read, write;
  } others[] = {{"p4de", 4, 400, 8, "1d0f:efa0", true, false},
                {"p5e", 32, 3200, 8, "1d0f:efa1", true, true},
                {"p5-4xlarge", 1, 100, 1, "1d0f:efa1", true, true},
                {"c5n", 1, 100, 0, "1d0f:efa0", false, false},
                {"p3dn", 1, 100, 8, "1d0f:efa0", false, false},
                {"g5", 1, 100, 8, "1d0f:efa0", false, false},
                {"g6", 1, 100, 8, "1d0f:efa1", true, true},
                {"g7e", 4, 1600, 8, "1d0f:efa3", true, true},
                {"trn1", 8, 800, 0, "1d0f:efa1", true, true},
                {"trn2", 16, 3200, 0, "1d0f:efa2", true, true},
                {"p6e-gb200", 16, 3200, 4, "1d0f:efa3", true, true},
                {"hpc7a", 2, 300, 0, "1d0f:efa1", true, true},
                {"c7gn", 1, 200, 0, "1d0f:efa2", true, false},
                {"c8gn", 2, 600, 0, "1d0f:efa3", true, true}};
  for (const auto& other : others) {
    const Profile& profile = Find(other.name);
    EXPECT_EQ(profile.nics.size(), other.nics) << other.name;
    EXPECT_EQ(TotalGbps(profile), other.gbps) << other.name;
    EXPECT_EQ(profile.gpus.size(), other.gpus) << other.name;
    EXPECT_EQ(profile.vendor_device_id, other.vendor_device_id) << other.name;
    EXPECT_EQ(profile.device.rdma_read, other.read) << other.name;
    EXPECT_EQ(profile.device.rdma_write, other.write) << other.name;
  }
}

// aws/aws-ofi-nccl topology/p4de-24xl-topo.xml: the CPU masks, and the GPUs' numbers.
TEST(ProfileTest, P4deIsAP4dWithOtherGpus) {
  const Profile& p4d = Find("p4d");
  const Profile& p4de = Find("p4de");
  EXPECT_THAT(GpuAddresses(p4de), GpuAddresses(p4d));
  for (const GpuProfile& gpu : p4d.gpus) EXPECT_EQ(gpu.vendor_device_id, "10de:20b0");
  for (const GpuProfile& gpu : p4de.gpus) EXPECT_EQ(gpu.vendor_device_id, "10de:20b2");
  EXPECT_THAT(p4de.numa_cpus, ElementsAre("0-23,48-71", "24-47,72-95"));
  EXPECT_EQ(p4d.numa_cpus, p4de.numa_cpus);
}

TEST(ProfileTest, P5eIsAP5WithOtherGpus) {
  const Profile& p5 = Find("p5");
  const Profile& p5e = Find("p5e");
  EXPECT_THAT(GpuAddresses(p5e), GpuAddresses(p5));
  for (const GpuProfile& gpu : p5.gpus) EXPECT_EQ(gpu.vendor_device_id, "10de:2330");
  for (const GpuProfile& gpu : p5e.gpus) EXPECT_EQ(gpu.vendor_device_id, "10de:2335");
  EXPECT_EQ(p5e.gpus[0].name, "NVIDIA H200");
  EXPECT_THAT(p5.numa_cpus, ElementsAre("0-47,96-143", "48-95,144-191"));
}

// aws/aws-ofi-nccl tests/unit/fixtures/topology/p6e-gb200/topology.xml,
// tests/unit/topo_fixture.cpp.
TEST(ProfileTest, P6eGb200HasNicsOnSwitchesWithoutAGpu) {
  const Profile& gb200 = Find("p6e-gb200");
  std::vector<std::string> names;
  for (const NicProfile& nic : gb200.nics) names.push_back(nic.name);
  EXPECT_THAT(names, ElementsAre("rdmap39s0", "rdmap40s0", "rdmap54s0", "rdmap55s0", "rdmap61s0",
                                 "rdmap62s0", "rdmap76s0", "rdmap77s0", "rdmap154s0", "rdmap155s0",
                                 "rdmap169s0", "rdmap170s0", "rdmap176s0", "rdmap177s0",
                                 "rdmap191s0", "rdmap192s0"));
  EXPECT_THAT(GpuAddresses(gb200),
              ElementsAre("0000:29:00.0", "0000:3f:00.0", "0000:9c:00.0", "0000:b2:00.0"));
  EXPECT_THAT(NearestNics(gb200, 2), ElementsAre("rdmap154s0", "rdmap155s0"));
  EXPECT_EQ(gb200.gpus[1].numa_node, 0);
  EXPECT_EQ(gb200.gpus[2].numa_node, 1);
}

// ofiwg/libfabric fabtests/pytest/efa/efa_common.py.
TEST(ProfileTest, Trn2HasPairsOfNics) {
  const Profile& trn2 = Find("trn2");
  std::vector<std::string> names;
  for (const NicProfile& nic : trn2.nics) names.push_back(nic.name);
  EXPECT_THAT(names, ElementsAre("rdmap86s0", "rdmap87s0", "rdmap108s0", "rdmap109s0", "rdmap130s0",
                                 "rdmap131s0", "rdmap152s0", "rdmap153s0", "rdmap179s0",
                                 "rdmap180s0", "rdmap201s0", "rdmap202s0", "rdmap223s0",
                                 "rdmap224s0", "rdmap245s0", "rdmap246s0"));
  EXPECT_EQ(trn2.nics[15].pcie_switch, 7);
}

// aws/aws-ofi-nccl topology/g5.48xl-topo.xml; aws/aws-parallelcluster pull request 1320.
TEST(ProfileTest, WhatIsKnownOfG5AndC5n) {
  const Profile& g5 = Find("g5");
  EXPECT_THAT(GpuAddresses(g5),
              ElementsAre("0000:00:16.0", "0000:00:17.0", "0000:00:18.0", "0000:00:19.0",
                          "0000:00:1a.0", "0000:00:1b.0", "0000:00:1c.0", "0000:00:1d.0"));
  EXPECT_EQ(g5.gpus[3].numa_node, 0);
  EXPECT_EQ(g5.gpus[4].numa_node, 1);
  EXPECT_EQ(Find("c5n").nics[0].name, "rdmap0s6");
}

TEST(ProfileTest, P4dHasOneNicForTwoGpusAndReadsOnly) {
  const Profile& p4d = Find("p4d");
  EXPECT_EQ(p4d.vendor_device_id, "1d0f:efa0");
  EXPECT_TRUE(p4d.device.rdma_read);
  EXPECT_FALSE(p4d.device.rdma_write);
  EXPECT_EQ(EfaDirectLimits(p4d).max_rma_bytes, 0u);
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    const char* names[] = {"rdmap16s27", "rdmap32s27", "rdmap144s27", "rdmap160s27"};
    EXPECT_THAT(NearestNics(p4d, gpu), ElementsAre(names[gpu / 2])) << gpu;
  }
  EXPECT_THAT(GpuAddresses(p4d),
              ElementsAre("0000:10:1c.0", "0000:10:1d.0", "0000:20:1c.0", "0000:20:1d.0",
                          "0000:90:1c.0", "0000:90:1d.0", "0000:a0:1c.0", "0000:a0:1d.0"));
  EXPECT_EQ(p4d.nics[1].numa_node, 0);
  EXPECT_EQ(p4d.nics[2].numa_node, 1);
}

// aws/aws-ofi-nccl tests/unit/fixtures/topology/p5en/topology.xml.
TEST(ProfileTest, P5enHasFourNicsForTwoGpus) {
  const Profile& p5en = Find("p5en");
  EXPECT_EQ(p5en.vendor_device_id, "1d0f:efa2");
  std::vector<std::string> names;
  for (const NicProfile& nic : p5en.nics) names.push_back(nic.name);
  EXPECT_THAT(names, ElementsAre("rdmap85s0", "rdmap86s0", "rdmap87s0", "rdmap88s0", "rdmap110s0",
                                 "rdmap111s0", "rdmap112s0", "rdmap113s0", "rdmap135s0",
                                 "rdmap136s0", "rdmap137s0", "rdmap138s0", "rdmap160s0",
                                 "rdmap161s0", "rdmap162s0", "rdmap163s0"));
  EXPECT_THAT(NearestNics(p5en, 2), NearestNics(p5en, 3));
  EXPECT_EQ(NearestNics(p5en, 3).size(), 4u);
  EXPECT_THAT(GpuAddresses(p5en),
              ElementsAre("0000:59:00.0", "0000:5a:00.0", "0000:72:00.0", "0000:73:00.0",
                          "0000:8b:00.0", "0000:8c:00.0", "0000:a4:00.0", "0000:a5:00.0"));
  EXPECT_GT(p5en.duplicate_one_in, 0u);
  EXPECT_FALSE(p5en.device.data_polling_128);
}

// aws/aws-ofi-nccl tests/unit/fixtures/topology/p6-b200/topology.xml.
TEST(ProfileTest, P6B200HasTwoNicsForTwoGpus) {
  const Profile& b200 = Find("p6-b200");
  EXPECT_EQ(b200.vendor_device_id, "1d0f:efa3");
  EXPECT_THAT(NearestNics(b200, 0), ElementsAre("rdmap79s0", "rdmap80s0"));
  EXPECT_THAT(NearestNics(b200, 3), ElementsAre("rdmap96s0", "rdmap97s0"));
  EXPECT_THAT(NearestNics(b200, 4), ElementsAre("rdmap113s0", "rdmap114s0"));
  EXPECT_THAT(NearestNics(b200, 7), ElementsAre("rdmap132s0", "rdmap133s0"));
  EXPECT_THAT(GpuAddresses(b200),
              ElementsAre("0000:51:00.0", "0000:52:00.0", "0000:62:00.0", "0000:63:00.0",
                          "0000:75:00.0", "0000:76:00.0", "0000:86:00.0", "0000:87:00.0"));
}

// aws/aws-ofi-nccl tests/unit/fixtures/topology/p6-b300/topology.xml; the send queue:
// kvcache-ai/Mooncake docs/source/design/transfer-engine/efa_transport.md.
TEST(ProfileTest, P6B300HasTwoNicsForEveryGpuAndAShorterSendQueue) {
  const Profile& b300 = Find("p6-b300");
  EXPECT_EQ(b300.vendor_device_id, "1d0f:efa3");
  EXPECT_EQ(b300.limits.send_queue_depth, 2048u);
  EXPECT_THAT(NearestNics(b300, 0), ElementsAre("rdmap86s0", "rdmap87s0"));
  EXPECT_THAT(NearestNics(b300, 3), ElementsAre("rdmap131s0", "rdmap132s0"));
  EXPECT_THAT(NearestNics(b300, 4), ElementsAre("rdmap146s0", "rdmap147s0"));
  EXPECT_THAT(NearestNics(b300, 7), ElementsAre("rdmap191s0", "rdmap192s0"));
  EXPECT_THAT(GpuAddresses(b300),
              ElementsAre("0000:58:00.0", "0000:67:00.0", "0000:76:00.0", "0000:85:00.0",
                          "0000:94:00.0", "0000:a3:00.0", "0000:b2:00.0", "0000:c1:00.0"));
  EXPECT_EQ(b300.gpus[3].numa_node, 0);
  EXPECT_EQ(b300.gpus[4].numa_node, 1);
}

// ---- p5, as it was recorded: abcdabcd987/libfabric-efa-demo data/fi_info.yaml, which is
// `fi_info -p efa -v` of libfabric 2.0.0 on a p5.48xlarge, and data/lspci.txt ----

TEST(RecordedP5Test, UpstreamPortsOfTheSwitches) {
  std::vector<std::string> ports;
  for (const PcieSwitchProfile& pcie_switch : Find("p5").pcie_switches) {
    ports.push_back(pcie_switch.upstream_port);
  }
  EXPECT_THAT(ports, ElementsAre("0000:45:00.0", "0000:56:00.0", "0000:67:00.0", "0000:78:00.0",
                                 "0000:89:00.0", "0000:9a:00.0", "0000:ab:00.0", "0000:bc:00.0"));
}

TEST(RecordedP5Test, NamesAndPlacesOfTheNics) {
  const Profile& p5 = Find("p5");
  const std::vector<std::vector<std::string>> recorded = {
      {"rdmap79s0", "rdmap80s0", "rdmap81s0", "rdmap82s0"},
      {"rdmap96s0", "rdmap97s0", "rdmap98s0", "rdmap99s0"},
      {"rdmap113s0", "rdmap114s0", "rdmap115s0", "rdmap116s0"},
      {"rdmap130s0", "rdmap131s0", "rdmap132s0", "rdmap133s0"},
      {"rdmap147s0", "rdmap148s0", "rdmap149s0", "rdmap150s0"},
      {"rdmap164s0", "rdmap165s0", "rdmap166s0", "rdmap167s0"},
      {"rdmap181s0", "rdmap182s0", "rdmap183s0", "rdmap184s0"},
      {"rdmap198s0", "rdmap199s0", "rdmap200s0", "rdmap201s0"}};
  EXPECT_EQ(p5.vendor_device_id, "1d0f:efa1");  // vendor_id 0x1d0f, device_id 0xefa1
  EXPECT_EQ(p5.link_gbps, 100);                 // speed: 100000000000
  EXPECT_THAT(GpuAddresses(p5),
              ElementsAre("0000:53:00.0", "0000:64:00.0", "0000:75:00.0", "0000:86:00.0",
                          "0000:97:00.0", "0000:a8:00.0", "0000:b9:00.0", "0000:ca:00.0"));
  ASSERT_EQ(p5.nics.size(), 32u);
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(NearestNics(p5, gpu), recorded[gpu]) << "GPU " << gpu;
    EXPECT_EQ(p5.gpus[gpu].numa_node, gpu < 4 ? 0 : 1);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(p5.nics[4 * gpu + i].name, recorded[gpu][i]);
      EXPECT_EQ(p5.nics[4 * gpu + i].numa_node, gpu < 4 ? 0 : 1);
    }
  }
}

TEST(RecordedP5Test, ReliableEndpointsOfEfa) {
  const Profile& p5 = Find("p5");
  const fabric::Limits limits = EfaLimits(p5);
  EXPECT_EQ(limits.address_bytes, 32u);                          // src_addrlen
  EXPECT_EQ(limits.send_queue_depth, 4096u);                     // fi_tx_attr size
  EXPECT_EQ(limits.inject_bytes, 4096u);                         // fi_tx_attr inject_size
  EXPECT_EQ(limits.send_segments, 4u);                           // fi_tx_attr iov_limit
  EXPECT_EQ(limits.receive_queue_depth, 8192u);                  // fi_rx_attr size
  EXPECT_EQ(limits.receive_segments, 4u);                        // fi_rx_attr iov_limit
  EXPECT_EQ(limits.max_message_bytes, 18446744073709551615ull);  // max_msg_size
  EXPECT_EQ(MaxAtomicBytes(p5), 8776u);                          // max_order_raw_size, war, waw
  EXPECT_EQ(limits.key_bytes, 4u);                               // mr_key_size
  EXPECT_EQ(limits.immediate_bytes, 4u);                         // cq_data_size
  EXPECT_EQ(limits.max_completion_queues, 512u);                 // cq_cnt
  EXPECT_EQ(limits.max_endpoints, 256u);                         // ep_cnt
  EXPECT_EQ(limits.max_memory_regions, 262144u);                 // mr_cnt
}

// Two versions of libfabric tell the MTU differently. 2.0.0, which was recorded, takes the longest
// header of the fabric `efa` off: 8760. The provider of 2.6 tells the port's max_msg_sz, 8928
// (prov/efa/src/efa_prov_info.c), and that is what Limits holds.
TEST(RecordedP5Test, MtuOfOldAndNewLibfabric) {
  const Profile& p5 = Find("p5");
  EXPECT_EQ(MaxPacketPayload(p5), 8760u);
  EXPECT_EQ(EfaLimits(p5).multi_receive_bytes, 8760u);
  EXPECT_EQ(EfaLimits(p5).mtu_bytes, 8928u);
  EXPECT_EQ(EfaDirectLimits(p5).mtu_bytes, 8928u);
}

TEST(RecordedP5Test, DatagramEndpoints) {
  const fabric::Limits limits = DatagramLimits(Find("p5"));
  EXPECT_EQ(limits.send_queue_depth, 4096u);      // fi_tx_attr size
  EXPECT_EQ(limits.inject_bytes, 0u);             // fi_tx_attr inject_size
  EXPECT_EQ(limits.send_segments, 2u);            // fi_tx_attr iov_limit
  EXPECT_EQ(limits.rma_segments, 0u);             // fi_tx_attr rma_iov_limit
  EXPECT_EQ(limits.receive_queue_depth, 8192u);   // fi_rx_attr size
  EXPECT_EQ(limits.receive_segments, 3u);         // fi_rx_attr iov_limit
  EXPECT_EQ(limits.max_message_bytes, 8928u);     // max_msg_size
  EXPECT_EQ(limits.datagram_prefix_bytes, 40u);   // msg_prefix_size
  EXPECT_EQ(limits.datagram_bytes, 8928u + 40u);  // both: the prefix does not count as payload
  EXPECT_EQ(limits.max_rma_bytes, 0u);            // caps without FI_RMA
  EXPECT_EQ(limits.max_completion_queues, 512u);  // cq_cnt
  EXPECT_EQ(limits.max_endpoints, 256u);          // ep_cnt
  EXPECT_EQ(limits.max_memory_regions, 262144u);  // mr_cnt
  EXPECT_EQ(EfaLimits(Find("p5")).datagram_bytes, limits.datagram_bytes);
}

// Not recorded: 2.0.0 has no efa-direct. The formulas of prov/efa/src/efa_prov_info.c.
TEST(ComputedP5Test, EfaDirect) {
  const fabric::Limits limits = EfaDirectLimits(Find("p5"));
  EXPECT_EQ(limits.send_queue_depth, 4096u);
  EXPECT_EQ(limits.receive_queue_depth, 8192u);      // 32768 descriptors, 3 to a receive
  EXPECT_EQ(limits.completion_queue_depth, 16384u);  // 12288 asked for
  EXPECT_EQ(EfaLimits(Find("p5")).completion_queue_depth, 16384u);  // 4096 + 8192 asked for
  EXPECT_EQ(limits.max_message_bytes, 8928u);
  EXPECT_EQ(limits.max_rma_bytes, 1u << 30);
  EXPECT_EQ(limits.inject_bytes, 32u);
  EXPECT_EQ(limits.inject_rma_bytes, 0u);
  EXPECT_EQ(limits.send_segments, 2u);
  EXPECT_EQ(limits.receive_segments, 3u);
  EXPECT_EQ(limits.rma_segments, 1u);
  EXPECT_EQ(limits.multi_receive_bytes, 0u);  // no such receives
  EXPECT_EQ(limits.datagram_bytes, 0u);       // no datagrams
}

// ---- Derivations ----

TEST(DerivationTest, DepthsRoundDownAndCompletionsRoundUp) {
  Profile profile = Find("p5");
  profile.device.max_sq_depth = 5000;
  profile.device.max_llq_size = 1 << 20;
  EXPECT_EQ(EfaDirectLimits(profile).send_queue_depth, 4096u);
  profile.device.max_llq_size = 4095 * 64;  // the ring in device memory is what is short
  EXPECT_EQ(EfaDirectLimits(profile).send_queue_depth, 2048u);
  profile.device.max_rq_depth = 24575;  // one descriptor short of 8192 receives
  EXPECT_EQ(EfaDirectLimits(profile).receive_queue_depth, 4096u);
  EXPECT_EQ(CompletionQueueDepth(profile, 1024), 1024u);
  EXPECT_EQ(CompletionQueueDepth(profile, 1025), 2048u);
  EXPECT_EQ(CompletionQueueDepth(profile, 100000), 32768u);
}

// The example of amzn-drivers kernel/linux/efa/src/efa_admin_cmds_defs.h: 11 units.
TEST(DerivationTest, BatchIsCountedInUnitsOf64Bytes) {
  Profile profile = Find("p5");
  profile.device.max_tx_batch = 11;
  EXPECT_EQ(MaxBatch(profile, 64, 4096), 11u);
  EXPECT_EQ(MaxBatch(profile, 128, 2048), 5u);
  EXPECT_EQ(MaxBatch(profile, 64, 8), 7u);  // never a whole queue
  EXPECT_EQ(MaxBatch(profile, 64, 1), 1u);  // but for the shortest one
  profile.device.max_tx_batch = 0;
  EXPECT_EQ(MaxBatch(profile, 64, 4096), 4095u);
  profile.device.min_sq_depth = 0;
  EXPECT_EQ(MaxBatch(profile, 64, 4096), 65535u);
}

TEST(DerivationTest, EfaDirectWithoutReadOrWriteHasNoRemoteMemoryAccess) {
  Profile profile = Find("p5en");
  profile.device.rdma_write = false;
  EXPECT_EQ(EfaDirectLimits(profile, 80).max_rma_bytes, 0u);
  EXPECT_EQ(EfaDirectLimits(profile, 80).inject_rma_bytes, 0u);
  EXPECT_EQ(EfaDirectLimits(profile, 80).inject_bytes, 80u);
  profile.device.rdma_write = true;
  EXPECT_EQ(EfaDirectLimits(profile, 80).inject_rma_bytes, 80u);
  profile.device.rdma_read = false;
  EXPECT_EQ(EfaDirectLimits(profile).max_rma_bytes, 0u);
}

// ---- Lookup ----

TEST(FindProfileTest, TakesTheNamesOfInstanceTypes) {
  const struct {
    const char* instance_type;
    const char* name;
  } cases[] = {{"p4d.24xlarge", "p4d"},         {"p4de.24xlarge", "p4de"},
               {"p5.48xlarge", "p5"},           {"p5e.48xlarge", "p5e"},
               {"p5.4xlarge", "p5-4xlarge"},    {"p5en.48xlarge", "p5en"},
               {"p6-b200.48xlarge", "p6-b200"}, {"p6-b300.48xlarge", "p6-b300"},
               {"c5n.18xlarge", "c5n"},         {"p3dn.24xlarge", "p3dn"},
               {"g5.48xlarge", "g5"},           {"g6.48xlarge", "g6"},
               {"g7e.48xlarge", "g7e"},         {"trn1.32xlarge", "trn1"},
               {"trn2.48xlarge", "trn2"},       {"p6e-gb200.36xlarge", "p6e-gb200"},
               {"hpc7a.96xlarge", "hpc7a"},     {"c7gn.16xlarge", "c7gn"},
               {"c8gn.48xlarge", "c8gn"}};
  for (const auto& [instance_type, name] : cases) {
    ASSERT_OK_AND_ASSIGN(const Profile* found, FindProfile(instance_type));
    EXPECT_EQ(found->name, name) << instance_type;
  }
}

TEST(FindProfileTest, NoNameIsTakenTwice) {
  std::set<std::string> names;
  for (const Profile& profile : Profiles()) {
    EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
    for (const std::string& alias : profile.aliases) EXPECT_TRUE(names.insert(alias).second);
    EXPECT_FALSE(profile.description.empty());
  }
}

TEST(FindProfileTest, RefusalListsTheNames) {
  for (const char* name : {"p9", "", "P5", "p5.2xlarge"}) {
    EXPECT_THAT(FindProfile(name).status(),
                StatusIs(absl::StatusCode::kNotFound,
                         AllOf(HasSubstr(absl::StrCat("'", name, "'")),
                               HasSubstr("small, p4d, p5, p5en, p6-b200, p6-b300"))));
  }
}

}  // namespace
}  // namespace drydock::sim
