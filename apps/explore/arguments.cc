#include "drydock/apps/explore/arguments.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/fault_flags.h"
#include "drydock/apps/explore/scenarios.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/profile_sweep.h"
#include "drydock/sim/profile/unpublished.h"

ABSL_FLAG(std::string, scenario, "write", "What to run; --list names them all.");
ABSL_FLAG(std::uint64_t, seeds, 1000, "How many seeds to run.");
ABSL_FLAG(std::uint64_t, first_seed, 1, "The first of them; the others follow it.");
ABSL_FLAG(std::string, seed, "",
          "Run this seed alone, in this process, and print its plan and its verdict.");
ABSL_FLAG(std::uint64_t, jobs, 0, "Worker processes; 0: as many as the machine has cores.");
ABSL_FLAG(std::uint64_t, twice_every, 50,
          "Run every Nth seed twice and compare the runs, event by event; 0: none. Seeds that "
          "fail are always run again.");
ABSL_FLAG(std::string, parameters, "",
          "Sizes of the scenario, pages=4,page_bytes=64 for one; --list names them.");
ABSL_FLAG(std::string, heal_after, "",
          "No fault begins after this virtual time of a run (20ms): every run must end then, and "
          "succeed if the scenario retries.");
ABSL_FLAG(
    bool, sweep, false,
    "Try every fault at every place, one run each: the n-th event fails, for n = 1, 2, 3, ... "
    "until a run has fewer events.");
ABSL_FLAG(
    bool, profile_sweep, false,
    "Draw what nobody has published of EFA, time-outs and delays, from its plausible range, by "
    "the seed; of a failure say on which of these figures it depends. With --list: the figures, "
    "their ranges and why.");
ABSL_FLAG(std::string, figures, "",
          "Run with these unpublished figures: unresponsive_timeout=10s,engine_window=1 for one.");
ABSL_FLAG(
    std::string, corpus, "",
    "Folder of runs that showed something new: they are run first, and most seeds have a plan "
    "made from one of theirs. What is new goes into it.");
ABSL_FLAG(bool, list, false, "Print the scenarios, and run nothing.");
ABSL_DECLARE_FLAG(std::string, faults);
ABSL_DECLARE_FLAG(std::string, require_covered);  // of coverage_flags.cc
ABSL_DECLARE_FLAG(std::string, until);
ABSL_DECLARE_FLAG(std::string, shard);    // of shard_flags.cc
ABSL_DECLARE_FLAG(std::string, results);  // of shard_flags.cc

