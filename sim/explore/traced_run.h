// One run with its trace, in this process or in a child of its own.

#ifndef DRYDOCK_SIM_EXPLORE_TRACED_RUN_H_
#define DRYDOCK_SIM_EXPLORE_TRACED_RUN_H_

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/verdict.h"
#include "drydock/sim/world/run_trace.h"

namespace drydock::sim::explore {

struct TracedRun {
  SeedResult result;
  std::shared_ptr<const RunTrace> trace;
};

// In this process. REQUIRES: as RunOnce.
TracedRun RunTraced(const Scenario& scenario, const RunSpec& spec);

// In a child process: a crash is a verdict, and so is a program that runs on for `patience` of real
// time without ever waiting. kInternal: no process to be had. REQUIRES: as RunOnce; this process
// has one thread.
absl::StatusOr<TracedRun> RunIsolated(const Scenario& scenario, const RunSpec& spec,
                                      coro::Duration patience = std::chrono::minutes(1));

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_TRACED_RUN_H_
