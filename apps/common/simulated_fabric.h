// The fabrics of a simulated machine. `efa-direct` is the device as it is, `efa` the software
// protocol on top of it; the simulator has these two and no others.

#ifndef DRYDOCK_APPS_COMMON_SIMULATED_FABRIC_H_
#define DRYDOCK_APPS_COMMON_SIMULATED_FABRIC_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/strings/string_view.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps {

// In the order in which libfabric's EFA provider lists them.
enum class SimulatedFabric : std::uint8_t { kEfaDirect, kEfa };

// All of them. Static storage.
std::span<const SimulatedFabric> SimulatedFabrics();
// Its name in --provider: efa-direct, efa.
absl::string_view NameOf(SimulatedFabric fabric);

// A fabric on a machine of the simulated world. World and node outlive it.
std::unique_ptr<fabric::Fabric> OpenSimulatedFabric(SimulatedFabric fabric, sim::World& world,
                                                    sim::Node& node);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_SIMULATED_FABRIC_H_
