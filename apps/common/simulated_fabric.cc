#include "drydock/apps/common/simulated_fabric.h"

#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/rdm/sim_rdm_fabric.h"

namespace drydock::apps {

std::span<const SimulatedFabric> SimulatedFabrics() {
  static constexpr SimulatedFabric kAll[] = {SimulatedFabric::kEfaDirect, SimulatedFabric::kEfa};
  return kAll;
}

absl::string_view NameOf(SimulatedFabric fabric) {
  return fabric == SimulatedFabric::kEfa ? "efa" : "efa-direct";
}

std::unique_ptr<fabric::Fabric> OpenSimulatedFabric(SimulatedFabric fabric, sim::World& world,
                                                    sim::Node& node) {
  if (fabric == SimulatedFabric::kEfa) return sim::rdm::OpenSimRdmFabric(world, node);
  return sim::OpenSimFabric(world, node);
}

}  // namespace drydock::apps
