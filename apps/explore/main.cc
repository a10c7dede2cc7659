// The explore program: see README.md in this folder.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "apps/common/command_line.h"
#include "apps/common/fault_flags.h"
#include "apps/common/progress.h"
#include "apps/common/report/output_flags.h"
#include "apps/explore/capsule_commands.h"
#include "apps/explore/coverage_flags.h"
#include "apps/explore/report.h"
#include "apps/explore/scenarios.h"
#include "apps/explore/schedule_flags.h"
#include "apps/explore/trace_once.h"
#include "coro/status_macros.h"
#include "coro/steady_clock.h"
#include "sim/explore/capsule.h"
#include "sim/explore/explorer.h"
#include "sim/explore/parameters.h"
#include "sim/explore/plan_source.h"
#include "sim/explore/replay.h"
#include "sim/explore/schedules.h"
#include "sim/explore/shrink.h"
#include "sim/explore/sweep.h"
#include "sim/explore/traced_run.h"
#include "sim/explore/until_covered.h"

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
ABSL_FLAG(std::string, capsules, "",
          "Folder for a capsule of each of the first failures: a file that --replay and --shrink "
          "take. Without it: drydock-capsules, beside temporary files. none: none.");
ABSL_FLAG(std::string, replay, "", "Run this capsule, and report differences.");
ABSL_FLAG(std::string, shrink, "",
          "Make this capsule's failure as small as possible, and explain it.");
ABSL_FLAG(
    std::string, out, "",
    "Where --shrink writes the small capsule; without it: FILE.min. With --seed and --replay: "
    "where a capsule of that run goes.");
ABSL_FLAG(
    bool, sweep, false,
    "Try every fault at every place, one run each: the n-th event fails, for n = 1, 2, 3, ... "
    "until a run has fewer events.");
ABSL_FLAG(bool, list, false, "Print the scenarios, and run nothing.");
ABSL_DECLARE_FLAG(std::string, faults);
ABSL_DECLARE_FLAG(std::string, strategy);  // of schedule_flags.cc

namespace apps {
namespace {

using sim::explore::ExploreOptions;
using sim::explore::ExploreReport;
using sim::explore::OrdersOptions;
using sim::explore::OrdersReport;
using sim::explore::PlanSource;
using sim::explore::RunSpec;
using sim::explore::Scenario;
using sim::explore::SeedResult;

const Usage kUsage = {
    "explore",
    "runs a scenario with many seeds, each with its own faults, and reports the seeds that fail.",
    "[--scenario=NAME] [--seeds=N] [--faults=swarm|none|FILE]   many seeds; swarm is the default\n"
    "--scenario=NAME [--faults=...] --seed=N                    one seed, in full\n"
    "--strategy=exhaustive [--seed=N] [--max-runs=N]            all orders of one seed\n"
    "--sweep [--scenario=NAME]                                  every fault at every place\n"
    "--replay=FILE                                              a capsule: what failed, again\n"
    "--shrink=FILE [--out=FILE]                                 the same, as small as it can be\n"
    "--list                                                     the scenarios",
    "  explore                                       the write program, 1000 seeds of the swarm\n"
    "  explore --scenario=write-last --seeds=100     finds a protocol that is wrong on EFA\n"
    "  explore --scenario=write-last --seed=1        one of those seeds: its faults, its verdict\n"
    "  explore --scenario=barrier --faults=none      no fault at all\n"
    "  explore --faults=plan.json --json             the same plan for all seeds, for a script\n"
    "  explore --strategy=pct:3                      another search: orders that are rare\n"
    "  explore --scenario=write-last --faults=none --strategy=exhaustive   all orders\n"
    "  explore --require-covered=FILE                fails when the seeds saw too little\n"
    "  explore --sweep --scenario=ping-pong          every status of the device at every place\n"
    "  explore --shrink=/tmp/drydock-capsules/write-last-1-wrong-data.capsule\n"
    "  explore --scenario=write-last --seed=1 --trace=seed1.html   that run, as a picture\n"
    "\nVerdicts. Fine: correct; clean-error (it said so, and a fault had happened). Failures:\n"
    "unexplained-error (no fault had happened), wrong-data, hang, finding (it broke a rule of\n"
    "RDMA), nondeterministic (two runs of the seed differ), crash.\n"
    "\nExit status: 0 all fine, 1 a seed failed, a rule of FILE never fired or something required\n"
    "was not covered, 2 bad input. With --replay: 1 when the verdict is a failure now; with\n"
    "--shrink: 1 when there is nothing to shrink."};

struct Arguments {
  const Scenario* scenario = nullptr;
  Asked asked;
  PlanSource plans;
  std::optional<fabric::faults::FaultPlan> file;  // of --faults=FILE
  std::optional<std::uint64_t> seed;
  std::uint64_t jobs = 1;
  std::optional<ExhaustiveChoice> exhaustive;
  CoverageChoice coverage;
  sim::explore::Parameters parameters;
  std::optional<coro::Duration> heal_after;
};

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
  const bool other = schedule.exhaustive.has_value() || schedule.strategy.schedule != nullptr ||
                     !absl::GetFlag(FLAGS_faults).empty();
  if (absl::GetFlag(FLAGS_sweep) && other) {
    return absl::InvalidArgumentError(
        "--sweep makes its own faults: it takes neither --faults nor --strategy");
  }
  return absl::OkStatus();
}

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
  ASSIGN_OR_RETURN(ScheduleChoice schedule, ReadScheduleFlags(*arguments.scenario, first));
  arguments.exhaustive = schedule.exhaustive;
  RETURN_IF_ERROR(CheckCombination(arguments, schedule));
  arguments.asked.strategy =
      schedule.exhaustive.has_value() ? "exhaustive" : schedule.strategy.name;
  arguments.plans.strategy = std::move(schedule.strategy);
  ASSIGN_OR_RETURN(arguments.coverage, ReadCoverageFlags());
  arguments.asked.coverage = arguments.coverage.detail;
  arguments.jobs = absl::GetFlag(FLAGS_jobs);
  if (arguments.jobs == 0) arguments.jobs = std::max(1u, std::thread::hardware_concurrency());
  return arguments;
}

