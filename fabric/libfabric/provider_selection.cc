#include "drydock/fabric/libfabric/provider_selection.h"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "drydock/fabric/libfabric/errno_mapping.h"
#include "drydock/fabric/libfabric/library.h"
#include "drydock/fabric/libfabric/nic_description.h"
#include "drydock/fabric/libfabric/shm_name.h"

namespace drydock::fabric::libfabric {
namespace {

using HintsPointer = std::unique_ptr<fi_info, decltype(Library::freeinfo)>;

// The older of the library that we were built against and the one that runs.
std::uint32_t ApiVersion(const Api& api) {
  return std::min<std::uint32_t>(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), api.Version());
}

InfoList Own(Api& api, fi_info* info) {
  return InfoList(info, [&api](fi_info* list) { api.FreeInfo(list); });
}

std::string Text(const char* text) { return text == nullptr ? "" : text; }

// The features that every NIC must have.
Ask BasicAsk(absl::string_view provider) {
  Ask ask;
  const bool datagram = absl::ConsumeSuffix(&provider, "-dgram");
  ask.provider = std::string(provider == "efa-direct" ? "efa" : provider);
  if (ask.provider == "efa") ask.fabric_name = std::string(provider);
  ask.endpoint_type = datagram ? FI_EP_DGRAM : FI_EP_RDM;
  ask.capabilities = datagram ? FI_MSG : FI_MSG | FI_RMA;
  ask.mode = FI_CONTEXT | FI_CONTEXT2;
  // Not for reliable endpoints: the efa fabric would then want its prefix there, too.
  if (datagram) ask.mode |= FI_MSG_PREFIX;
  return ask;
}

HintsPointer MakeHints(const Ask& ask) {
  const Library& library = *InstalledLibrary();
  HintsPointer hints(library.dupinfo(nullptr), library.freeinfo);
  hints->fabric_attr->prov_name = strdup(ask.provider.c_str());
  if (!ask.fabric_name.empty()) hints->fabric_attr->name = strdup(ask.fabric_name.c_str());
  hints->caps = ask.capabilities;
  hints->mode = ask.mode;
  hints->ep_attr->type = ask.endpoint_type;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = ask.order;
  hints->tx_attr->inject_size = ask.inject_bytes;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  if (ask.device_memory) hints->domain_attr->mr_mode |= FI_MR_HMEM;
  // EFA's datagrams are neither thread-safe nor protected against overruns.
  const bool reliable = ask.endpoint_type == FI_EP_RDM;
  hints->domain_attr->threading = reliable ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
  if (reliable) hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  return hints;
}

// The list of NICs that fit; null when none does.
absl::StatusOr<InfoList> Query(Api& api, const Ask& ask) {
  const HintsPointer hints = MakeHints(ask);
  fi_info* info = nullptr;
  const int result = api.GetInfo(ApiVersion(api), hints.get(), &info);
  if (result == 0) {
    NameSharedMemory(info);
    return Own(api, info);
  }
  if (result == -FI_ENODATA) return InfoList();
  return ControlError(result,
                      absl::StrCat("list NICs of provider '", ask.provider, "': fi_getinfo"));
}

// Entries that stand for the same interface have the same provider and domain name.
bool SameInterface(const fi_info& a, const fi_info& b) {
  return Text(a.domain_attr->name) == Text(b.domain_attr->name) &&
         Text(a.fabric_attr->prov_name) == Text(b.fabric_attr->prov_name);
}

bool Offers(const InfoList& list, const fi_info& interface) {
  for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
    if (SameInterface(*info, interface)) return true;
  }
  return false;
}

struct Offer {
  Ask ask;
  InfoList list;
};

// Takes `ask` instead of `offer` where it loses no NIC. A provider that refuses, in whatever words,
// does not offer it.
bool Improve(Api& api, const Ask& ask, Offer& offer) {
  absl::StatusOr<InfoList> list = Query(api, ask);
  if (!list.ok()) return false;
  for (const fi_info* info = offer.list.get(); info != nullptr; info = info->next) {
    if (!Offers(*list, *info)) return false;
  }
  offer = {ask, *std::move(list)};
  return true;
}

// Features that a NIC need not have. The order of messages is asked for because the efa fabric
// keeps it only on request.
void AskForMore(Api& api, Offer& offer) {
  constexpr std::uint64_t kCapabilities[] = {FI_TAGGED, FI_MULTI_RECV, FI_DIRECTED_RECV, FI_SOURCE,
                                             FI_ATOMIC};
  if (offer.ask.endpoint_type == FI_EP_DGRAM) {
    Ask source = offer.ask;
    source.capabilities |= FI_SOURCE;
    Improve(api, source, offer);
    return;
  }
  Ask all = offer.ask;
  all.order = FI_ORDER_SAS;
  for (const std::uint64_t capability : kCapabilities) all.capabilities |= capability;
  if (Improve(api, all, offer)) return;
  Ask ordered = offer.ask;
  ordered.order = FI_ORDER_SAS;
  Improve(api, ordered, offer);
  for (const std::uint64_t capability : kCapabilities) {
    Ask more = offer.ask;
    more.capabilities |= capability;
    Improve(api, more, offer);
  }
}

