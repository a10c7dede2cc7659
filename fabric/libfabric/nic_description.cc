#include "drydock/fabric/libfabric/nic_description.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/libfabric/library.h"
#include "drydock/fabric/libfabric/provider_selection.h"
#include "drydock/fabric/limits.h"

namespace drydock::fabric::libfabric {
namespace {

std::string Text(const char* text) { return text == nullptr ? "" : text; }

bool IsDirect(const fi_info& info) { return Text(info.fabric_attr->name) == "efa-direct"; }
bool IsDatagram(const fi_info& info) { return info.ep_attr->type == FI_EP_DGRAM; }

void DescribeNic(const fid_nic& nic, NicInfo& described) {
  if (nic.device_attr != nullptr) {
    const fi_device_attr& device = *nic.device_attr;
    if (device.name != nullptr) described.name = device.name;
    if (device.vendor_id != nullptr && device.device_id != nullptr) {
      described.vendor_device_id =
          absl::StrFormat("%04x:%04x", std::strtoul(device.vendor_id, nullptr, 16),
                          std::strtoul(device.device_id, nullptr, 16));
    }
  }
  if (nic.bus_attr != nullptr && nic.bus_attr->bus_type == FI_BUS_PCI) {
    const fi_pci_attr& pci = nic.bus_attr->attr.pci;
    described.pci_address = absl::StrFormat("%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id,
                                            pci.device_id, pci.function_id);
  }
  if (nic.link_attr != nullptr) {
    const fi_link_attr& link = *nic.link_attr;
    described.link_gbps = static_cast<double>(link.speed) / 1e9;
    described.link_state = link.state == FI_LINK_UP     ? LinkState::kUp
                           : link.state == FI_LINK_DOWN ? LinkState::kDown
                                                        : LinkState::kUnknown;
  }
}

// The attributes have one limit for messages and remote memory access. On efa-direct it is the
// latter's, and a message is one packet (ofiwg/libfabric prov/efa/src/efa_prov_info.c).
void SetSizes(const fi_info& info, Limits& limits) {
  const std::uint64_t most = info.ep_attr->max_msg_size;
  if (info.nic != nullptr && info.nic->link_attr != nullptr) {
    limits.mtu_bytes = info.nic->link_attr->mtu;
  }
  limits.max_message_bytes = most;
  if (IsDirect(info) && limits.mtu_bytes != 0) {
    limits.max_message_bytes = std::min<std::uint64_t>(most, limits.mtu_bytes);
  }
  if ((info.caps & FI_RMA) != 0) limits.max_rma_bytes = most;
  limits.inject_bytes = info.tx_attr->inject_size;
  // The device itself injects writes only with large work requests, which an endpoint asks for.
  if ((info.caps & FI_RMA) != 0 && !IsDirect(info)) limits.inject_rma_bytes = limits.inject_bytes;
  limits.multi_receive_bytes = kMultiReceiveBytes;
  if (IsDatagram(info)) {
    limits.datagram_prefix_bytes = info.ep_attr->msg_prefix_size;
    limits.datagram_bytes = most + limits.datagram_prefix_bytes;
    limits.max_message_bytes = limits.datagram_bytes;
  }
}

bool BothOrder(const fi_info& info, std::uint64_t orders) {
  return (info.tx_attr->msg_order & info.rx_attr->msg_order & orders) != 0;
}

// The capabilities that the attributes tell.
CapabilitySet Attested(const fi_info& info) {
  CapabilitySet set{Capability::kMessages};
  const auto add_if = [&set](bool condition, Capability capability) {
    if (condition) set.Add(capability);
  };
  const bool reaches_memory = (info.caps & FI_RMA) != 0;
  add_if(reaches_memory, Capability::kRemoteWrite);
  add_if(reaches_memory, Capability::kRemoteRead);
  add_if(info.domain_attr->cq_data_size >= 4, Capability::kImmediateData);
  add_if(reaches_memory && !ReceivesTakeImmediates(info), Capability::kUnsolicitedImmediate);
  add_if(!IsDirect(info) && !IsDatagram(info), Capability::kLongMessages);
  add_if(BothOrder(info, FI_ORDER_SAS), Capability::kSendOrder);
  // The order of bytes is promised up to a length of its own.
  add_if(BothOrder(info, FI_ORDER_WAW | FI_ORDER_RMA_WAW) &&
             info.ep_attr->max_order_waw_size >= info.ep_attr->max_msg_size,
         Capability::kWriteOrder);
  add_if(info.tx_attr->inject_size > 0, Capability::kInject);
  add_if((info.caps & FI_SOURCE) != 0, Capability::kSourceAddress);
  add_if((info.caps & FI_TAGGED) != 0, Capability::kTaggedMessages);
  add_if((info.caps & FI_DIRECTED_RECV) != 0, Capability::kDirectedReceive);
  add_if((info.caps & FI_MULTI_RECV) != 0, Capability::kMultiReceive);
  add_if((info.caps & FI_ATOMIC) != 0, Capability::kAtomics);
  add_if(IsDatagram(info), Capability::kDatagram);
  return set;
}

// Capabilities that no attribute tells, observed of each provider with the contract suite. The
// first row that fits counts; the last is of libfabric itself.
struct Observation {
  absl::string_view provider;
  absl::string_view fabric;  // empty: any
  CapabilitySet capabilities;
  CapabilitySet withdrawn{};  // attested, and not kept
};
using enum Capability;
constexpr Observation kObservations[] = {
    // One work request, one device: nothing to take back, and unknown peers have no access.
    {"efa", "efa-direct", {kMutualInsertion, kLocalRegistration}},
    // A peer's plain write or read raises a counter. Senders that are not in the address vector are
    // named as the peer with number 0, so that no name can be trusted. A message that does not fit
    // into the rest of a multi receive moves that rest behind the buffer, where the next ones are
    // written (1.17, prov/shm/src/smr_progress.c, smr_progress_multi_recv); 2.1 does not tell that
    // a buffer is full.
    {"shm", "", {kCancel, kRemoteCounts}, {kSourceAddress, kMultiReceive}},
    // From libfabric 2.0 on, where it is no layer above connections (tcp;ofi_rxm): a receive takes a
    // message of any sender, whatever it was posted for (ofiwg/libfabric prov/tcp/src/xnet_srx.c).
    {"tcp", "", {kCancel, kReadRights}, {kDirectedReceive}},
    {"", "", {kCancel}},
};

void AddObserved(const fi_info& info, CapabilitySet& set) {
  if (IsDatagram(info)) return;
  const std::string provider = Text(info.fabric_attr->prov_name);
  const std::string fabric = Text(info.fabric_attr->name);
  for (const Observation& row : kObservations) {
    if (!row.provider.empty() && row.provider != provider) continue;
    if (!row.fabric.empty() && row.fabric != fabric) continue;
    for (const CapabilityInfo& capability : CapabilityTable()) {
      if (row.capabilities.Has(capability.capability)) set.Add(capability.capability);
      if (row.withdrawn.Has(capability.capability)) set.Remove(capability.capability);
    }
    return;
  }
}

Limits LimitsOf(const fi_info& info) {
  Limits limits;
  limits.address_bytes = info.addr_format == FI_ADDR_STR ? 0 : info.src_addrlen;
  limits.send_queue_depth = info.tx_attr->size;
  limits.receive_queue_depth = info.rx_attr->size;
  limits.completion_queue_depth = info.tx_attr->size + info.rx_attr->size;
  SetSizes(info, limits);
  limits.send_segments = std::min(info.tx_attr->iov_limit, kMostSegments);
  limits.receive_segments = std::min(info.rx_attr->iov_limit, kMostSegments);
  if ((info.caps & FI_RMA) != 0) limits.rma_segments = IsDirect(info) ? 1 : limits.send_segments;
  limits.key_bytes = info.domain_attr->mr_key_size;
  limits.immediate_bytes = info.domain_attr->cq_data_size;
  limits.max_endpoints = info.domain_attr->ep_cnt;
  limits.max_completion_queues = info.domain_attr->cq_cnt;
  limits.max_memory_regions = info.domain_attr->mr_cnt;
  return limits;
}

}  // namespace

NicInfo Describe(const fi_info& info) {
  NicInfo described;
  described.domain = Text(info.domain_attr->name);
  described.name = described.domain;
  described.provider = Text(info.fabric_attr->prov_name);
  described.fabric = Text(info.fabric_attr->name);
  described.address_format = InstalledLibrary()->tostr(&info.addr_format, FI_TYPE_ADDR_FORMAT);
  described.limits = LimitsOf(info);
  described.capabilities = Attested(info);
  AddObserved(info, described.capabilities);
  if (!described.capabilities.Has(kMultiReceive)) described.limits.multi_receive_bytes = 0;
  if (info.nic != nullptr) DescribeNic(*info.nic, described);
  return described;
}

}  // namespace drydock::fabric::libfabric
