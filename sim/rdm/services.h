// What every part of one endpoint's protocol works with.

#ifndef SIM_RDM_SERVICES_H_
#define SIM_RDM_SERVICES_H_

#include <cstddef>
#include <cstdint>

#include "fabric/endpoint.h"
#include "sim/rdm/memory_registry.h"
#include "sim/rdm/packet_sender.h"
#include "sim/rdm/reporter.h"
#include "sim/rdm/settings.h"
#include "sim/rdm/statistics.h"

namespace sim::rdm {

// References to the parts; all outlive whoever uses them.
struct Services {
  const Settings& settings;
  std::size_t payload_bytes;    // of one packet, whatever its kind
  std::uint64_t max_rma_bytes;  // of one device write or read
  std::uint64_t features;       // of our own device: what our handshake tells
  MemoryRegistry& memory;
  fabric::Endpoint& device;
  PacketSender& packets;
  Reporter& reporter;
  Statistics& statistics;
};

}  // namespace sim::rdm

#endif  // SIM_RDM_SERVICES_H_
