// Explorations of schedules instead of seeds: all orders of one seed, in this process.

#ifndef DRYDOCK_SIM_EXPLORE_SCHEDULES_H_
#define DRYDOCK_SIM_EXPLORE_SCHEDULES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"

namespace drydock::sim::explore {

struct OrdersOptions {
  std::uint64_t seed = 1;
  PlanSource plans = NoFaults();  // its strategy counts for nothing
  bool reduction = true;
  Grain grain = Grain::kOperations;
  std::uint64_t max_runs = 10000;        // redundant ones included
  coro::Duration limit = kDefaultLimit;  // of virtual time, for one run
  // How many runs have ended; called after each.
  std::function<void(std::uint64_t done)> progress = [](std::uint64_t) {};
};

struct OrdersReport {
  // The results of the orders; a result's seed is the number of its run, from 1 on. Failing orders
  // are run again, like failing seeds.
  ExploreReport orders;
  std::map<std::uint64_t, std::string> names;  // of the orders in orders.failures: see strategy.h
  std::uint64_t redundant = 0;                 // runs that were equivalent to one of the orders
  bool complete = false;                       // there are no more orders than these

  std::uint64_t runs() const { return orders.seeds + redundant; }
};

// Every order of one seed, as strategy/exhaustive.h explains. A program that crashes takes this
// process along. kInvalidArgument: max_runs is 0. REQUIRES: the seed's plan passes CheckPlan.
absl::StatusOr<OrdersReport> ExploreOrders(const Scenario& scenario, const OrdersOptions& options);

// How many steps this run has, without its faults and its strategy: what `pct` should reckon with.
std::size_t CountSteps(const Scenario& scenario, RunSpec run);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SCHEDULES_H_
