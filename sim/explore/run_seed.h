// From a scenario and a seed to a verdict, in this process.

#ifndef DRYDOCK_SIM_EXPLORE_RUN_SEED_H_
#define DRYDOCK_SIM_EXPLORE_RUN_SEED_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/parameters.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/verdict.h"
#include "drydock/sim/profile/unpublished.h"
#include "drydock/sim/world/run_twice.h"

namespace drydock::sim::explore {

// Of virtual time: far beyond every time-out of a sensible program.
inline constexpr coro::Duration kDefaultLimit = std::chrono::minutes(2);

// Ends the process of a seed whose program polls for ever though nothing is under way, or posts to
// a full queue for ever and reads nothing: such a program cannot be made to return. Must not
// return. Empty, which is the default: prints the reason on standard error, and ends the process
// with status 1. Returns the one before.
using EndProcess = std::function<void(const SeedResult& result)>;
EndProcess SetEndProcess(EndProcess end);

// Everything that a run of a scenario is a function of.
struct RunSpec {
  std::uint64_t seed = 1;
  fabric::faults::FaultPlan plan;
  Parameters parameters;  // those that are not the usual ones
  coro::Duration limit = kDefaultLimit;
  Strategy strategy;   // of the network's scheduler
  bool tight = false;  // as PlanSource::tight
  Figures figures;     // of the machines' profile, where they differ from it
  // No fault begins from this time on: the program has to come to an end (Scenario::retries).
  std::optional<coro::Duration> heal_after;
  // Exactly these firings happen; absent: those that the plan's rules and the seed give.
  std::optional<std::vector<fabric::faults::FiringId>> firings;
  // The operations, by their sequence, that are not calm (sim/network/undisturbed.h); absent: all
  // of them.
  std::optional<std::vector<std::uint64_t>> disturbed;
};

// The run of a seed under `plans`.
RunSpec SpecOf(std::uint64_t seed, const PlanSource& plans, coro::Duration limit = kDefaultLimit);

// Sees a run from its world's first moment to its last.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // The world is made, with its faults and its scheduler, and the program has not begun. Both
  // arguments live until End returns.
  virtual void Begin(World& world, fabric::faults::FaultEngine& engine) = 0;
  // A fabric of the machine that the world got last is about to be used.
  virtual std::unique_ptr<fabric::Fabric> Wrap(World&, std::unique_ptr<fabric::Fabric> fabric) {
    return fabric;
  }
  // The program has returned, and the checks of the world's end were made. Not called where the
  // program never returns, which ends the process (SetEndProcess).
  virtual void End(World&, fabric::faults::FaultEngine&) {}
};

// Runs once. REQUIRES: the plan passes CheckPlan, the parameters CheckParameters, the figures
// CheckFigures, the firings are of the plan's rules, and the scenario's profile exists.
SeedResult RunOnce(const Scenario& scenario, const RunSpec& spec, RunObserver* observer = nullptr);

// The same, and once more when the verdict is a failure or `twice` is asked; see RunSeedChecked.
SeedResult RunChecked(const Scenario& scenario, const RunSpec& spec, bool twice);

// Runs the seed once. `watcher`, where given, is told of everything that happens. REQUIRES: the
// seed's plan passes CheckPlan, and the scenario's profile exists.
SeedResult RunSeed(const Scenario& scenario, std::uint64_t seed, const PlanSource& plans,
                   coro::Duration limit = kDefaultLimit, RunTwice* watcher = nullptr);

// The same, and once more when the verdict is a failure or `twice` is asked: kNondeterministic when
// the runs differ in verdict or digest. With `twice` the text names the first event that differs.
SeedResult RunSeedChecked(const Scenario& scenario, std::uint64_t seed, const PlanSource& plans,
                          bool twice, coro::Duration limit = kDefaultLimit);

// The verdict after a second run of a seed that should have been as the first one.
SeedResult Nondeterministic(const SeedResult& first, const SeedResult& second);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_RUN_SEED_H_
