// The services that every part of one endpoint's protocol uses.

#ifndef DRYDOCK_SIM_RDM_SERVICES_H_
#define DRYDOCK_SIM_RDM_SERVICES_H_

#include <cstddef>
#include <cstdint>

#include "drydock/fabric/endpoint.h"
#include "drydock/sim/rdm/memory_registry.h"
#include "drydock/sim/rdm/packet_sender.h"
#include "drydock/sim/rdm/reporter.h"
#include "drydock/sim/rdm/settings.h"
#include "drydock/sim/rdm/statistics.h"

namespace drydock::sim::rdm {

// References to the parts; all outlive their users.
struct Services {
  const Settings& settings;
  std::size_t payload_bytes;    // of one packet, whatever its kind
  std::uint64_t max_rma_bytes;  // of one device write or read
  std::uint64_t features;       // of our own device: our handshake tells them
  MemoryRegistry& memory;
  fabric::Endpoint& device;
  PacketSender& packets;
  Reporter& reporter;
  Statistics& statistics;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_SERVICES_H_
