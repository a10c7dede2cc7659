// What a fabric says about one of its NICs.

#ifndef FABRIC_NIC_INFO_H_
#define FABRIC_NIC_INFO_H_

#include <cstdint>
#include <string>

#include "fabric/capability.h"
#include "fabric/limits.h"

namespace fabric {

enum class LinkState : std::uint8_t { kUnknown, kUp, kDown };

// Strings are empty and numbers negative or zero where the provider does not tell.
struct NicInfo {
  std::string name;              // EFA: rdmap79s0; tcp: the network interface
  std::string domain;            // the provider's domain name: rdmap79s0-rdm
  std::string provider;          // efa, tcp;ofi_rxm, shm, sim
  std::string fabric;            // libfabric's fabric name: efa, efa-direct, 127.0.0.0/8
  std::string pci_address;       // 0000:4f:00.0
  std::string vendor_device_id;  // 1d0f:efa1
  std::string address_format;    // FI_ADDR_EFA, FI_SOCKADDR_IN, FI_ADDR_STR
  int numa_node = -1;
  double link_gbps = 0;  // Gbit/s, decimal
  LinkState link_state = LinkState::kUnknown;
  Limits limits;
  CapabilitySet capabilities;
};

}  // namespace fabric

#endif  // FABRIC_NIC_INFO_H_
