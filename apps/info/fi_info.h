// NICs in the words of libfabric: text in the shape of `fi_info -v` (ofiwg/libfabric
// util/info.c and src/fi_tostr.c), reduced to what this project knows of a NIC.

#ifndef DRYDOCK_APPS_INFO_FI_INFO_H_
#define DRYDOCK_APPS_INFO_FI_INFO_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drydock/fabric/nic_info.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::info {

// One entry of fi_getinfo's list.
struct FiInfo {
  fabric::NicInfo nic;
  bool datagram = false;                     // FI_EP_DGRAM, otherwise FI_EP_RDM
  std::optional<std::size_t> ordered_bytes;  // max_order_{raw,war,waw}_size, where known
};

// What the EFA provider lists on the machine of `profile`, given the NICs of its simulated device:
// `efa-direct`, then the `efa` fabric's reliable endpoints, then its datagram endpoints, each for
// every NIC. The figures are the provider's; a simulated `efa` fabric keeps a few regions of memory
// for itself.
std::vector<FiInfo> EfaProviderList(const sim::Profile& profile,
                                    std::span<const fabric::NicInfo> device_nics);

// What a real provider listed. A real NIC has datagram endpoints only if it is one of theirs.
std::vector<FiInfo> RealProviderList(std::span<const fabric::NicInfo> nics);

// Every entry, each after a line "---". Fields that are not known are left out.
std::string FormatFiInfo(std::span<const FiInfo> entries);

}  // namespace drydock::apps::info

#endif  // DRYDOCK_APPS_INFO_FI_INFO_H_
