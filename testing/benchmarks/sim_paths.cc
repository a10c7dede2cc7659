#include "drydock/testing/benchmarks/sim_paths.h"

#include <string>
#include <utility>

#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/benchmarks/contract_path.h"

namespace drydock::bench {

namespace {

// In real time, time passes by itself, and polling is what drives the devices.
absl::StatusOr<std::unique_ptr<WritePath>> OpenPath(const std::string& name,
                                                    const sim::WorldOptions& options,
                                                    const Buffers& buffers) {
  auto world = std::make_shared<sim::World>(/*seed=*/1, sim::Profiles().front(), options);
  const ContractBackend backend{
      .name = name,
      .keeps_alive = world,
      .initiator = sim::OpenSimFabric(*world, world->AddNode("initiator")),
      .target = sim::OpenSimFabric(*world, world->AddNode("target")),
      .idle = !world->IsVirtual() ? nullptr : world.get()};
  return OpenContractPath(backend, buffers);
}

}  // namespace

absl::StatusOr<std::unique_ptr<WritePath>> OpenVirtualTimePath(const Buffers& buffers) {
  return OpenPath("sim, virtual time", {}, buffers);
}

absl::StatusOr<std::unique_ptr<WritePath>> OpenLivePath(const Buffers& buffers) {
  return OpenPath("sim, real time", sim::kAsFastAsItGoes, buffers);
}

}  // namespace drydock::bench
