// The description of one NIC of a fabric: names, place, limits and capabilities.

#ifndef DRYDOCK_FABRIC_NIC_INFO_H_
#define DRYDOCK_FABRIC_NIC_INFO_H_

#include <cstdint>
#include <string>

#include "drydock/fabric/capability.h"
#include "drydock/fabric/limits.h"

namespace drydock::fabric {

// Of the NIC's port, as the kernel reports it. kUnknown: the provider does not report it.
enum class LinkState : std::uint8_t { kUnknown, kUp, kDown };

// A plain value: a snapshot from when the fabric was opened. Before a domain is opened, the limits
// are what the provider offers; Domain::nic() has what it granted. Unknown strings are empty, and
// unknown numbers negative or zero.
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

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_NIC_INFO_H_
