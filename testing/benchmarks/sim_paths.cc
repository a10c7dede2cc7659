#include "testing/benchmarks/sim_paths.h"

#include "sim/profile.h"
#include "sim/sim_fabric.h"
#include "sim/world.h"
#include "testing/benchmarks/contract_path.h"

namespace bench {

absl::StatusOr<std::unique_ptr<WritePath>> OpenVirtualTimePath(const Buffers& buffers) {
  auto world = std::make_shared<sim::World>(/*seed=*/1, sim::Profiles().front());
  ContractBackend backend{.name = "sim, virtual time",
                          .keeps_alive = world,
                          .initiator = sim::OpenSimFabric(*world, world->AddNode("initiator")),
                          .target = sim::OpenSimFabric(*world, world->AddNode("target")),
                          .idle = world.get()};
  return ContractPath::Open(std::move(backend), buffers);
}

}  // namespace bench
