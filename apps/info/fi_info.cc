#include "drydock/apps/info/fi_info.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/rdm/rdm_fabric.h"

namespace drydock::apps::info {
namespace {

using fabric::Capability;

bool IsEfa(const fabric::NicInfo& nic) { return nic.address_format == "FI_ADDR_EFA"; }

// Lines of text, one attribute each.
class Writer {
 public:
  void Open(absl::string_view group) {
    absl::StrAppend(&text_, std::string(depth_, ' '), group, ":\n");
    depth_ += kIndent;
  }
  void Close() { depth_ -= kIndent; }

  template <typename Value>
  void Field(absl::string_view name, const Value& value) {
    absl::StrAppend(&text_, std::string(depth_, ' '), name, ": ", value, "\n");
  }
  void List(absl::string_view name, const std::vector<std::string>& values) {
    Field(name, absl::StrCat("[ ", absl::StrJoin(values, ", "), " ]"));
  }
  void Known(absl::string_view name, absl::string_view value) {
    if (!value.empty()) Field(name, value);
  }

  void BeginEntry() { absl::StrAppend(&text_, "---\n"); }
  std::string Take() { return std::move(text_); }

 private:
  static constexpr std::size_t kIndent = 4;

  std::string text_;
  std::size_t depth_ = 0;
};

// ---- Capabilities ----

enum class Side { kBoth, kTransmit, kReceive };

struct CapsRow {
  absl::string_view name;
  Side side;
  Capability capability;
};

// In the order of fi_tostr(FI_TYPE_CAPS).
constexpr CapsRow kCapsBeforeReach[] = {
    {"FI_MSG", Side::kBoth, Capability::kMessages},
    {"FI_RMA", Side::kBoth, Capability::kRemoteWrite},
    {"FI_TAGGED", Side::kBoth, Capability::kTaggedMessages},
    {"FI_ATOMIC", Side::kBoth, Capability::kAtomics},
    {"FI_READ", Side::kTransmit, Capability::kRemoteRead},
    {"FI_WRITE", Side::kTransmit, Capability::kRemoteWrite},
    {"FI_RECV", Side::kReceive, Capability::kMessages},
    {"FI_SEND", Side::kTransmit, Capability::kMessages},
    {"FI_REMOTE_READ", Side::kReceive, Capability::kRemoteRead},
    {"FI_REMOTE_WRITE", Side::kReceive, Capability::kRemoteWrite},
    {"FI_MULTI_RECV", Side::kReceive, Capability::kMultiReceive},
};
constexpr CapsRow kCapsAfterReach[] = {
    {"FI_SOURCE", Side::kReceive, Capability::kSourceAddress},
    {"FI_DIRECTED_RECV", Side::kReceive, Capability::kDirectedReceive},
};

void AddCaps(const fabric::NicInfo& nic, Side side, std::span<const CapsRow> rows,
             std::vector<std::string>& names) {
  for (const CapsRow& row : rows) {
    const bool on_this_side = side == Side::kBoth || row.side == Side::kBoth || row.side == side;
    if (on_this_side && nic.capabilities.Has(row.capability)) names.emplace_back(row.name);
  }
}

// Every EFA NIC reaches its own host and others; of other providers it is not known.
std::vector<std::string> Reach(const fabric::NicInfo& nic) {
  if (!IsEfa(nic)) return {};
  return {"FI_LOCAL_COMM", "FI_REMOTE_COMM"};
}

std::vector<std::string> Caps(const fabric::NicInfo& nic, Side side) {
  std::vector<std::string> names;
  AddCaps(nic, side, kCapsBeforeReach, names);
  if (side == Side::kBoth) {
    for (std::string& name : Reach(nic)) names.push_back(std::move(name));
  }
  AddCaps(nic, side, kCapsAfterReach, names);
  return names;
}

// The provider's promise (ofiwg/libfabric prov/efa/src/efa_prov_info.c). Other providers promise
// more than a NicInfo holds.
void WriteOrder(const fabric::NicInfo& nic, Writer& out) {
  if (!IsEfa(nic)) return;
  std::vector<std::string> orders;
  if (nic.capabilities.Has(Capability::kSendOrder)) orders.emplace_back("FI_ORDER_SAS");
  if (nic.capabilities.Has(Capability::kAtomics)) {
    for (const char* pair : {"RAR", "RAW", "WAR", "WAW"}) {
      orders.push_back(absl::StrCat("FI_ORDER_ATOMIC_", pair));
    }
  }
  out.List("msg_order", orders);
}

// ---- Groups of attributes ----

void WriteQueues(const fabric::NicInfo& nic, Writer& out) {
  out.Open("fi_tx_attr");
  out.List("caps", Caps(nic, Side::kTransmit));
  WriteOrder(nic, out);
  out.Field("inject_size", nic.limits.inject_bytes);
  out.Field("size", nic.limits.send_queue_depth);
  out.Field("iov_limit", nic.limits.send_segments);
  if (IsEfa(nic)) out.Field("rma_iov_limit", nic.limits.rma_segments > 0 ? 1 : 0);
  out.Close();
  out.Open("fi_rx_attr");
  out.List("caps", Caps(nic, Side::kReceive));
  WriteOrder(nic, out);
  out.Field("size", nic.limits.receive_queue_depth);
  out.Field("iov_limit", nic.limits.receive_segments);
  out.Close();
}

// The attributes have one limit for messages and remote memory access: the greater one.
std::uint64_t MaxMessageSize(const FiInfo& entry) {
  const fabric::Limits& limits = entry.nic.limits;
  if (entry.datagram) return limits.datagram_bytes - limits.datagram_prefix_bytes;
  return std::max(limits.max_message_bytes, limits.max_rma_bytes);
}

void WriteEndpoint(const FiInfo& entry, Writer& out) {
  const fabric::NicInfo& nic = entry.nic;
  const bool efa_protocol = !entry.datagram && nic.fabric == "efa";
  out.Open("fi_ep_attr");
  out.Field("type", entry.datagram ? "FI_EP_DGRAM" : "FI_EP_RDM");
  if (IsEfa(nic)) {
    out.Field("protocol", "FI_PROTO_EFA");
    out.Field("protocol_version", efa_protocol ? 4 : 1);
  }
  out.Field("max_msg_size", MaxMessageSize(entry));
  out.Field("msg_prefix_size", entry.datagram ? nic.limits.datagram_prefix_bytes : 0);
  if (entry.ordered_bytes.has_value()) {
    for (const char* pair : {"raw", "war", "waw"}) {
      out.Field(absl::StrCat("max_order_", pair, "_size"), *entry.ordered_bytes);
    }
  }
  if (IsEfa(nic)) {
    out.Field("mem_tag_format", efa_protocol ? "0xaaaaaaaaaaaaaaaa" : "0x0000000000000000");
  }
  out.Close();
}

void WriteDomain(const fabric::NicInfo& nic, Writer& out) {
  out.Open("fi_domain_attr");
  out.Known("name", nic.domain);
  out.Field("mr_key_size", nic.limits.key_bytes);
  out.Field("cq_data_size", nic.limits.immediate_bytes);
  if (nic.limits.max_completion_queues > 0) {
    out.Field("cq_cnt", nic.limits.max_completion_queues);
  }
  if (nic.limits.max_endpoints > 0) out.Field("ep_cnt", nic.limits.max_endpoints);
  if (IsEfa(nic)) out.List("caps", Reach(nic));
  if (nic.limits.max_memory_regions > 0) out.Field("mr_cnt", nic.limits.max_memory_regions);
  out.Close();
  out.Open("fi_fabric_attr");
  out.Known("name", nic.fabric);
  out.Known("prov_name", nic.provider);
  out.Close();
}

void WriteBus(const fabric::NicInfo& nic, Writer& out) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (std::sscanf(nic.pci_address.c_str(), "%4x:%2x:%2x.%1x", &domain, &bus, &device, &function) !=
      4) {
    return;
  }
  out.Open("fi_bus_attr");
  out.Field("bus_type", "FI_BUS_PCI");
  out.Open("fi_pci_attr");
  out.Field("domain_id", domain);
  out.Field("bus_id", bus);
  out.Field("device_id", device);
  out.Field("function_id", function);
  out.Close();
  out.Close();
}

void WriteLink(const fabric::NicInfo& nic, Writer& out) {
  out.Open("fi_link_attr");
  if (nic.limits.mtu_bytes > 0) out.Field("mtu", nic.limits.mtu_bytes);
  if (nic.link_gbps > 0) out.Field("speed", std::llround(nic.link_gbps * 1e9));
  out.Field("state", nic.link_state == fabric::LinkState::kUp     ? "FI_LINK_UP"
                     : nic.link_state == fabric::LinkState::kDown ? "FI_LINK_DOWN"
                                                                  : "FI_LINK_UNKNOWN");
  out.Close();
}

void WriteNic(const fabric::NicInfo& nic, Writer& out) {
  out.Open("nic");
  out.Open("fi_device_attr");
  out.Known("name", nic.name);
  const std::vector<std::string> ids = absl::StrSplit(nic.vendor_device_id, ':');
  if (ids.size() == 2) {
    out.Field("device_id", absl::StrCat("0x", ids[1]));
    out.Field("vendor_id", absl::StrCat("0x", ids[0]));
  }
  out.Close();
  WriteBus(nic, out);
  WriteLink(nic, out);
  out.Close();
}

void WriteEntry(const FiInfo& entry, Writer& out) {
  const fabric::NicInfo& nic = entry.nic;
  out.BeginEntry();
  out.Open("fi_info");
  out.List("caps", Caps(nic, Side::kBoth));
  out.Known("addr_format", nic.address_format);
  if (nic.limits.address_bytes > 0) out.Field("src_addrlen", nic.limits.address_bytes);
  WriteQueues(nic, out);
  WriteEndpoint(entry, out);
  WriteDomain(nic, out);
  WriteNic(nic, out);
  out.Close();
}

// ---- The EFA provider's three lists ----

FiInfo DirectEntry(fabric::NicInfo nic) {
  nic.provider = "efa";
  return {.nic = std::move(nic), .ordered_bytes = 0};
}

FiInfo ReliableEntry(const sim::Profile& profile, const fabric::NicInfo& device_nic) {
  FiInfo entry{.nic = sim::rdm::RdmNicInfo(device_nic),
               .ordered_bytes = sim::MaxAtomicBytes(profile)};
  entry.nic.provider = "efa";
  entry.nic.limits = sim::EfaLimits(profile);
  return entry;
}

FiInfo DatagramEntry(const sim::Profile& profile, fabric::NicInfo nic) {
  nic.provider = "efa";
  nic.fabric = "efa";
  nic.domain = nic.name + "-dgrm";
  nic.limits = sim::DatagramLimits(profile);
  nic.capabilities = {Capability::kMessages, Capability::kSourceAddress};
  return {.nic = std::move(nic), .datagram = true, .ordered_bytes = 0};
}

}  // namespace

std::vector<FiInfo> EfaProviderList(const sim::Profile& profile,
                                    std::span<const fabric::NicInfo> device_nics) {
  std::vector<FiInfo> list;
  for (const fabric::NicInfo& nic : device_nics) list.push_back(DirectEntry(nic));
  for (const fabric::NicInfo& nic : device_nics) list.push_back(ReliableEntry(profile, nic));
  for (const fabric::NicInfo& nic : device_nics) list.push_back(DatagramEntry(profile, nic));
  return list;
}

std::vector<FiInfo> RealProviderList(std::span<const fabric::NicInfo> nics) {
  std::vector<FiInfo> list;
  for (const fabric::NicInfo& nic : nics) {
    list.push_back({.nic = nic, .datagram = nic.capabilities.Has(Capability::kDatagram)});
  }
  return list;
}

std::string FormatFiInfo(std::span<const FiInfo> entries) {
  Writer out;
  for (const FiInfo& entry : entries) WriteEntry(entry, out);
  return out.Take();
}

}  // namespace drydock::apps::info
