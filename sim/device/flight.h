// How a packet gets from one NIC to another, fault plan included.

#ifndef DRYDOCK_SIM_DEVICE_FLIGHT_H_
#define DRYDOCK_SIM_DEVICE_FLIGHT_H_

#include <cstdint>

#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/network/wire.h"

namespace drydock::sim {

// The flight of packet `packet`, as a fault plan wants it.
Flight FlyAsPlanned(Surroundings& around, NicState& from, const NicState& to, Operation& operation,
                    DrawPurpose purpose, std::uint32_t packet);

// The flight of packet `packet`, which leaves `from` now. It may be the packet with which a fault
// plan brings its machine down.
inline Flight Fly(Surroundings& around, NicState& from, const NicState& to, Operation& operation,
                  DrawPurpose purpose, std::uint32_t packet) {
  if (around.faults != nullptr) [[unlikely]] {
    return FlyAsPlanned(around, from, to, operation, purpose, packet);
  }
  return around.wire.Send(from.port, to.port, operation.draws, purpose, packet,
                          operation.undisturbed);
}

// The fate of a packet by which an operation looks for a receive again (DrawPurpose::kRequest), or
// hears that there is none (kAnswer), and which leaves `from` now.
DepartureVerdict NoticeLeaves(Surroundings& around, NicState& from, const NicState& to,
                              const Operation& operation, DrawPurpose purpose);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_FLIGHT_H_
