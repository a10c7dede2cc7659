// The text in libfabric's words, against what was recorded on a p5.48xlarge:
// abcdabcd987/libfabric-efa-demo data/fi_info.yaml, which is `fi_info -p efa -v` of libfabric
// 2.0.0. efa-direct came with 2.1.0: its figures follow ofiwg/libfabric
// prov/efa/src/efa_prov_info.c.

#include "drydock/apps/info/fi_info.h"

#include <string>
#include <vector>

#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::info {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<FiInfo> ListOf(const char* name) {
  const sim::Profile& profile = **sim::FindProfile(name);
  sim::World world(1, profile);
  const auto fabric = sim::OpenSimFabric(world, world.AddNode("node"));
  return EfaProviderList(profile, fabric->nics());
}

std::string Text(const FiInfo& entry) { return FormatFiInfo({&entry, 1}); }

// ---- p5 ----

// The order of fi_getinfo: efa-direct, reliable, datagrams, each for every NIC.
TEST(RecordedP5Test, ThreeEntriesForEachNic) {
  const std::vector<std::string> recorded = {
      "rdmap79s0",  "rdmap80s0",  "rdmap81s0",  "rdmap82s0",  "rdmap96s0",  "rdmap97s0",
      "rdmap98s0",  "rdmap99s0",  "rdmap113s0", "rdmap114s0", "rdmap115s0", "rdmap116s0",
      "rdmap130s0", "rdmap131s0", "rdmap132s0", "rdmap133s0", "rdmap147s0", "rdmap148s0",
      "rdmap149s0", "rdmap150s0", "rdmap164s0", "rdmap165s0", "rdmap166s0", "rdmap167s0",
      "rdmap181s0", "rdmap182s0", "rdmap183s0", "rdmap184s0", "rdmap198s0", "rdmap199s0",
      "rdmap200s0", "rdmap201s0"};
  std::vector<std::string> expected;
  for (const char* kind : {"efa-direct -rdm", "efa -rdm", "efa -dgrm"}) {
    const std::string text = kind;
    for (const std::string& nic : recorded) {
      expected.push_back(text.substr(0, text.find(' ') + 1) + nic +
                         text.substr(text.find(' ') + 1));
    }
  }
  std::vector<std::string> listed;
  for (const FiInfo& entry : ListOf("p5")) {
    listed.push_back(entry.nic.fabric + " " + entry.nic.domain);
    EXPECT_EQ(entry.datagram, entry.nic.domain.ends_with("-dgrm")) << entry.nic.domain;
  }
  EXPECT_THAT(listed, ElementsAreArray(expected));
}

// Every line as recorded, but for the MTU: 2.0.0 told 8760, the longest header of this fabric less
// than newer versions tell.
TEST(RecordedP5Test, ReliableEndpoint) {
  EXPECT_EQ(Text(ListOf("p5")[32]), R"(---
fi_info:
    caps: [ FI_MSG, FI_RMA, FI_TAGGED, FI_ATOMIC, FI_READ, FI_WRITE, FI_RECV, FI_SEND, )"
                                    R"(FI_REMOTE_READ, FI_REMOTE_WRITE, FI_MULTI_RECV, )"
                                    R"(FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SOURCE, FI_DIRECTED_RECV ]
    addr_format: FI_ADDR_EFA
    src_addrlen: 32
    fi_tx_attr:
        caps: [ FI_MSG, FI_RMA, FI_TAGGED, FI_ATOMIC, FI_READ, FI_WRITE, FI_SEND ]
        msg_order: [ FI_ORDER_SAS, FI_ORDER_ATOMIC_RAR, FI_ORDER_ATOMIC_RAW, )"
                                    R"(FI_ORDER_ATOMIC_WAR, FI_ORDER_ATOMIC_WAW ]
        inject_size: 4096
        size: 4096
        iov_limit: 4
        rma_iov_limit: 1
    fi_rx_attr:
        caps: [ FI_MSG, FI_RMA, FI_TAGGED, FI_ATOMIC, FI_RECV, FI_REMOTE_READ, )"
                                    R"(FI_REMOTE_WRITE, FI_MULTI_RECV, FI_SOURCE, FI_DIRECTED_RECV ]
        msg_order: [ FI_ORDER_SAS, FI_ORDER_ATOMIC_RAR, FI_ORDER_ATOMIC_RAW, )"
                                    R"(FI_ORDER_ATOMIC_WAR, FI_ORDER_ATOMIC_WAW ]
        size: 8192
        iov_limit: 4
    fi_ep_attr:
        type: FI_EP_RDM
        protocol: FI_PROTO_EFA
        protocol_version: 4
        max_msg_size: 18446744073709551615
        msg_prefix_size: 0
        max_order_raw_size: 8776
        max_order_war_size: 8776
        max_order_waw_size: 8776
        mem_tag_format: 0xaaaaaaaaaaaaaaaa
    fi_domain_attr:
        name: rdmap79s0-rdm
        mr_key_size: 4
        cq_data_size: 4
        cq_cnt: 512
        ep_cnt: 256
        caps: [ FI_LOCAL_COMM, FI_REMOTE_COMM ]
        mr_cnt: 262144
    fi_fabric_attr:
        name: efa
        prov_name: efa
    nic:
        fi_device_attr:
            name: rdmap79s0
            device_id: 0xefa1
            vendor_id: 0x1d0f
        fi_bus_attr:
            bus_type: FI_BUS_PCI
            fi_pci_attr:
                domain_id: 0
                bus_id: 79
                device_id: 0
                function_id: 0
        fi_link_attr:
            mtu: 8928
            speed: 100000000000
            state: FI_LINK_UP
)");
}

