// Which NICs a provider offers for the features that Drydock needs. The library is asked; nothing
// about a provider is assumed.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_PROVIDER_SELECTION_H_
#define DRYDOCK_FABRIC_LIBFABRIC_PROVIDER_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/libfabric/api.h"
#include "drydock/fabric/nic_info.h"

namespace drydock::fabric::libfabric {

// A list of fi_info, freed with its last owner.
using InfoList = std::shared_ptr<fi_info>;

// The hints for one fi_getinfo.
struct Ask {
  std::string provider;     // as libfabric names it; empty: any
  std::string fabric_name;  // efa or efa-direct; empty: any
  fi_ep_type endpoint_type = FI_EP_RDM;
  std::uint64_t capabilities = 0;
  std::uint64_t mode = 0;
  std::uint64_t order = 0;       // of messages: FI_ORDER_*
  std::size_t inject_bytes = 0;  // 0: the provider's default
  bool device_memory = false;    // FI_MR_HMEM: it is registered before use
};

// One way to open one NIC.
struct NicChoice {
  fi_info* info;  // an element of `list`
  InfoList list;  // keeps it
  NicInfo described;
  Ask ask;  // the hints that `list` answers
};

// The NICs of `provider`: `efa` (with its software protocol), `efa-direct` (the device as it is),
// `tcp`, `shm`, or any other name that fi_info -l prints; with `-dgram` behind it (`efa-dgram`,
// `udp-dgram`), what the provider has for datagram endpoints, which libfabric keeps in domains of
// their own. A provider that has no reliable datagrams by itself comes as the library layers it
// (`tcp;ofi_rxm`). One entry per network interface: IPv4 before IPv6 where there are both.
//
// Beside messages and remote memory access, which a NIC must have, tags, directed and multi
// receives, sources, atomics and orders are asked for one by one where the provider does not grant
// all of them, and never at the price of a NIC.
//
// With `device_memory`, FI_HMEM is asked for in the same way.
//
// kNotFound: nothing fits; the message lists the providers that exist.
absl::StatusOr<std::vector<NicChoice>> SelectNics(Api& api, absl::string_view provider,
                                                  bool device_memory = false);

// Names of the providers that the library has, without duplicates, in its order.
std::vector<std::string> ProviderNames(Api& api);

// The same NIC with injects of `inject_bytes` (0: the default), and with FI_RX_CQ_DATA or without.
// For endpoints that differ from others of their domain. kUnimplemented: it has no such thing; the
// message names the option of EndpointOptions.
absl::StatusOr<NicChoice> SelectVariant(Api& api, const NicChoice& nic, std::size_t inject_bytes,
                                        bool receives_take_immediates);

// True for the providers whose error numbers are EFA's.
bool IsEfa(const fi_info& info);

// True where peers' immediates take a posted receive.
bool ReceivesTakeImmediates(const fi_info& info);

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_PROVIDER_SELECTION_H_
