// The museum program: see README.md in this folder.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/explore/capsule_commands.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/tour.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/explore/run_seed.h"

ABSL_FLAG(std::string, exhibit, "", "This exhibit only; --list names them all.");
ABSL_FLAG(std::uint64_t, seeds, 10000, "How many seeds each repaired twin has to pass.");
ABSL_FLAG(std::uint64_t, most_seeds, 1000, "Seeds of a wrong twin at most, until it is found.");
ABSL_FLAG(std::string, seed, "",
          "With --exhibit: this seed of both twins alone, and what each came to.");
ABSL_FLAG(std::uint64_t, jobs, 0, "Worker processes; 0: as many as the machine has cores.");
ABSL_FLAG(std::string, capsules, "",
          "Folder for a capsule of each failure, which explore replays and shrinks. Without it: "
          "drydock-capsules-UID, among temporary files. none: none.");
ABSL_FLAG(bool, list, false, "Print the exhibits, and run nothing.");

namespace drydock::museum {
namespace {

using apps::Cell;
using apps::CountCell;
using apps::DurationCell;
using apps::FormatCount;
using apps::kExitFailed;
using apps::kExitOk;
using apps::NoCell;
using apps::Origin;
using apps::OutputForm;
using apps::ReportError;
using apps::ResultTable;
using apps::TextCell;
using sim::explore::SeedResult;

const apps::Usage kUsage = {
    "museum",
    "runs bugs of others that were met on EFA, written again, beside their repaired twins.",
    "[--exhibit=NAME] [--seeds=N]     the table: how each bug is found, and how soon\n"
    "--exhibit=NAME --seed=N          one seed of both twins\n"
    "--list                           the exhibits",
    "  museum                                     all exhibits; 10000 seeds of each repaired twin\n"
    "  museum --exhibit=flag-overtakes --seeds=100\n"
    "  museum --exhibit=flag-overtakes --seed=2   what the twins do with one seed\n"
    "  museum --json --seeds=1000                 for a script\n"
    "\nExit status: 0 every wrong twin was found by what its label says and no repaired one was,\n"
    "1 otherwise, 2 bad input."};

std::string Text(std::string_view text) { return std::string(text); }

struct Arguments {
  std::vector<const Exhibit*> exhibits;
  std::optional<std::uint64_t> seed;
  OutputForm form = OutputForm::kText;
  TourOptions tour;
};

absl::StatusOr<std::optional<std::uint64_t>> ReadSeed() {
  const std::string text = absl::GetFlag(FLAGS_seed);
  if (text.empty()) return std::nullopt;
  std::uint64_t seed = 0;
  if (!absl::SimpleAtoi(text, &seed)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--seed=", text, ": it takes a whole number from 0 to 2^64-1"));
  }
  if (absl::GetFlag(FLAGS_exhibit).empty()) {
    return absl::InvalidArgumentError("--seed needs --exhibit: a seed is of one program");
  }
  return seed;
}

absl::StatusOr<Arguments> ReadArguments(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", positional[0], "' is no flag, and there is nothing else to give"));
  }
  if (absl::GetFlag(FLAGS_list)) {
    RETURN_IF_ERROR(apps::AcceptFlags("--list", {"list", "exhibit", "json", "csv"}));
  }
  if (!absl::GetFlag(FLAGS_seed).empty()) {
    RETURN_IF_ERROR(apps::RefuseFlags({"jobs", "most-seeds", "seeds"},
                                      "is for many seeds: not with --seed, which is one"));
  }
  Arguments arguments;
  ASSIGN_OR_RETURN(arguments.form, apps::OutputFormFromFlags());
  arguments.exhibits = Exhibits();
  if (const std::string name = absl::GetFlag(FLAGS_exhibit); !name.empty()) {
    ASSIGN_OR_RETURN(const Exhibit* exhibit, FindExhibit(name));
    arguments.exhibits = {exhibit};
  }
  ASSIGN_OR_RETURN(arguments.seed, ReadSeed());
  arguments.tour.repaired_seeds = absl::GetFlag(FLAGS_seeds);
  arguments.tour.most_seeds = absl::GetFlag(FLAGS_most_seeds);
  if (arguments.tour.repaired_seeds == 0 || arguments.tour.most_seeds == 0) {
    return absl::InvalidArgumentError("--seeds and --most-seeds take a number above 0");
  }
  const std::uint64_t jobs = absl::GetFlag(FLAGS_jobs);
  arguments.tour.jobs = jobs > 0 ? jobs : std::max(1u, std::thread::hardware_concurrency());
  return arguments;
}

// `kept`: why capsules could not be written, which changes nothing of what the table says.
int Print(const Arguments& arguments, const ResultTable& table, int exit_code,
          const absl::Status& kept = absl::OkStatus()) {
  std::cout << (arguments.form == OutputForm::kJson  ? ToJson(table) + "\n"
                : arguments.form == OutputForm::kCsv ? ToCsv(table)
                                                     : ToText(table));
  const int ended = apps::EndWith(kUsage.name, exit_code);
  if (!kept.ok()) ReportError(kUsage.name, kept);
  return ended;
}

int List(const Arguments& arguments) {
  ResultTable table("museum", Origin::kFound,
                    {{"exhibit"}, {"kind"}, {"project"}, {"origin"}, {"cause"}});
  for (const Exhibit* exhibit : arguments.exhibits) {
    table.AddRow({TextCell(Text(exhibit->name)), TextCell(Text(exhibit->kind)),
                  TextCell(Text(exhibit->project)), TextCell(Text(exhibit->origin)),
                  TextCell(Text(exhibit->cause))});
  }
  return Print(arguments, table, kExitOk);
}

// Each result as the run of its seed, for a capsule.
apps::FailedRun AsFailedRun(const Exhibit& exhibit, const TourOptions& options,
                            const SeedResult& result) {
  return {result.seed, "", SpecOf(OptionsOf(exhibit, options), result.seed), result};
}

// Before the first exhibit, not after it.
absl::Status CheckCapsuleFolder() {
  const std::string folder = absl::GetFlag(FLAGS_capsules);
  return folder.empty() || folder == "none" ? absl::OkStatus() : apps::MakeCapsuleFolder(folder);
}

// The capsules of what failed; the path of the first one, or of none. The first error stays in
// `kept`.
std::string KeepCapsules(const Exhibit& exhibit, Twin twin, const TourOptions& options,
                         const std::vector<SeedResult>& results, absl::Status& kept) {
  std::string folder = absl::GetFlag(FLAGS_capsules);
  if (folder == "none" || results.empty()) return "";
  if (folder.empty()) folder = apps::DefaultCapsuleFolder();
  std::vector<apps::FailedRun> runs;
  for (const SeedResult& result : results) runs.push_back(AsFailedRun(exhibit, options, result));
  const auto paths = WriteCapsules(ScenarioOf(exhibit, twin), runs, folder);
  kept.Update(paths.status());
  return paths.ok() ? paths->begin()->second : "";
}

void AddVisit(const Exhibit& exhibit, const TourOptions& options, const Visit& visit,
              ResultTable& table, absl::Status& kept) {
  std::vector<SeedResult> found;
  if (visit.found.has_value()) found.push_back(*visit.found);
  const std::string capsule = KeepCapsules(exhibit, Twin::kWrong, options, found, kept);
  std::vector<SeedResult> repaired;
  for (const auto& [seed, result] : visit.repaired.failures) repaired.push_back(result);
  const std::string bad_capsule = KeepCapsules(exhibit, Twin::kRepaired, options, repaired, kept);
  table.AddRow(
      {TextCell(Text(exhibit.name)), TextCell(Text(exhibit.kind)), TextCell(Text(exhibit.project)),
       visit.found.has_value() ? TextCell(FoundBy(*visit.found)) : NoCell(),
       visit.found.has_value() ? CountCell(visit.seeds) : NoCell(), DurationCell(visit.time),
       CountCell(visit.repaired.seeds), CountCell(visit.repaired.failed()),
       capsule.empty() ? NoCell() : TextCell(capsule)});
  if (!visit.found.has_value()) {
    table.AddNote(
        absl::StrCat(Text(exhibit.name), ": not found in ", FormatCount(visit.seeds, "seed")));
  } else if (!visit.FoundAsLabelled(exhibit)) {
    table.AddNote(absl::StrCat(Text(exhibit.name), ": its label says ", FoundBy(exhibit),
                               ", and it was ", FoundBy(*visit.found), ": ", visit.found->text));
  }
  if (!repaired.empty()) {
    table.AddNote(absl::StrCat(ScenarioName(exhibit, Twin::kRepaired), ", seed ",
                               repaired.front().seed, ": ", FoundBy(repaired.front()), ": ",
                               repaired.front().text, bad_capsule.empty() ? "" : "; capsule ",
                               bad_capsule));
  }
}

int Tour(const Arguments& arguments) {
  ResultTable table("museum", Origin::kMeasured,
                    {{"exhibit"},
                     {"kind"},
                     {"project"},
                     {"found by", "found_by"},
                     {"seeds"},
                     {"time", "time", "ns"},
                     {"repaired seeds", "repaired_seeds"},
                     {"failed", "repaired_failed"},
                     {"capsule"}});
  coro::SteadyClock clock;
  apps::Work work;
  work.what = "exhibits";
  work.total = arguments.exhibits.size();
  apps::Progress progress(work, clock);
  std::uint64_t done = 0;
  std::uint64_t bad = 0;
  absl::Status kept;
  for (const Exhibit* exhibit : arguments.exhibits) {
    const auto visit = VisitExhibit(*exhibit, arguments.tour);
    if (!visit.ok()) return ReportError(kUsage.name, visit.status());
    AddVisit(*exhibit, arguments.tour, *visit, table, kept);
    bad += visit->Good(*exhibit) ? 0 : 1;
    progress.Update(++done);
  }
  progress.Hide();
  table.AddNote(absl::StrCat(FormatCount(done, "exhibit"), ", ", bad, " not as their labels say"));
  return Print(arguments, table, bad == 0 ? kExitOk : kExitFailed, kept);
}

// One seed of both twins, each in a process of its own: some never return.
int OneSeed(const Arguments& arguments) {
  const Exhibit& exhibit = *arguments.exhibits.front();
  TourOptions options = arguments.tour;
  options.first_seed = *arguments.seed;
  ResultTable table("museum", Origin::kSimulated,
                    {{"twin"}, {"verdict"}, {"text"}, {"events"}, {"digest"}, {"capsule"}});
  bool good = true;
  absl::Status kept;
  for (const Twin twin : {Twin::kWrong, Twin::kRepaired}) {
    const auto& scenario = ScenarioOf(exhibit, twin);
    const auto run = RunIsolated(scenario, SpecOf(OptionsOf(exhibit, options), *arguments.seed));
    if (!run.ok()) return ReportError(kUsage.name, run.status());
    const SeedResult& result = run->result;
    const bool failed = IsFailure(result.verdict);
    std::vector<SeedResult> failures;
    if (failed) failures.push_back(result);
    const std::string capsule = KeepCapsules(exhibit, twin, options, failures, kept);
    table.AddRow({TextCell(twin == Twin::kWrong ? "wrong" : "repaired"), TextCell(FoundBy(result)),
                  result.text.empty() ? NoCell() : TextCell(result.text), CountCell(result.events),
                  TextCell(result.digest.ToHex()), capsule.empty() ? NoCell() : TextCell(capsule)});
    good = good && (twin == Twin::kWrong ? FoundBy(result) == FoundBy(exhibit) : !failed);
  }
  return Print(arguments, table, good ? kExitOk : kExitFailed, kept);
}

int Main(int argc, char** argv) {
  const auto positional = apps::ParseCommandLineOrExit(argc, argv, kUsage);
  const absl::StatusOr<Arguments> arguments = ReadArguments(positional);
  if (!arguments.ok()) return ReportError(kUsage.name, arguments.status());
  if (absl::GetFlag(FLAGS_list)) return List(*arguments);
  if (const absl::Status folder = CheckCapsuleFolder(); !folder.ok()) {
    return ReportError(kUsage.name, folder);
  }
  return arguments->seed.has_value() ? OneSeed(*arguments) : Tour(*arguments);
}

}  // namespace
}  // namespace drydock::museum

int main(int argc, char** argv) { return drydock::museum::Main(argc, argv); }
