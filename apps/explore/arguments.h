// What explore was asked to run, read from its flags and checked.

#ifndef APPS_EXPLORE_ARGUMENTS_H_
#define APPS_EXPLORE_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/explore/coverage_flags.h"
#include "apps/explore/report.h"
#include "apps/explore/schedule_flags.h"
#include "apps/explore/shard_flags.h"
#include "coro/time.h"
#include "fabric/faults/plan.h"
#include "sim/explore/explorer.h"
#include "sim/explore/parameters.h"
#include "sim/explore/plan_source.h"
#include "sim/explore/scenario.h"

namespace apps {

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
};

// kInvalidArgument, kNotFound, kUnimplemented: one line that names the flag.
absl::StatusOr<Arguments> ReadArguments(const std::vector<std::string>& positional);

// How the seeds are run, one or many.
sim::explore::ExploreOptions OptionsOf(const Arguments& arguments);

}  // namespace apps

#endif  // APPS_EXPLORE_ARGUMENTS_H_
