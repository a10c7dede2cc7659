#include "drydock/sim/explore/plan_source.h"

#include <memory>
#include <utility>

#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/faults/faulty_fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/explore/swarm.h"
#include "drydock/sim/faults/device_faults.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::explore {

using fabric::faults::FaultEngine;
using fabric::faults::FaultPlan;

fabric::faults::Appliers AppliedFaults() {
  return {.device = DeviceFaults(), .decorator = FaultsOf(fabric::faults::Layer::kDecorator)};
}

PlanSource NoFaults() {
  return {"none", [](std::uint64_t) { return FaultPlan(); }, {}};
}

PlanSource Swarm() {
  return {"swarm", [](std::uint64_t seed) { return SwarmPlan(seed, AppliedFaults()); }, {}, true};
}

PlanSource SamePlan(std::string name, FaultPlan plan) {
  return {std::move(name), [plan = std::move(plan)](std::uint64_t) { return plan; }, {}};
}

absl::Status CheckPlan(const FaultPlan& plan) {
  ASSIGN_OR_RETURN(std::shared_ptr<FaultEngine> engine,
                   FaultEngine::Create(plan, /*seed=*/1, AppliedFaults()));
  // A layer's own refusals show when it is opened.
  World world(/*seed=*/1, **FindProfile("small"));
  world.UseFaultEngine(engine);
  return fabric::faults::OpenFaultyFabric(OpenSimFabric(world, world.AddNode("a")),
                                          {.engine = std::move(engine), .clock = &world})
      .status();
}

}  // namespace drydock::sim::explore
