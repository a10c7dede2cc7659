// The explore program: see README.md in this folder.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/output_file.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/explore/arguments.h"
#include "drydock/apps/explore/capsule_commands.h"
#include "drydock/apps/explore/corpus_report.h"
#include "drydock/apps/explore/coverage_flags.h"
#include "drydock/apps/explore/dependence_report.h"
#include "drydock/apps/explore/merge_command.h"
#include "drydock/apps/explore/report.h"
#include "drydock/apps/explore/scenarios.h"
#include "drydock/apps/explore/schedule_flags.h"
#include "drydock/apps/explore/shard_flags.h"
#include "drydock/apps/explore/story_picture.h"
#include "drydock/apps/explore/trace_once.h"
#include "drydock/apps/explore/usage.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/corpus/guided.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/replay.h"
#include "drydock/sim/explore/schedules.h"
#include "drydock/sim/explore/shard.h"
#include "drydock/sim/explore/shard_run.h"
#include "drydock/sim/explore/shrink.h"
#include "drydock/sim/explore/sweep.h"
#include "drydock/sim/explore/traced_run.h"
#include "drydock/sim/explore/until_covered.h"
#include "drydock/sim/profile/unpublished.h"

ABSL_FLAG(std::string, capsules, "",
          "Folder for a capsule of each of the first failures: a file that --replay and --shrink "
          "take. Without it: drydock-capsules-UID, among temporary files. none: none.");
ABSL_FLAG(std::string, replay, "", "Run this capsule, and report differences.");
ABSL_FLAG(std::string, shrink, "",
          "Make this capsule's failure as small as possible, and explain it.");
ABSL_FLAG(
    std::string, out, "",
    "Where --shrink writes the small capsule; without it: FILE.min. With --seed and --replay: "
    "where a capsule of that run goes.");
ABSL_FLAG(std::string, picture, "",
          "With --shrink: where a drawing of the small run goes, as SVG.");
ABSL_FLAG(bool, partial, false, "With merge: report what there is, though seeds are missing.");
ABSL_DECLARE_FLAG(std::string, faults);           // of fault_flags.cc
ABSL_DECLARE_FLAG(std::string, require_covered);  // of coverage_flags.cc
ABSL_DECLARE_FLAG(std::uint64_t, first_seed);     // of arguments.cc, as sweep, list and seed
ABSL_DECLARE_FLAG(bool, sweep);
ABSL_DECLARE_FLAG(bool, profile_sweep);
ABSL_DECLARE_FLAG(bool, list);
ABSL_DECLARE_FLAG(std::string, seed);
ABSL_DECLARE_FLAG(std::string, strategy);  // of schedule_flags.cc
ABSL_DECLARE_FLAG(std::string, trace);     // of trace_flags.cc