// Null list: there is nothing.
absl::StatusOr<Offer> BestOffer(Api& api, absl::string_view provider, bool device_memory) {
  Offer offer{.ask = BasicAsk(provider)};
  absl::StatusOr<InfoList> list = Query(api, offer.ask);
  if (list.ok() && *list == nullptr) {
    // A device without unsolicited write receive is offered only to programs that promise a receive
    // for each immediate.
    offer.ask.mode |= FI_RX_CQ_DATA;
    list = Query(api, offer.ask);
  }
  if (!list.ok()) return list.status();
  offer.list = *std::move(list);
  if (offer.list == nullptr) return offer;
  AskForMore(api, offer);
  if (device_memory) {
    Ask more = offer.ask;
    more.capabilities |= FI_HMEM;
    more.device_memory = true;
    Improve(api, more, offer);
  }
  return offer;
}

bool IsIpv6(const fi_info& info) { return info.addr_format == FI_SOCKADDR_IN6; }

std::vector<NicChoice> OnePerInterface(const Offer& offer) {
  std::vector<NicChoice> choices;
  for (fi_info* info = offer.list.get(); info != nullptr; info = info->next) {
    const auto same = std::find_if(choices.begin(), choices.end(), [&](const NicChoice& choice) {
      return SameInterface(*choice.info, *info);
    });
    if (same == choices.end()) {
      choices.push_back({info, offer.list, Describe(*info), offer.ask});
    } else if (IsIpv6(*same->info) && !IsIpv6(*info)) {
      *same = {info, offer.list, Describe(*info), offer.ask};
    }
  }
  return choices;
}

// The library tells whether receives can take immediates only when it is asked for it.
void FindSolicitedImmediates(Api& api, const Offer& offer, std::vector<NicChoice>& choices) {
  Ask ask = offer.ask;
  ask.mode |= FI_RX_CQ_DATA;
  const absl::StatusOr<InfoList> list = ask.mode == offer.ask.mode ? offer.list : Query(api, ask);
  if (!list.ok()) return;
  for (const fi_info* info = list->get(); info != nullptr; info = info->next) {
    for (NicChoice& choice : choices) {
      if (SameInterface(*choice.info, *info) && ReceivesTakeImmediates(*info)) {
        choice.described.capabilities.Add(Capability::kSolicitedImmediate);
      }
    }
  }
}

}  // namespace

bool IsEfa(const fi_info& info) {
  return absl::StartsWith(Text(info.fabric_attr->prov_name), "efa");
}

bool ReceivesTakeImmediates(const fi_info& info) {
  return ((info.mode | info.rx_attr->mode) & FI_RX_CQ_DATA) != 0;
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

absl::StatusOr<std::vector<NicChoice>> SelectNics(Api& api, absl::string_view provider,
                                                  bool device_memory) {
  const absl::StatusOr<Offer> offer = BestOffer(api, provider, device_memory);
  if (!offer.ok()) return offer.status();
  std::vector<NicChoice> choices = OnePerInterface(*offer);
  if (choices.empty()) {
    const bool datagram = offer->ask.endpoint_type == FI_EP_DGRAM;
    return absl::NotFoundError(
        absl::StrCat("no NIC of provider '", provider, "' with ",
                     datagram ? "datagram endpoints" : "messages and remote memory access",
                     "; libfabric ", FI_MAJOR(api.Version()), ".", FI_MINOR(api.Version()),
                     " offers here: ", absl::StrJoin(ProviderNames(api), ", ")));
  }
  if (offer->ask.endpoint_type == FI_EP_RDM) FindSolicitedImmediates(api, *offer, choices);
  return choices;
}

absl::StatusOr<NicChoice> SelectVariant(Api& api, const NicChoice& nic, std::size_t inject_bytes,
                                        bool receives_take_immediates) {
  Ask ask = nic.ask;
  ask.inject_bytes = inject_bytes;
  if (receives_take_immediates) ask.mode |= FI_RX_CQ_DATA;
  const absl::StatusOr<InfoList> list = Query(api, ask);
  if (!list.ok()) return list.status();
  for (fi_info* info = list->get(); info != nullptr; info = info->next) {
    if (SameInterface(*info, *nic.info) && info->addr_format == nic.info->addr_format &&
        info->tx_attr->inject_size >= inject_bytes &&
        (!receives_take_immediates || ReceivesTakeImmediates(*info))) {
      return NicChoice{info, *list, Describe(*info), ask};
    }
  }
  const std::string& name = nic.described.name;
  if (receives_take_immediates && inject_bytes == 0) {
    return absl::UnimplementedError(
        absl::StrCat("receives_take_immediates: ", name, " has only unsolicited immediates"));
  }
  return absl::UnimplementedError(absl::StrCat("inject_bytes ", inject_bytes, ": ", name,
                                               " offers ", nic.described.limits.inject_bytes));
}

}  // namespace drydock::fabric::libfabric
