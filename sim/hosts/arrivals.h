// Turns the messages of another process into events of our world. Their fields are not trusted.

#ifndef DRYDOCK_SIM_HOSTS_ARRIVALS_H_
#define DRYDOCK_SIM_HOSTS_ARRIVALS_H_

#include <cstdint>

#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/surroundings.h"

namespace drydock::sim {

// A packet of `shadow` arrives now at its peer, a NIC of ours. `flags`: PacketFlags of the message;
// `bytes`: of the payload, in it.
void ArrivePacket(Surroundings& around, Operation& shadow, std::uint32_t flags,
                  std::uint64_t bytes);

// The same of data that our `operation` reads.
void ArriveReadData(Surroundings& around, Operation& operation, std::uint32_t flags,
                    std::uint64_t bytes);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_ARRIVALS_H_