namespace drydock::apps {
namespace {

using sim::explore::CorpusReport;
using sim::explore::ExploreOptions;
using sim::explore::ExploreReport;
using sim::explore::OrdersOptions;
using sim::explore::OrdersReport;
using sim::explore::RunSpec;
using sim::explore::SeedResult;

// Writes the capsule where --out says so. Anything but OK: the exit status.
int WriteOut(const sim::explore::Capsule& capsule) {
  const std::string out = absl::GetFlag(FLAGS_out);
  if (out.empty()) return kExitOk;
  const absl::Status written = WriteCapsule(out, capsule);
  return written.ok() ? kExitOk : ReportError(kExploreUsage.name, written);
}

// Prints text, or what a script has asked for in its place.
void Print(const std::string& text, const std::string& json, const std::string& csv = "") {
  const OutputForm form = OutputFormFromFlags().value_or(OutputForm::kText);
  std::cout << (form == OutputForm::kJson ? json + "\n" : form == OutputForm::kCsv ? csv : text);
}

// Of a profile sweep. Where dependences cannot be found, `status` says why.
std::vector<FoundDependence> DependencesOf(const Arguments& arguments, const ExploreReport& report,
                                           absl::Status& status) {
  if (!arguments.profile_sweep) return {};
  auto found = FindDependences(*arguments.scenario, OptionsOf(arguments), report);
  status = found.status();
  return found.ok() ? *std::move(found) : std::vector<FoundDependence>();
}

// What the seed has drawn, and on what of it a failure depends.
int TellFigures(const Arguments& arguments, const SeedResult& result) {
  if (OutputFormFromFlags().value_or(OutputForm::kText) != OutputForm::kText) return kExitOk;
  ExploreReport report;
  report.Add(result);
  absl::Status status;
  const std::vector<FoundDependence> found = DependencesOf(arguments, report, status);
  std::cout << "figures of the seed: "
            << sim::FormatFigures(SpecOf(OptionsOf(arguments), result.seed).figures) << "\n"
            << FormatDependences(arguments.asked, found);
  return status.ok() ? kExitOk : ReportError(kExploreUsage.name, status);
}

// The exit status of seeds that are all there; says what is wrong with them together.
int ExitOfAll(const ExploreReport& report, const CoverageChoice& coverage,
              const std::optional<fabric::faults::FaultPlan>& plan) {
  if (report.failed() > 0) return kExitFailed;
  const absl::Status covered = CheckCovered(coverage, report.coverage);
  if (!covered.ok()) return ReportError(kExploreUsage.name, covered);
  if (!plan.has_value()) return kExitOk;
  const absl::Status fired = VerifyRules(report, *plan);
  return fired.ok() ? kExitOk : ReportError(kExploreUsage.name, fired);
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
  if (!absl::GetFlag(FLAGS_out).empty()) {  // before a run that may end this process
    const auto run = RunIsolated(*arguments.scenario, spec);
    if (!run.ok()) return ReportError(kExploreUsage.name, run.status());
    const int written = WriteOut(MakeCapsule(*arguments.scenario, spec, *run));
    if (written != kExitOk) return written;
  }
  if (TraceIsAsked()) {
    const absl::Status traced = TraceOnce(*arguments.scenario, spec);
    if (!traced.ok()) return ReportError(kExploreUsage.name, traced);
  }
  const SeedResult result = RunChecked(*arguments.scenario, spec, /*twice=*/true);
  print(result);
  if (arguments.profile_sweep) {
    const int told = TellFigures(arguments, result);
    if (told != kExitOk) return told;
  }
  ExploreReport report;
  report.Add(result);
  return ExitOfAll(report, arguments.coverage, arguments.file);
}

// What many seeds came to, and a last word about which they were.
struct Explored {
  ExploreReport report;
  std::optional<CorpusReport> corpus;
  std::string end;
};

// The seeds that are this process's; the last word says which, where they are not all.
absl::StatusOr<Explored> ExplorePart(const Arguments& arguments, const ExploreOptions& options) {
  const ShardChoice& choice = arguments.shard;
  sim::explore::ShardOptions shard;
  shard.shard = choice.shard;
  shard.sweep = SweepWordsOf(arguments.asked, options.twice_every, arguments.file);
  if (!choice.results.empty()) {
    RETURN_IF_ERROR(MakeFolder(choice.results));
    shard.file = choice.results + "/" + ResultsName(arguments.asked.scenario, choice.shard);
  }
  if (choice.from == "TEST_SHARD_INDEX") AcknowledgeTestShard();
  ASSIGN_OR_RETURN(sim::explore::Results results,
                   ExploreShard(*arguments.scenario, options, shard));
  std::string end = FormatShard(choice, results.part(), shard.file);
  return Explored{.report = std::move(results.report), .end = std::move(end)};
}

// The seeds that are this process's, with plans that come of the corpus.
absl::StatusOr<Explored> ExploreCorpus(const Arguments& arguments, ExploreOptions options) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (arguments.shard.from == "TEST_SHARD_INDEX") AcknowledgeTestShard();
  const auto part = PartOf({options.first_seed, options.seeds}, arguments.shard.shard);
  Explored explored;
  explored.end = FormatShard(arguments.shard, part, /*file=*/"");
  if (part.seeds == 0) return explored;
  options.first_seed = part.first;
  options.seeds = part.seeds;
  ASSIGN_OR_RETURN(sim::explore::GuidedReport guided,
                   ExploreGuided(*arguments.scenario, options, arguments.corpus));
  explored.report = std::move(guided.seeds);
  explored.end = FormatCorpus(guided.corpus, arguments.corpus) + explored.end;
  explored.corpus = std::move(guided.corpus);
  return explored;
}

// As many seeds as it takes to cover; the last word says why they were enough.
absl::StatusOr<Explored> ExploreUntil(const Arguments& arguments, const ExploreOptions& options) {
  const std::uint64_t block = arguments.coverage.until_block;
  ASSIGN_OR_RETURN(auto covered, ExploreUntilCovered(*arguments.scenario, options, block));
  Explored explored;
  explored.report = std::move(covered.report);
  explored.end =
      covered.covered
          ? absl::StrCat("covered: the last ", block == 1 ? "seed" : FormatCount(block, "seed"),
                         " showed nothing new\n")
          : absl::StrCat("not covered with ", FormatCount(explored.report.seeds, "seed"),
                         covered.never_held.empty() ? "" : ": never held: ",
                         absl::StrJoin(covered.never_held, ", "), "\n");
  return explored;
}

absl::StatusOr<Explored> ExploreAsAsked(const Arguments& arguments, const ExploreOptions& options) {
  if (!arguments.corpus.empty()) return ExploreCorpus(arguments, options);
  if (arguments.coverage.until_block > 0) return ExploreUntil(arguments, options);
  return ExplorePart(arguments, options);
}

absl::StatusOr<const sim::explore::Scenario*> ScenarioOf(const sim::explore::Capsule& capsule,
                                                         const std::string& path) {
  if (capsule.program.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the capsule is of a program: efa-run runs it"));
  }
  const auto scenario = FindScenario(capsule.scenario);
  if (scenario.ok()) return scenario;
  if (!absl::StrContains(capsule.scenario, '.')) {  // no test's SUITE.NAME
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", scenario.status().message()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": scenario ", capsule.scenario,
                   " is not here; a capsule of a test: DRYDOCK_CAPSULE=FILE ./test"));
}

