#include "fabric/libfabric/provider_selection.h"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "fabric/libfabric/errno_mapping.h"

namespace fabric::libfabric {
namespace {

using HintsPointer = std::unique_ptr<fi_info, decltype(&fi_freeinfo)>;

// The older of the library that we were built against and the one that runs.
std::uint32_t ApiVersion(const Api& api) {
  return std::min<std::uint32_t>(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), api.Version());
}

InfoList Own(Api& api, fi_info* info) {
  return InfoList(info, [&api](fi_info* list) { api.FreeInfo(list); });
}

std::string Text(const char* text) { return text == nullptr ? "" : text; }

// What we ask for: messages and remote memory access over reliable datagrams, with every memory
// mode that we can honour.
HintsPointer MakeHints(absl::string_view provider, std::uint64_t extra_mode) {
  HintsPointer hints(fi_allocinfo(), &fi_freeinfo);
  const bool direct = provider == "efa-direct";
  const std::string name(direct ? "efa" : provider);
  hints->fabric_attr->prov_name = strdup(name.c_str());
  if (direct || provider == "efa") hints->fabric_attr->name = strdup(std::string(provider).c_str());
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | extra_mode;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  return hints;
}

// The list of what fits; null when nothing does.
absl::StatusOr<InfoList> Query(Api& api, absl::string_view provider) {
  // A device without unsolicited write receive is offered only to those who promise a receive for
  // each immediate.
  for (const std::uint64_t extra_mode : {std::uint64_t{0}, std::uint64_t{FI_RX_CQ_DATA}}) {
    const HintsPointer hints = MakeHints(provider, extra_mode);
    fi_info* info = nullptr;
    const int result = api.GetInfo(ApiVersion(api), hints.get(), &info);
    if (result == 0) return Own(api, info);
    if (result != -FI_ENODATA) {
      return ControlError(result,
                          absl::StrCat("list NICs of provider '", provider, "': fi_getinfo"));
    }
  }
  return InfoList();
}

// Entries that stand for the same interface have the same provider, fabric kind and domain name.
bool SameInterface(const fi_info& a, const fi_info& b) {
  return Text(a.domain_attr->name) == Text(b.domain_attr->name) &&
         Text(a.fabric_attr->prov_name) == Text(b.fabric_attr->prov_name);
}

bool IsIpv6(const fi_info& info) { return info.addr_format == FI_SOCKADDR_IN6; }

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
    described.limits.mtu_bytes = link.mtu;
  }
}

Limits LimitsOf(const fi_info& info) {
  Limits limits;
  limits.address_bytes = info.addr_format == FI_ADDR_STR ? 0 : info.src_addrlen;
  limits.send_queue_depth = info.tx_attr->size;
  limits.receive_queue_depth = info.rx_attr->size;
  limits.completion_queue_depth = info.tx_attr->size + info.rx_attr->size;
  limits.max_message_bytes = info.ep_attr->max_msg_size;
  limits.max_rma_bytes = info.ep_attr->max_msg_size;
  limits.inject_bytes = info.tx_attr->inject_size;
  limits.send_segments = info.tx_attr->iov_limit;
  limits.receive_segments = info.rx_attr->iov_limit;
  limits.rma_segments = info.tx_attr->rma_iov_limit;
  limits.key_bytes = info.domain_attr->mr_key_size;
  limits.immediate_bytes = info.domain_attr->cq_data_size;
  limits.max_endpoints = info.domain_attr->ep_cnt;
  limits.max_completion_queues = info.domain_attr->cq_cnt;
  limits.max_memory_regions = info.domain_attr->mr_cnt;
  return limits;
}

// What the attributes say, and, where they are silent, what was observed of a provider
// (docs/architecture.md).
CapabilitySet CapabilitiesOf(const fi_info& info) {
  CapabilitySet set{Capability::kMessages, Capability::kRemoteWrite, Capability::kRemoteRead};
  if (info.domain_attr->cq_data_size >= 4) set.Add(Capability::kImmediateData);
  if (((info.mode | info.rx_attr->mode) & FI_RX_CQ_DATA) == 0) {
    set.Add(Capability::kUnsolicitedImmediate);
  }
  const bool direct = Text(info.fabric_attr->name) == "efa-direct";
  if (!direct) set.Add(Capability::kLongMessages);
  if ((info.tx_attr->msg_order & info.rx_attr->msg_order & FI_ORDER_SAS) != 0) {
    set.Add(Capability::kSendOrder);
  }
  if ((info.tx_attr->msg_order & info.rx_attr->msg_order & FI_ORDER_WAW) != 0) {
    set.Add(Capability::kWriteOrder);
  }
  if (IsEfa(info)) {
    set.Add(Capability::kRemoteErrors);
    set.Add(Capability::kClosedPeerErrors);
    set.Add(Capability::kRemoteWriteLength);
  }
  if (direct) {
    set.Add(Capability::kSourceTruncation);
    set.Add(Capability::kMutualInsertion);
  }
  if (Text(info.fabric_attr->prov_name) == "shm") set.Add(Capability::kRemoteWriteLength);
  return set;
}

}  // namespace

bool IsEfa(const fi_info& info) {
  return absl::StartsWith(Text(info.fabric_attr->prov_name), "efa");
}

NicInfo Describe(const fi_info& info) {
  NicInfo described;
  described.domain = Text(info.domain_attr->name);
  described.name = described.domain;
  described.provider = Text(info.fabric_attr->prov_name);
  described.fabric = Text(info.fabric_attr->name);
  described.address_format = fi_tostr(&info.addr_format, FI_TYPE_ADDR_FORMAT);
  described.limits = LimitsOf(info);
  described.capabilities = CapabilitiesOf(info);
  if (info.nic != nullptr) DescribeNic(*info.nic, described);
  return described;
}

std::vector<std::string> ProviderNames(Api& api) {
  std::vector<std::string> names;
  fi_info* info = nullptr;
  if (api.GetInfo(ApiVersion(api), nullptr, &info) != 0) return names;
  const InfoList list = Own(api, info);
  for (; info != nullptr; info = info->next) {
    const std::string name = Text(info->fabric_attr->prov_name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

absl::StatusOr<std::vector<NicChoice>> SelectNics(Api& api, absl::string_view provider) {
  const absl::StatusOr<InfoList> list = Query(api, provider);
  if (!list.ok()) return list.status();
  std::vector<NicChoice> choices;
  for (fi_info* info = list->get(); info != nullptr; info = info->next) {
    const auto same = std::find_if(choices.begin(), choices.end(), [&](const NicChoice& choice) {
      return SameInterface(*choice.info, *info);
    });
    if (same == choices.end()) {
      choices.push_back({info, *list, Describe(*info)});
    } else if (IsIpv6(*same->info) && !IsIpv6(*info)) {
      *same = {info, *list, Describe(*info)};
    }
  }
  if (choices.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no NIC of provider '", provider, "' with messages and remote memory access; libfabric ",
        FI_MAJOR(api.Version()), ".", FI_MINOR(api.Version()),
        " offers here: ", absl::StrJoin(ProviderNames(api), ", ")));
  }
  return choices;
}

}  // namespace fabric::libfabric
