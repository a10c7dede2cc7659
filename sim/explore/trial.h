// One run of one seed: a fresh world, its time, and the seed's faults around every machine.

#ifndef DRYDOCK_SIM_EXPLORE_TRIAL_H_
#define DRYDOCK_SIM_EXPLORE_TRIAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/explore/parameters.h"
#include "drydock/sim/explore/run_clock.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::explore {

// Not thread-safe. Outlives every fabric that was opened on it.
class Trial {
 public:
  // `profile` outlives the trial. After `limit` of virtual time the run counts as hanging.
  // `scheduler` schedules the network and outlives the trial; null: times are drawn.
  Trial(std::uint64_t seed, const Profile& profile,
        std::shared_ptr<fabric::faults::FaultEngine> engine, coro::Duration limit,
        Parameters parameters = {}, Scheduler* scheduler = nullptr);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  std::uint64_t seed() const { return world_.seed(); }
  World& world() { return world_; }
  // The clock of a scenario's loop: the world's time, up to the limit.
  RunClock& clock() { return clock_; }
  const fabric::faults::FaultEngine& engine() const { return *engine_; }
  // The size of this name. REQUIRES: the scenario declares it.
  std::uint64_t parameter(std::string_view name) const;

  // The fabric of a new machine, with the seed's faults.
  absl::StatusOr<std::unique_ptr<fabric::Fabric>> OpenMachine(std::string name);
  // The seed's faults around a fabric of this world.
  absl::StatusOr<std::unique_ptr<fabric::Fabric>> Decorate(std::unique_ptr<fabric::Fabric> fabric);

  // Wraps a fabric with its faults, for an observer of the run.
  using Wrapper = std::function<std::unique_ptr<fabric::Fabric>(std::unique_ptr<fabric::Fabric>)>;
  void set_wrapper(Wrapper wrapper) { wrapper_ = std::move(wrapper); }

 private:
  const std::shared_ptr<fabric::faults::FaultEngine> engine_;
  World world_;
  RunClock clock_;
  const Parameters parameters_;
  Wrapper wrapper_;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_TRIAL_H_