// What a run of this capsule writes: another file each, and not the capsule, but that `out`, where
// a capsule goes, may be in its place.
absl::Status CheckWritten(const std::string& capsule, const std::string& out) {
  const OutputFile trace = {"trace", PathOfThisRank(absl::GetFlag(FLAGS_trace))};
  const OutputFile picture = {"picture", absl::GetFlag(FLAGS_picture)};
  RETURN_IF_ERROR(CheckOutputs({{"out", out}, picture, trace}));
  RETURN_IF_ERROR(CheckSpares(trace.flag, trace.path, {capsule}));
  return CheckSpares(picture.flag, picture.path, {capsule});
}

int ReplayFile(const std::string& path) {
  const auto capsule = sim::explore::ReadCapsule(path);
  if (!capsule.ok()) return ReportError(kExploreUsage.name, capsule.status());
  const auto scenario = ScenarioOf(*capsule, path);
  if (!scenario.ok()) return ReportError(kExploreUsage.name, scenario.status());
  const absl::Status written_to = CheckWritten(path, absl::GetFlag(FLAGS_out));
  if (!written_to.ok()) return ReportError(kExploreUsage.name, written_to);
  if (TraceIsAsked()) {
    const absl::Status traced = TraceOnce(**scenario, capsule->run);
    if (!traced.ok()) return ReportError(kExploreUsage.name, traced);
  }
  const auto replay = ReplayCapsule(**scenario, *capsule);
  if (!replay.ok()) return ReportError(kExploreUsage.name, replay.status());
  Print(FormatReplay(*capsule, *replay), ReplayJson(*capsule, *replay));
  const int written = WriteOut(MakeCapsule(**scenario, capsule->run, replay->run));
  if (written != kExitOk) return written;
  return IsFailure(replay->run.result.verdict) ? kExitFailed : kExitOk;
}

