// What explore was asked to run, read from its flags and checked.

#ifndef DRYDOCK_APPS_EXPLORE_ARGUMENTS_H_
#define DRYDOCK_APPS_EXPLORE_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/explore/coverage_flags.h"
#include "drydock/apps/explore/report.h"
#include "drydock/apps/explore/schedule_flags.h"
#include "drydock/apps/explore/shard_flags.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/parameters.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/scenario.h"

namespace drydock::apps {

struct Arguments {
  const sim::explore::Scenario* scenario = nullptr;
  Asked asked;
  sim::explore::PlanSource plans;
  std::optional<fabric::faults::FaultPlan> file;  // of --faults=FILE
  std::optional<std::uint64_t> seed;
  std::uint64_t jobs = 1;
  std::optional<ExhaustiveChoice> exhaustive;
  CoverageChoice coverage;
  sim::explore::Parameters parameters;
  std::optional<coro::Duration> heal_after;
  bool profile_sweep = false;  // each seed draws the figures of its machines
  ShardChoice shard;
  std::string corpus;  // folder of --corpus; empty: none
};

// kInvalidArgument, kNotFound, kUnimplemented: one line that names the flag.
absl::StatusOr<Arguments> ReadArguments(const std::vector<std::string>& positional);

// How the seeds are run, one or many.
sim::explore::ExploreOptions OptionsOf(const Arguments& arguments);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_ARGUMENTS_H_
