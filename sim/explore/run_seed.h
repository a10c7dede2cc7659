// From a scenario and a seed to a verdict, in this process.

#ifndef SIM_EXPLORE_RUN_SEED_H_
#define SIM_EXPLORE_RUN_SEED_H_

#include <chrono>
#include <cstdint>
#include <functional>

#include "coro/time.h"
#include "sim/explore/plan_source.h"
#include "sim/explore/scenario.h"
#include "sim/explore/verdict.h"
#include "sim/run_twice.h"

namespace sim::explore {

// Of virtual time: far beyond every time-out of a sensible program.
inline constexpr coro::Duration kDefaultLimit = std::chrono::minutes(2);

// What becomes of a seed whose program polls for ever though nothing is under way: nobody can make
// such a program return, so its process ends here. Must not return. Empty, which is the default:
// says on standard error what happened, and ends the process with status 1. Returns the one before.
using EndProcess = std::function<void(const SeedResult& result)>;
EndProcess SetEndProcess(EndProcess end);

// Runs the seed once. `watcher`, where given, is told of everything that happens. REQUIRES: the
// seed's plan passes CheckPlan, and the scenario's profile exists.
SeedResult RunSeed(const Scenario& scenario, std::uint64_t seed, const PlanSource& plans,
                   coro::Duration limit = kDefaultLimit, RunTwice* watcher = nullptr);

// The same, and once more when the verdict is a failure or `twice` is asked: kNondeterministic when
// the runs differ in verdict or digest. With `twice` the text names the first event that differs.
SeedResult RunSeedChecked(const Scenario& scenario, std::uint64_t seed, const PlanSource& plans,
                          bool twice, coro::Duration limit = kDefaultLimit);

// What a second run of a seed, which should have been as the first one, makes of its verdict.
SeedResult Nondeterministic(const SeedResult& first, const SeedResult& second);

}  // namespace sim::explore

#endif  // SIM_EXPLORE_RUN_SEED_H_