// Draws the run of a capsule where --picture asks for it.
absl::Status DrawIfAsked(const sim::explore::ShrinkReport& report) {
  const std::string path = absl::GetFlag(FLAGS_picture);
  if (path.empty()) return absl::OkStatus();
  return WriteOutput("picture", path, [&](std::ostream& out) { out << DrawShrunk(report); });
}

int ShrinkFile(const std::string& path) {
  const auto capsule = sim::explore::ReadCapsule(path);
  if (!capsule.ok()) return ReportError(kExploreUsage.name, capsule.status());
  const auto scenario = ScenarioOf(*capsule, path);
  if (!scenario.ok()) return ReportError(kExploreUsage.name, scenario.status());
  std::string out = absl::GetFlag(FLAGS_out);
  if (out.empty()) out = path + ".min";
  absl::Status written = CheckWritten(path, out);
  if (!written.ok()) return ReportError(kExploreUsage.name, written);
  sim::explore::ShrinkOptions options;
  options.isolate = true;  // what it becomes on the way may be a crash
  const auto report = Shrink(**scenario, *capsule, options);
  if (!report.ok()) return ReportError(kExploreUsage.name, report.status());
  written = WriteCapsule(out, report->capsule);
  written.Update(DrawIfAsked(*report));
  if (!written.ok()) return ReportError(kExploreUsage.name, written);
  Print(FormatShrink(*report, out), ShrinkJson(*report, out));
  return kExitOk;
}

// Where a capsule of each failure is; empty: nowhere. Says so when one could not be written, which
// changes nothing of what the runs came to.
CapsulePaths KeepCapsules(const Arguments& arguments, const std::vector<FailedRun>& failures) {
  std::string folder = absl::GetFlag(FLAGS_capsules);
  if (folder == "none") return {};
  if (folder.empty()) folder = DefaultCapsuleFolder();
  auto paths = WriteCapsules(*arguments.scenario, failures, folder);
  if (paths.ok()) return *std::move(paths);
  ReportError(kExploreUsage.name, paths.status());
  return {};
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
  if (!rows.ok()) return ReportError(kExploreUsage.name, rows.status());
  const CapsulePaths capsules = KeepCapsules(arguments, FailuresOf(options, *rows));
  Print(FormatSweep(*rows, capsules), SweepJson(*rows, capsules));
  const bool failed = std::any_of(rows->begin(), rows->end(),
                                  [](const auto& row) { return row.failing.has_value(); });
  return failed ? kExitFailed : kExitOk;
}

int RunManySeeds(const Arguments& arguments) {
  coro::SteadyClock clock;
  ExploreOptions options = OptionsOf(arguments);
  Work work;
  work.what = "seeds";
  work.total = PartOf({options.first_seed, options.seeds}, arguments.shard.shard).seeds;
  work.rate = true;
  Progress progress(work, clock);
  options.progress = [&](std::uint64_t done) { progress.Update(done); };
  const coro::Time start = clock.Now();
  const absl::StatusOr<Explored> explored = ExploreAsAsked(arguments, options);
  progress.Hide();
  if (!explored.ok()) return ReportError(kExploreUsage.name, explored.status());
  const coro::Duration elapsed = clock.Now() - start;
  const ExploreReport& report = explored->report;
  const std::optional<CorpusReport>& corpus = explored->corpus;
  Asked asked = arguments.asked;
  asked.by_capsule = corpus.has_value();
  asked.capsules =
      corpus.has_value() ? corpus->failures : KeepCapsules(arguments, FailuresOf(options, report));
  absl::Status known;
  const std::vector<FoundDependence> found = DependencesOf(arguments, report, known);
  std::string json = ReportJson(asked, report, elapsed);
  if (arguments.profile_sweep) json = WithDependences(json, asked, found);
  if (corpus.has_value()) json = WithCorpus(json, *corpus, arguments.corpus);
  Print(FormatReport(asked, report, elapsed) + FormatDependences(asked, found) + explored->end,
        json, VerdictsCsv(report));
  if (!known.ok()) return ReportError(kExploreUsage.name, known);
  if (corpus.has_value() && !corpus->regressions.empty()) return kExitFailed;
  if (arguments.shard.shard.count == 1) {
    return ExitOfAll(report, arguments.coverage, arguments.file);
  }
  return report.failed() > 0 ? kExitFailed : kExitOk;
}

