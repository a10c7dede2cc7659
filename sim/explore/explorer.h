// Runs many seeds of a scenario, in worker processes, and reports their verdicts.
//
// Processes, not threads: a seed that crashes or never ends costs its own process, and is a verdict
// with a seed like every other; and a program's globals cannot carry over from a seed on one core
// to a seed on another. They are forked, not started anew, so that a scenario needs no name that a
// second program would understand, and a worker costs a millisecond.
//
//   seeds ──► ranges ──► worker ──pipe──► verdicts ──► report: the same for any number of jobs
//                  └───► worker ──pipe──┘

#ifndef DRYDOCK_SIM_EXPLORE_EXPLORER_H_
#define DRYDOCK_SIM_EXPLORE_EXPLORER_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/coverage/report.h"
#include "drydock/sim/explore/parameters.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

struct ExploreOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1000;
  std::uint64_t jobs = 1;  // worker processes at the same time
  PlanSource plans = Swarm();
  // Every Nth seed is run twice, and the runs compared event by event; 0: none. Failing seeds
  // are always run again.
  std::uint64_t twice_every = 50;
  coro::Duration limit = kDefaultLimit;  // of virtual time, for one run
  Parameters parameters;                 // of the scenario, beside the usual ones
  // From this time of each run on no fault begins, and everything has to come to an end: see
  // RunSpec::heal_after.
  std::optional<coro::Duration> heal_after;
  // Of real time, for one seed: against a program that never waits. Generous: only for failing.
  coro::Duration patience = std::chrono::minutes(1);
  // How many seeds have ended; called after some of them, with rising numbers.
  std::function<void(std::uint64_t done)> progress = [](std::uint64_t) {};
  // A seed has ended; they do not end in their order.
  std::function<void(const SeedResult& result)> ended = [](const SeedResult&) {};
};

// One rule by its name, over all seeds.
struct RuleTotal {
  std::uint64_t seeds = 0;        // whose plan has it
  std::uint64_t fired_seeds = 0;  // in which it fired
  std::uint64_t eligible = 0;
  std::uint64_t fired = 0;
  std::uint64_t most_fired = 0;  // in one seed

  friend bool operator==(const RuleTotal&, const RuleTotal&) = default;
};

struct ExploreReport {
  // The lowest failing seeds that are told in full.
  static constexpr std::size_t kMostFailures = 10;

  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::array<std::uint64_t, kVerdictCount> counts{};
  std::map<Verdict, SeedResult> first;           // of each verdict that came up, its lowest seed
  std::map<std::uint64_t, SeedResult> failures;  // by seed, the lowest ones
  std::map<std::string, RuleTotal> rules;
  fabric::coverage::Report coverage;  // of all seeds

  // Takes in one more seed, or other seeds.
  void Add(const SeedResult& result);
  void Merge(const ExploreReport& other);

  std::uint64_t count(Verdict verdict) const { return counts[static_cast<std::size_t>(verdict)]; }
  std::uint64_t failed() const;

  friend bool operator==(const ExploreReport&, const ExploreReport&) = default;
};

// The run of one seed with these options.
RunSpec SpecOf(const ExploreOptions& options, std::uint64_t seed);

// kInvalidArgument: no seeds, no jobs, or seeds beyond 2^64.
absl::Status CheckOptions(const ExploreOptions& options);

// Runs them all. Nothing of the report depends on the number of jobs or on time, unless a seed ran
// out of patience. Errors: those of CheckOptions;
// kInvalidArgument: parameters that the scenario does not take; kInternal: no process to be had.
// REQUIRES: this process has one thread; every plan passes CheckPlan.
absl::StatusOr<ExploreReport> Explore(const Scenario& scenario, const ExploreOptions& options);

// kFailedPrecondition, one line: a rule of `plan`, which all seeds ran under, fired in no seed as
// often as it has to, or in some seed more often than it may.
absl::Status VerifyRules(const ExploreReport& report, const fabric::faults::FaultPlan& plan);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_EXPLORER_H_
