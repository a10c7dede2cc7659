#include "drydock/sim/explore/trial.h"

#include <utility>

#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/faulty_fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/events/timeline.h"

namespace drydock::sim::explore {

Trial::Trial(std::uint64_t seed, const Profile& profile,
             std::shared_ptr<fabric::faults::FaultEngine> engine, coro::Duration limit,
             Parameters parameters, Scheduler* scheduler)
    : engine_(std::move(engine)),
      world_(seed, profile),
      clock_(world_, limit),
      parameters_(std::move(parameters)) {
  world_.UseFaultEngine(engine_);
  if (scheduler != nullptr) world_.UseScheduler(*scheduler);
}

std::uint64_t Trial::parameter(std::string_view name) const {
  const auto found = parameters_.find(std::string(name));
  DD_CHECK(found != parameters_.end(), "the scenario declares the parameter");
  return found->second;
}

absl::StatusOr<std::unique_ptr<fabric::Fabric>> Trial::OpenMachine(std::string name) {
  return Decorate(OpenSimFabric(world_, world_.AddNode(std::move(name))));
}

absl::StatusOr<std::unique_ptr<fabric::Fabric>> Trial::Decorate(
    std::unique_ptr<fabric::Fabric> fabric) {
  fabric::faults::FaultyFabricOptions options;
  options.engine = engine_;
  options.clock = &world_.timeline().backstage();
  options.wake_at = [this](coro::Time time) { world_.timeline().WakeAt(time); };
  options.began = Timeline::kStart;
  ASSIGN_OR_RETURN(auto faulty, fabric::faults::OpenFaultyFabric(std::move(fabric), options));
  return wrapper_ ? wrapper_(std::move(faulty)) : std::move(faulty);
}

}  // namespace drydock::sim::explore