int RunMerge(const std::vector<std::string>& paths) {
  const auto coverage = ReadCoverageFlags();
  if (!coverage.ok()) return ReportError(kExploreUsage.name, coverage.status());
  auto merged = MergeFiles(paths, absl::GetFlag(FLAGS_partial));
  if (!merged.ok()) return ReportError(kExploreUsage.name, merged.status());
  merged->asked.coverage = coverage->detail;
  const ExploreReport& report = merged->merged.report;
  Print(FormatReport(merged->asked, report, std::nullopt) + FormatMissing(merged->merged),
        ReportJson(merged->asked, report, std::nullopt), VerdictsCsv(report));
  return ExitOfAll(report, *coverage, merged->plan);
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
  if (!report.ok()) return ReportError(kExploreUsage.name, report.status());
  const coro::Duration elapsed = clock.Now() - start;
  Asked asked = arguments.asked;
  asked.capsules = KeepCapsules(arguments, FailuresOf(options, *report));
  Print(FormatOrders(asked, options.seed, *report, elapsed),
        OrdersJson(asked, options.seed, *report, elapsed), VerdictsCsv(report->orders));
  if (report->orders.failed() > 0) return kExitFailed;
  const absl::Status covered = CheckCovered(arguments.coverage, report->orders.coverage);
  return covered.ok() ? kExitOk : ReportError(kExploreUsage.name, covered);
}

// What is no table has no CSV.
absl::Status CheckForm() {
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  const bool table = absl::GetFlag(FLAGS_replay).empty() && absl::GetFlag(FLAGS_shrink).empty() &&
                     !absl::GetFlag(FLAGS_sweep) &&
                     !(absl::GetFlag(FLAGS_list) && absl::GetFlag(FLAGS_profile_sweep));
  if (form != OutputForm::kCsv || table) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--csv is for seeds, orders and --list of scenarios; here is --json");
}

// A corpus has a place for capsules, and what it has to say is no table.
absl::Status CheckCorpus(const Arguments& arguments) {
  if (arguments.corpus.empty()) return absl::OkStatus();
  if (!absl::GetFlag(FLAGS_capsules).empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--corpus takes no --capsules: those of failures are in ", arguments.corpus, "/failures"));
  }
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  if (form != OutputForm::kCsv) return absl::OkStatus();
  return absl::InvalidArgumentError("--corpus takes no --csv; here is --json");
}

// Before the first of many seeds, not after the last.
absl::Status CheckCapsuleFolder() {
  const std::string folder = absl::GetFlag(FLAGS_capsules);
  return folder.empty() || folder == "none" ? absl::OkStatus() : MakeCapsuleFolder(folder);
}

// A capsule has the settings of its run.
absl::Status CheckCapsuleFlags(const std::string& flag, const std::vector<std::string>& positional,
                               std::vector<std::string> others) {
  others.insert(others.end(), {flag, "out", "json", "csv"});
  if (!positional.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " takes no argument '", positional[0], "'"));
  }
  return AcceptFlags(absl::StrCat("--", flag), others);
}