TEST(RecordedP5Test, DatagramEndpoint) {
  const std::string text = Text(ListOf("p5")[64]);
  EXPECT_THAT(
      text,
      HasSubstr("    caps: [ FI_MSG, FI_RECV, FI_SEND, FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SOURCE ]"
                "\n    addr_format: FI_ADDR_EFA\n    src_addrlen: 32\n    fi_tx_attr:\n"));
  EXPECT_THAT(text, HasSubstr(R"(
    fi_tx_attr:
        caps: [ FI_MSG, FI_SEND ]
        msg_order: [  ]
        inject_size: 0
        size: 4096
        iov_limit: 2
        rma_iov_limit: 0
    fi_rx_attr:
        caps: [ FI_MSG, FI_RECV, FI_SOURCE ]
        msg_order: [  ]
        size: 8192
        iov_limit: 3
    fi_ep_attr:
        type: FI_EP_DGRAM
        protocol: FI_PROTO_EFA
        protocol_version: 1
        max_msg_size: 8928
        msg_prefix_size: 40
        max_order_raw_size: 0
        max_order_war_size: 0
        max_order_waw_size: 0
        mem_tag_format: 0x0000000000000000
    fi_domain_attr:
        name: rdmap79s0-dgrm
)"));
}

TEST(ComputedP5Test, DirectEndpoint) {
  const std::string text = Text(ListOf("p5")[0]);
  EXPECT_THAT(text, HasSubstr(R"(
    fi_tx_attr:
        caps: [ FI_MSG, FI_RMA, FI_READ, FI_WRITE, FI_SEND ]
        msg_order: [  ]
        inject_size: 32
        size: 4096
        iov_limit: 2
        rma_iov_limit: 1
    fi_rx_attr:
        caps: [ FI_MSG, FI_RMA, FI_RECV, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_SOURCE ]
        msg_order: [  ]
        size: 8192
        iov_limit: 3
    fi_ep_attr:
        type: FI_EP_RDM
        protocol: FI_PROTO_EFA
        protocol_version: 1
        max_msg_size: 1073741824
        msg_prefix_size: 0
)"));
  EXPECT_THAT(text, HasSubstr("        name: efa-direct\n        prov_name: efa\n"));
}

// ---- Other machines ----

// Without remote writes efa-direct has no FI_RMA, and its longest message is one packet.
TEST(FiInfoTest, DeviceWithoutRemoteWrite) {
  const std::vector<FiInfo> list = ListOf("p4d");
  ASSERT_EQ(list.size(), 12u);
  EXPECT_THAT(Text(list[0]),
              AllOf(Not(HasSubstr("FI_RMA")), HasSubstr("rma_iov_limit: 0"),
                    HasSubstr("max_msg_size: 8928\n"), HasSubstr("device_id: 0xefa0\n")));
  EXPECT_THAT(Text(list[4]),
              AllOf(HasSubstr("FI_RMA"), HasSubstr("max_msg_size: 18446744073709551615\n")));
}

// Of a provider that tells little, little is said.
TEST(FiInfoTest, WhatIsNotKnownIsLeftOut) {
  fabric::NicInfo nic;
  nic.name = "lo";
  nic.domain = "lo";
  nic.provider = "tcp;ofi_rxm";
  nic.fabric = "127.0.0.0/8";
  nic.address_format = "FI_SOCKADDR_IN";
  nic.capabilities = {fabric::Capability::kMessages};
  const std::string text = FormatFiInfo(RealProviderList({&nic, 1}));
  EXPECT_THAT(text, AllOf(HasSubstr("    caps: [ FI_MSG, FI_RECV, FI_SEND ]\n"),
                          HasSubstr("        prov_name: tcp;ofi_rxm\n"),
                          HasSubstr("type: FI_EP_RDM\n"), HasSubstr("state: FI_LINK_UNKNOWN\n")));
  for (const char* absent :
       {"src_addrlen", "protocol", "msg_order", "rma_iov_limit", "max_order", "cq_cnt", "ep_cnt",
        "mr_cnt", "bus_attr", "device_id", "mtu", "speed", "COMM"}) {
    EXPECT_THAT(text, Not(HasSubstr(absent)));
  }
}

TEST(FiInfoTest, RealDatagramEndpoints) {
  fabric::NicInfo nic;
  nic.capabilities = {fabric::Capability::kMessages, fabric::Capability::kDatagram};
  nic.limits.max_message_bytes = 1540;
  nic.limits.datagram_bytes = 1540;
  nic.limits.datagram_prefix_bytes = 40;
  EXPECT_THAT(FormatFiInfo(RealProviderList({&nic, 1})),
              AllOf(HasSubstr("type: FI_EP_DGRAM\n"), HasSubstr("max_msg_size: 1500\n"),
                    HasSubstr("msg_prefix_size: 40\n")));
}

}  // namespace
}  // namespace drydock::apps::info
