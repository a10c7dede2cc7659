// Runs the transfers of every chosen NIC under one policy, on the simulator or on this machine.

#ifndef DRYDOCK_APPS_AFFINITY_RUNS_H_
#define DRYDOCK_APPS_AFFINITY_RUNS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/affinity/lane.h"
#include "drydock/apps/affinity/plan.h"
#include "drydock/apps/common/backend_choice.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/coro/time.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::affinity {

struct SeatResult {
  Seat seat;
  coro::Duration pages_took{};  // all pages of the load, with the other NICs at work
  coro::Duration write_took{};  // one small write, mean; nothing else is under way on this NIC
};

struct SimulatedRun {
  const sim::Profile* profile = nullptr;
  SimulatedFabric fabric = SimulatedFabric::kEfaDirect;
  std::uint64_t seed = 1;
  Load load;
  MetricsRun* metrics = nullptr;       // null: the NICs' counters are not read
  std::string label;                   // of these metrics
  std::function<void()> tick = [] {};  // called 1 + seats times on the way
  const TraceRun* trace = nullptr;     // observes the run, and outlives it; null: none
};

// Two machines of the profile; the first one's NICs write to those of the second one. Memory and
// threads of both are where the seats say. Times are virtual. Errors: those of Lane; kInternal: the
// simulator found that a rule of RDMA was broken.
absl::StatusOr<std::vector<SeatResult>> RunSimulated(const SimulatedRun& run,
                                                     std::span<const Seat> seats);

struct MeasuredRun {
  BackendOptions backend;    // no simulator
  bool bind_memory = false;  // else it is wherever the system puts it: a machine of one node
  Load load;
  MetricsRun* metrics = nullptr;    // as above
  const TraceRun* trace = nullptr;  // as above
};

// On this machine: a thread for each NIC, pinned to its seat's CPUs, with both ends of the
// transfer. Errors: those of Lane and of pages.h.
absl::StatusOr<std::vector<SeatResult>> RunMeasured(const MeasuredRun& run,
                                                    std::span<const Seat> seats);

}  // namespace drydock::apps::affinity

#endif  // DRYDOCK_APPS_AFFINITY_RUNS_H_