ExploreOptions OptionsOf(const Arguments& arguments) {
  ExploreOptions options;
  options.plans = arguments.plans;
  options.parameters = arguments.parameters;
  options.heal_after = arguments.heal_after;
  return options;
}

// Writes the capsule where --out says so. Anything but OK: the exit status.
int WriteOut(const sim::explore::Capsule& capsule) {
  const std::string out = absl::GetFlag(FLAGS_out);
  if (out.empty()) return kExitOk;
  const absl::Status written = WriteCapsule(out, capsule);
  return written.ok() ? kExitOk : ReportError(kUsage.name, written);
}

// Prints text, or what a script has asked for in its place.
void Print(const std::string& text, const std::string& json, const std::string& csv = "") {
  const OutputForm form = OutputFormFromFlags().value_or(OutputForm::kText);
  std::cout << (form == OutputForm::kJson ? json + "\n" : form == OutputForm::kCsv ? csv : text);
}

int RunOneSeed(const Arguments& arguments) {
  const std::uint64_t seed = *arguments.seed;
  const fabric::faults::FaultPlan plan = arguments.plans.plan(seed);
  const auto print = [&](const SeedResult& result) {
    Print(FormatSeed(arguments.asked, plan, result), SeedJson(arguments.asked, plan, result),
          SeedCsv(result));
    std::cout << std::flush;
  };
  sim::explore::SetEndProcess([&](const SeedResult& result) {
    print(result);
    std::_Exit(kExitFailed);
  });
  const RunSpec spec = SpecOf(OptionsOf(arguments), seed);
  if (TraceIsAsked()) {
    const absl::Status traced = TraceOnce(*arguments.scenario, spec);
    if (!traced.ok()) return ReportError(kUsage.name, traced);
  }
  const SeedResult result = RunChecked(*arguments.scenario, spec, /*twice=*/true);
  print(result);
  if (!absl::GetFlag(FLAGS_out).empty()) {
    const auto run = RunIsolated(*arguments.scenario, spec);
    if (!run.ok()) return ReportError(kUsage.name, run.status());
    const int written = WriteOut(MakeCapsule(*arguments.scenario, spec, *run));
    if (written != kExitOk) return written;
  }
  if (IsFailure(result.verdict)) return kExitFailed;
  const absl::Status covered = CheckCovered(arguments.coverage, result.coverage);
  return covered.ok() ? kExitOk : ReportError(kUsage.name, covered);
}

// All seeds, or as many as it takes; `end` says why they were enough.
absl::StatusOr<ExploreReport> ExploreAsAsked(const Arguments& arguments,
                                             const ExploreOptions& options, std::string& end) {
  const std::uint64_t block = arguments.coverage.until_block;
  if (block == 0) return Explore(*arguments.scenario, options);
  ASSIGN_OR_RETURN(auto covered, ExploreUntilCovered(*arguments.scenario, options, block));
  end = covered.covered ? absl::StrCat("covered: the last ", block, " seeds showed nothing new\n")
                        : absl::StrCat("not covered with ", covered.report.seeds, " seeds",
                                       covered.never_held.empty() ? "" : ": never held: ",
                                       absl::StrJoin(covered.never_held, ", "), "\n");
  return std::move(covered.report);
}

