// Which NICs a provider offers for what Drydock needs, as the library tells: nothing about a
// provider is assumed.

#ifndef FABRIC_LIBFABRIC_PROVIDER_SELECTION_H_
#define FABRIC_LIBFABRIC_PROVIDER_SELECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fabric/libfabric/api.h"
#include "fabric/nic_info.h"

namespace fabric::libfabric {

// A list of fi_info, freed with its last owner.
using InfoList = std::shared_ptr<fi_info>;

// One way to open one NIC.
struct NicChoice {
  fi_info* info;  // an element of `list`
  InfoList list;  // keeps it
  NicInfo described;
};

// The NICs of `provider`: `efa` (with its software protocol), `efa-direct` (the device as it is),
// `tcp`, `shm`, or any other name that fi_info -l prints. A provider that has no reliable datagrams
// by itself comes as the library layers it
// (`tcp;ofi_rxm`). One entry per network interface: IPv4 before IPv6 where there are both.
// kNotFound: nothing fits; the message lists the providers that exist.
absl::StatusOr<std::vector<NicChoice>> SelectNics(Api& api, absl::string_view provider);

// Names of the providers that the library has, without duplicates, in its order.
std::vector<std::string> ProviderNames(Api& api);

// What an fi_info says about its NIC, in the terms of the contract.
NicInfo Describe(const fi_info& info);

// True for the providers whose error numbers are EFA's.
bool IsEfa(const fi_info& info);

}  // namespace fabric::libfabric

#endif  // FABRIC_LIBFABRIC_PROVIDER_SELECTION_H_