namespace drydock::apps {
namespace {

absl::Status ChoosePlans(Arguments& arguments) {
  const std::string faults = absl::GetFlag(FLAGS_faults);
  arguments.asked.faults = faults.empty() ? "swarm" : faults;
  if (arguments.asked.faults == "swarm") {
    arguments.plans = sim::explore::Swarm();
  } else if (arguments.asked.faults == "none") {
    arguments.plans = sim::explore::NoFaults();
  } else {
    ASSIGN_OR_RETURN(const auto run,
                     FaultRun::Load(faults, /*seed=*/1, sim::explore::AppliedFaults().device));
    arguments.file = run->engine()->plan();
    arguments.plans = sim::explore::SamePlan(faults, *arguments.file);
    const absl::Status status = sim::explore::CheckPlan(*arguments.file);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("--faults=", faults, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<coro::Duration>> ReadHealAfter() {
  const std::string text = absl::GetFlag(FLAGS_heal_after);
  absl::Duration duration;
  if (text.empty()) return std::nullopt;
  if (!absl::ParseDuration(text, &duration) || duration < absl::ZeroDuration() ||
      duration == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--heal-after=", text, ": it takes a time such as 500us or 20ms"));
  }
  return absl::ToChronoNanoseconds(duration);
}

// The machines' figures that differ from their profile.
absl::Status ReadFigures(Arguments& arguments, std::vector<std::string>& flags) {
  const std::string text = absl::GetFlag(FLAGS_figures);
  arguments.profile_sweep = absl::GetFlag(FLAGS_profile_sweep);
  if (arguments.profile_sweep && !text.empty()) {
    return absl::InvalidArgumentError("--profile-sweep draws the figures: it takes no --figures");
  }
  if (arguments.profile_sweep) {
    arguments.plans = sim::explore::WithDrawnFigures(std::move(arguments.plans));
    flags.push_back("--profile-sweep");
  }
  if (text.empty()) return absl::OkStatus();
  const auto figures = sim::ParseFigures(text);
  if (!figures.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--figures=", text, ": ", figures.status().message()));
  }
  arguments.plans.figures = [figures = *figures](std::uint64_t) { return figures; };
  flags.push_back("--figures=" + text);
  return absl::OkStatus();
}

// The sizes and the healing, and how a replay command says them.
absl::Status ReadRunFlags(Arguments& arguments) {
  const std::string parameters = absl::GetFlag(FLAGS_parameters);
  absl::Status status;
  const auto values = sim::explore::ParseParameters(parameters);
  if (values.ok()) {
    arguments.parameters = *values;
    status = CheckParameters(arguments.scenario->parameters(), *values);
  } else {
    status = values.status();
  }
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--parameters=", parameters, ": ", status.message()));
  }
  ASSIGN_OR_RETURN(arguments.heal_after, ReadHealAfter());
  std::vector<std::string> flags;
  if (!parameters.empty()) flags.push_back("--parameters=" + parameters);
  if (arguments.heal_after.has_value()) {
    flags.push_back("--heal-after=" + absl::GetFlag(FLAGS_heal_after));
  }
  arguments.asked.other_flags = absl::StrJoin(flags, " ");
  RETURN_IF_ERROR(ReadFigures(arguments, flags));
  arguments.asked.flags = absl::StrJoin(flags, " ");
  return absl::OkStatus();
}

// Flags that would be ignored beside each other.
absl::Status CheckCombination(const Arguments& arguments, const ScheduleChoice& schedule) {
  const bool sized = !arguments.parameters.empty() || arguments.heal_after.has_value();
  if (schedule.exhaustive.has_value() && sized) {
    return absl::InvalidArgumentError(
        "--strategy=exhaustive takes neither --parameters nor --heal-after");
  }
  const bool figured = static_cast<bool>(arguments.plans.figures);
  if (figured && (schedule.exhaustive.has_value() || absl::GetFlag(FLAGS_sweep))) {
    return absl::InvalidArgumentError(
        "--profile-sweep and --figures are for seeds: not for --sweep or --strategy=exhaustive");
  }
  const bool other = schedule.exhaustive.has_value() || schedule.strategy.schedule != nullptr ||
                     !absl::GetFlag(FLAGS_faults).empty();
  if (absl::GetFlag(FLAGS_sweep) && other) {
    return absl::InvalidArgumentError(
        "--sweep makes its own faults: it takes neither --faults nor --strategy");
  }
  const bool alone = absl::GetFlag(FLAGS_sweep) || arguments.seed.has_value();
  if (alone) {
    RETURN_IF_ERROR(RefuseFlags({"seeds", "first-seed", "twice-every"}, "is for many seeds"));
  } else if (schedule.exhaustive.has_value()) {
    RETURN_IF_ERROR(RefuseFlags({"seeds", "twice-every"}, "is for many seeds"));
  }
  if (alone && !absl::GetFlag(FLAGS_until).empty()) {
    return absl::InvalidArgumentError("--until is for many seeds");
  }
  if (absl::GetFlag(FLAGS_sweep) && !absl::GetFlag(FLAGS_require_covered).empty()) {
    return absl::InvalidArgumentError("--sweep counts no coverage: it takes no --require-covered");
  }
  return absl::OkStatus();
}

// Only many seeds have parts: of the environment's shards anything else takes no notice.
absl::Status ReadShard(Arguments& arguments) {
  const bool many = !arguments.seed.has_value() && !arguments.exhaustive.has_value() &&
                    !absl::GetFlag(FLAGS_sweep) && !absl::GetFlag(FLAGS_list);
  if (many) {
    ASSIGN_OR_RETURN(arguments.shard, ReadShardFlags());
  } else if (!absl::GetFlag(FLAGS_shard).empty() || !absl::GetFlag(FLAGS_results).empty()) {
    return absl::InvalidArgumentError("--shard and --results are for many seeds");
  }
  const bool parts = arguments.shard.shard.count > 1 || !arguments.shard.results.empty();
  if (parts && arguments.coverage.until_block > 0) {
    return absl::InvalidArgumentError(
        "--until looks at all seeds: it takes neither shards nor --results");
  }
  return absl::OkStatus();
}

// A corpus is of many seeds with plans of their own.
absl::Status ReadCorpusFlag(Arguments& arguments) {
  arguments.corpus = absl::GetFlag(FLAGS_corpus);
  if (arguments.corpus.empty()) return absl::OkStatus();
  if (arguments.seed.has_value() || arguments.exhaustive.has_value() ||
      absl::GetFlag(FLAGS_sweep)) {
    return absl::InvalidArgumentError("--corpus is for many seeds");
  }
  if (arguments.asked.faults != "swarm") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--corpus changes the plans of the swarm: it takes no --faults=", arguments.asked.faults));
  }
  if (!arguments.shard.results.empty() || arguments.coverage.until_block > 0 ||
      arguments.profile_sweep) {
    return absl::InvalidArgumentError(
        "--corpus changes what a seed means: it takes no --results, --until or --profile-sweep");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Arguments> ReadArguments(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", positional[0], "' is no flag, and there is nothing else to give"));
  }
  Arguments arguments;
  arguments.asked.scenario = absl::GetFlag(FLAGS_scenario);
  ASSIGN_OR_RETURN(arguments.scenario, FindScenario(arguments.asked.scenario));
  RETURN_IF_ERROR(ChoosePlans(arguments));
  RETURN_IF_ERROR(ReadRunFlags(arguments));
  const std::string seed = absl::GetFlag(FLAGS_seed);
  if (!seed.empty()) {
    std::uint64_t number = 0;
    if (!absl::SimpleAtoi(seed, &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--seed=", seed, ": it takes a whole number from 0 to 2^64-1"));
    }
    arguments.seed = number;
  }
  const std::uint64_t first = arguments.seed.value_or(absl::GetFlag(FLAGS_first_seed));
  ASSIGN_OR_RETURN(ScheduleChoice schedule,
                   ReadScheduleFlags(*arguments.scenario, SpecOf(OptionsOf(arguments), first)));
  arguments.exhaustive = schedule.exhaustive;
  RETURN_IF_ERROR(CheckCombination(arguments, schedule));
  arguments.asked.strategy =
      schedule.exhaustive.has_value() ? "exhaustive" : schedule.strategy.name;
  arguments.plans.strategy = std::move(schedule.strategy);
  ASSIGN_OR_RETURN(arguments.coverage, ReadCoverageFlags());
  arguments.asked.coverage = arguments.coverage.detail;
  RETURN_IF_ERROR(ReadShard(arguments));
  RETURN_IF_ERROR(ReadCorpusFlag(arguments));
  arguments.jobs = absl::GetFlag(FLAGS_jobs);
  if (arguments.jobs == 0) arguments.jobs = std::max(1u, std::thread::hardware_concurrency());
  return arguments;
}

sim::explore::ExploreOptions OptionsOf(const Arguments& arguments) {
  sim::explore::ExploreOptions options;
  options.first_seed = absl::GetFlag(FLAGS_first_seed);
  options.seeds = absl::GetFlag(FLAGS_seeds);
  options.jobs = arguments.jobs;
  options.twice_every = absl::GetFlag(FLAGS_twice_every);
  options.plans = arguments.plans;
  options.parameters = arguments.parameters;
  options.heal_after = arguments.heal_after;
  return options;
}

}  // namespace drydock::apps