int ReplayFile(const std::string& path) {
  const auto capsule = sim::explore::ReadCapsule(path);
  if (!capsule.ok()) return ReportError(kUsage.name, capsule.status());
  const auto scenario = FindScenario(capsule->scenario);
  if (!scenario.ok()) return ReportError(kUsage.name, scenario.status());
  if (TraceIsAsked()) {
    const absl::Status traced = TraceOnce(**scenario, capsule->run);
    if (!traced.ok()) return ReportError(kUsage.name, traced);
  }
  const auto replay = ReplayCapsule(**scenario, *capsule);
  if (!replay.ok()) return ReportError(kUsage.name, replay.status());
  Print(FormatReplay(*capsule, *replay), ReplayJson(*capsule, *replay));
  const int written = WriteOut(MakeCapsule(**scenario, capsule->run, replay->run));
  if (written != kExitOk) return written;
  return IsFailure(replay->run.result.verdict) ? kExitFailed : kExitOk;
}

int ShrinkFile(const std::string& path) {
  const auto capsule = sim::explore::ReadCapsule(path);
  if (!capsule.ok()) return ReportError(kUsage.name, capsule.status());
  const auto scenario = FindScenario(capsule->scenario);
  if (!scenario.ok()) return ReportError(kUsage.name, scenario.status());
  sim::explore::ShrinkOptions options;
  options.isolate = true;  // what it becomes on the way may be a crash
  const auto report = Shrink(**scenario, *capsule, options);
  if (!report.ok()) return ReportError(kUsage.name, report.status());
  std::string out = absl::GetFlag(FLAGS_out);
  if (out.empty()) out = path + ".min";
  const absl::Status written = WriteCapsule(out, report->capsule);
  if (!written.ok()) return ReportError(kUsage.name, written);
  Print(FormatShrink(*report, out), ShrinkJson(*report, out));
  return kExitOk;
}

// Where a capsule of each failure is; empty: nowhere. Says so when one could not be written.
CapsulePaths KeepCapsules(const Arguments& arguments, const std::vector<FailedRun>& failures,
                          absl::Status& status) {
  std::string folder = absl::GetFlag(FLAGS_capsules);
  if (folder == "none") return {};
  if (folder.empty()) folder = DefaultCapsuleFolder();
  auto paths = WriteCapsules(*arguments.scenario, failures, folder);
  status = paths.status();
  return paths.ok() ? *std::move(paths) : CapsulePaths();
}

int RunSweep(const Arguments& arguments) {
  coro::SteadyClock clock;
  sim::explore::SweepOptions options;
  options.run.seed = arguments.seed.value_or(1);
  options.run.parameters = arguments.parameters;
  options.run.heal_after = arguments.heal_after;
  Work work;
  work.what = "faults";
  work.total = sim::explore::SweepCases().size();
  Progress progress(work, clock);
  options.progress = [&](std::uint64_t rows) { progress.Update(rows); };
  const auto rows = Sweep(*arguments.scenario, options);
  progress.Hide();
  if (!rows.ok()) return ReportError(kUsage.name, rows.status());
  absl::Status kept;
  const CapsulePaths capsules = KeepCapsules(arguments, FailuresOf(options, *rows), kept);
  Print(FormatSweep(*rows, capsules), SweepJson(*rows, capsules));
  if (!kept.ok()) return ReportError(kUsage.name, kept);
  const bool failed = std::any_of(rows->begin(), rows->end(),
                                  [](const auto& row) { return row.failing.has_value(); });
  return failed ? kExitFailed : kExitOk;
}

int RunManySeeds(const Arguments& arguments) {
  coro::SteadyClock clock;
  ExploreOptions options = OptionsOf(arguments);
  options.first_seed = absl::GetFlag(FLAGS_first_seed);
  options.seeds = absl::GetFlag(FLAGS_seeds);
  options.jobs = arguments.jobs;
  options.twice_every = absl::GetFlag(FLAGS_twice_every);
  Work work;
  work.what = "seeds";
  work.total = options.seeds;
  work.rate = true;
  Progress progress(work, clock);
  options.progress = [&](std::uint64_t done) { progress.Update(done); };
  const coro::Time start = clock.Now();
  std::string end;
  const absl::StatusOr<ExploreReport> report = ExploreAsAsked(arguments, options, end);
  progress.Hide();
  if (!report.ok()) return ReportError(kUsage.name, report.status());
  const coro::Duration elapsed = clock.Now() - start;
  Asked asked = arguments.asked;
  absl::Status kept;
  asked.capsules = KeepCapsules(arguments, FailuresOf(options, *report), kept);
  Print(FormatReport(asked, *report, elapsed) + end, ReportJson(asked, *report, elapsed),
        VerdictsCsv(*report));
  if (!kept.ok()) return ReportError(kUsage.name, kept);
  if (report->failed() > 0) return kExitFailed;
  const absl::Status covered = CheckCovered(arguments.coverage, report->coverage);
  if (!covered.ok()) return ReportError(kUsage.name, covered);
  if (!arguments.file.has_value()) return kExitOk;
  const absl::Status fired = VerifyRules(*report, *arguments.file);
  return fired.ok() ? kExitOk : ReportError(kUsage.name, fired);
}

