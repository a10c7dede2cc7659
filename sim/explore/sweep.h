// Tests a program with each error at each of its steps, without luck: the n-th event that a fault
// can happen to fails, for n = 1, 2, 3, ... until a run comes to its end before; one fault after
// the other.

#ifndef DRYDOCK_SIM_EXPLORE_SWEEP_H_
#define DRYDOCK_SIM_EXPLORE_SWEEP_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

// One row of the matrix.
struct SweepCase {
  fabric::faults::Fault fault;
  bool sticky = false;  // the n-th event fails, and all after it

  friend bool operator==(const SweepCase&, const SweepCase&) = default;
};

// Every strict fault by which a call or an operation fails (a plan's opening, insert and outcome
// faults) that a run applies, once and sticky.
std::vector<SweepCase> SweepCases();

// "remote_address, sticky".
std::string Name(const SweepCase& which);

// The plan of one run: its rule has the fault's name.
fabric::faults::FaultPlan SweepPlan(const SweepCase& which, std::uint64_t n);

struct SweepRow {
  SweepCase which;
  std::uint64_t runs = 0;  // the one in which nothing fired included
  std::array<std::uint64_t, kVerdictCount> counts{};
  // The first run that fails, and which one it was.
  std::optional<std::uint64_t> failing;
  std::optional<SeedResult> failure;
  bool complete = true;  // false: it was the limit of n that ended it
};

// Of a program that does not end by itself.
inline constexpr std::uint64_t kMostSweepRuns = 10000;

// `run`: one run with this plan, with the count of its rule: one in which it did not fire, or of
// which nothing is known, ends the row.
SweepRow SweepOne(const SweepCase& which,
                  const std::function<SeedResult(const fabric::faults::FaultPlan& plan)>& run,
                  std::uint64_t most = kMostSweepRuns);

struct SweepOptions {
  // Seed, parameters, limit and healing of every run; its plan and firings do not count.
  RunSpec run;
  std::uint64_t most = kMostSweepRuns;  // of n
  coro::Duration patience = std::chrono::minutes(1);
  // Called before each row, with how many are done.
  std::function<void(std::uint64_t rows)> progress = [](std::uint64_t) {};
};

// All cases, in their order; each run in a child process. kInternal: no process to be had.
// REQUIRES: this process has one thread; the parameters pass CheckParameters.
absl::StatusOr<std::vector<SweepRow>> Sweep(const Scenario& scenario, const SweepOptions& options);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SWEEP_H_
