// The source of each seed's conditions in an exploration: a fault plan, and the network's
// scheduler.

#ifndef DRYDOCK_SIM_EXPLORE_PLAN_SOURCE_H_
#define DRYDOCK_SIM_EXPLORE_PLAN_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/strategy/strategy.h"
#include "drydock/sim/profile/unpublished.h"

namespace drydock::sim::explore {

// The faults that a run of a scenario can have: those that the simulated NIC applies from within,
// and those that the decorator applies above it.
fabric::faults::Appliers AppliedFaults();

// A value. The plan is a function of the seed alone.
struct PlanSource {
  std::string name;  // none, swarm, or the plan's: for messages and replay commands
  std::function<fabric::faults::FaultPlan(std::uint64_t seed)> plan;
  Strategy strategy = {};
  // The NICs have hardly more than the scenario needs, where its needs are known (needs.h).
  bool tight = false;
  // Figures of the machines' profile that differ from it (profile_sweep.h); empty: none do.
  std::function<Figures(std::uint64_t seed)> figures = {};
};

PlanSource NoFaults();
PlanSource Swarm();
// The same plan for every seed; its rules' draws still depend on the seed.
PlanSource SamePlan(std::string name, fabric::faults::FaultPlan plan);

// Whether a run can have this plan. kInvalidArgument, kUnimplemented: one line that names the rule.
absl::Status CheckPlan(const fabric::faults::FaultPlan& plan);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_PLAN_SOURCE_H_