int RunAllOrders(const Arguments& arguments) {
  coro::SteadyClock clock;
  OrdersOptions options;
  options.seed = arguments.seed.value_or(absl::GetFlag(FLAGS_first_seed));
  options.plans = arguments.plans;
  options.reduction = arguments.exhaustive->reduction;
  options.grain = arguments.exhaustive->grain;
  options.max_runs = arguments.exhaustive->max_runs;
  Work work;
  work.what = "runs";
  work.total = options.max_runs;
  work.rate = true;
  Progress progress(work, clock);
  options.progress = [&](std::uint64_t done) { progress.Update(done); };
  const coro::Time start = clock.Now();
  const absl::StatusOr<OrdersReport> report = ExploreOrders(*arguments.scenario, options);
  progress.Hide();
  if (!report.ok()) return ReportError(kUsage.name, report.status());
  const coro::Duration elapsed = clock.Now() - start;
  Asked asked = arguments.asked;
  absl::Status kept;
  asked.capsules = KeepCapsules(arguments, FailuresOf(options, *report), kept);
  Print(FormatOrders(asked, options.seed, *report, elapsed),
        OrdersJson(asked, options.seed, *report, elapsed), VerdictsCsv(report->orders));
  if (!kept.ok()) return ReportError(kUsage.name, kept);
  if (report->orders.failed() > 0) return kExitFailed;
  const absl::Status covered = CheckCovered(arguments.coverage, report->orders.coverage);
  return covered.ok() ? kExitOk : ReportError(kUsage.name, covered);
}

// What is no table has no CSV.
absl::Status CheckForm() {
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  const bool table = absl::GetFlag(FLAGS_replay).empty() && absl::GetFlag(FLAGS_shrink).empty() &&
                     !absl::GetFlag(FLAGS_sweep);
  if (form != OutputForm::kCsv || table) return absl::OkStatus();
  return absl::InvalidArgumentError("--csv is for seeds, orders and --list; here is --json");
}

// A picture is of one run.
absl::Status CheckTrace() {
  const bool one = !absl::GetFlag(FLAGS_seed).empty() && absl::GetFlag(FLAGS_shrink).empty() &&
                   !absl::GetFlag(FLAGS_sweep) && absl::GetFlag(FLAGS_strategy) != "exhaustive";
  if (one || !TraceIsAsked()) return absl::OkStatus();
  return absl::InvalidArgumentError("--trace is for one run: with --seed or --replay");
}

int Main(int argc, char** argv) {
  const std::vector<std::string> positional = ParseCommandLineOrExit(argc, argv, kUsage);
  if (const absl::Status form = CheckForm(); !form.ok()) return ReportError(kUsage.name, form);
  if (const std::string path = absl::GetFlag(FLAGS_replay); !path.empty()) return ReplayFile(path);
  if (const absl::Status status = CheckTrace(); !status.ok()) {
    return ReportError(kUsage.name, status);
  }
  if (const std::string path = absl::GetFlag(FLAGS_shrink); !path.empty()) return ShrinkFile(path);
  const absl::StatusOr<Arguments> arguments = ReadArguments(positional);
  if (!arguments.ok()) return ReportError(kUsage.name, arguments.status());
  if (absl::GetFlag(FLAGS_list)) {
    Print(FormatScenarios(Scenarios()), ScenariosJson(Scenarios()), ScenariosCsv(Scenarios()));
    return kExitOk;
  }
  if (arguments->exhaustive.has_value()) return RunAllOrders(*arguments);
  if (absl::GetFlag(FLAGS_sweep)) return RunSweep(*arguments);
  return arguments->seed.has_value() ? RunOneSeed(*arguments) : RunManySeeds(*arguments);
}

}  // namespace
}  // namespace apps

int main(int argc, char** argv) { return apps::Main(argc, argv); }