// A trace is of one run, and so is the capsule of --out.
absl::Status CheckTrace() {
  const bool one = !absl::GetFlag(FLAGS_seed).empty() && !absl::GetFlag(FLAGS_sweep) &&
                   !absl::StartsWith(absl::GetFlag(FLAGS_strategy), "exhaustive");
  if (!absl::GetFlag(FLAGS_picture).empty()) {
    return absl::InvalidArgumentError("--picture is of a small run: with --shrink");
  }
  if (absl::GetFlag(FLAGS_partial)) {
    return absl::InvalidArgumentError("--partial is for merge");
  }
  if (!one && !absl::GetFlag(FLAGS_out).empty()) {
    return absl::InvalidArgumentError("--out is of one run: with --seed, --replay or --shrink");
  }
  if (!one && TraceIsAsked()) {
    return absl::InvalidArgumentError("--trace is for one run: with --seed or --replay");
  }
  if (!one) RETURN_IF_ERROR(RefuseFlags({"trace-data"}, "says how much goes into a trace"));
  const OutputFile out = {"out", absl::GetFlag(FLAGS_out)};
  const OutputFile trace = {"trace", PathOfThisRank(absl::GetFlag(FLAGS_trace))};
  const std::vector<std::string> read = {absl::GetFlag(FLAGS_faults),
                                         absl::GetFlag(FLAGS_require_covered)};
  RETURN_IF_ERROR(CheckOutputs({out, trace}));
  RETURN_IF_ERROR(CheckSpares(out.flag, out.path, read));
  return CheckSpares(trace.flag, trace.path, read);
}

int Run(const std::vector<std::string>& positional) {
  if (const absl::Status form = CheckForm(); !form.ok())
    return ReportError(kExploreUsage.name, form);
  if (!positional.empty() && positional[0] == "merge") {
    const absl::Status alone =
        AcceptFlags("merge", {"partial", "json", "csv", "coverage", "require-covered"});
    if (!alone.ok()) return ReportError(kExploreUsage.name, alone);
    return RunMerge({positional.begin() + 1, positional.end()});
  }
  if (const std::string path = absl::GetFlag(FLAGS_replay); !path.empty()) {
    const absl::Status alone = CheckCapsuleFlags("replay", positional, {"trace", "trace-data"});
    return alone.ok() ? ReplayFile(path) : ReportError(kExploreUsage.name, alone);
  }
  if (const std::string path = absl::GetFlag(FLAGS_shrink); !path.empty()) {
    const absl::Status alone = CheckCapsuleFlags("shrink", positional, {"picture"});
    return alone.ok() ? ShrinkFile(path) : ReportError(kExploreUsage.name, alone);
  }
  if (const absl::Status status = CheckTrace(); !status.ok()) {
    return ReportError(kExploreUsage.name, status);
  }
  const absl::StatusOr<Arguments> arguments = ReadArguments(positional);
  if (!arguments.ok()) return ReportError(kExploreUsage.name, arguments.status());
  if (const absl::Status status = CheckCorpus(*arguments); !status.ok()) {
    return ReportError(kExploreUsage.name, status);
  }
  if (absl::GetFlag(FLAGS_list) && arguments->profile_sweep) {
    Print(FormatFigureTable(), FigureTableJson());
    return kExitOk;
  }
  if (absl::GetFlag(FLAGS_list)) {
    Print(FormatScenarios(Scenarios()), ScenariosJson(Scenarios()), ScenariosCsv(Scenarios()));
    return kExitOk;
  }
  if (const absl::Status status = CheckCapsuleFolder(); !status.ok()) {
    return ReportError(kExploreUsage.name, status);
  }
  if (arguments->exhaustive.has_value()) return RunAllOrders(*arguments);
  if (absl::GetFlag(FLAGS_sweep)) return RunSweep(*arguments);
  return arguments->seed.has_value() ? RunOneSeed(*arguments) : RunManySeeds(*arguments);
}

int Main(int argc, char** argv) {
  return EndWith(kExploreUsage.name, Run(ParseCommandLineOrExit(argc, argv, kExploreUsage)));
}

}  // namespace
}  // namespace drydock::apps

int main(int argc, char** argv) { return drydock::apps::Main(argc, argv); }
