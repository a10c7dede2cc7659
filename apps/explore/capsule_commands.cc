#include "drydock/apps/explore/capsule_commands.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/strategy/strategy.h"
#include "drydock/sim/explore/traced_run.h"
#include "drydock/sim/hosts/private_folder.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using nlohmann::json;
using sim::explore::Capsule;
using sim::explore::ExploreReport;
using sim::explore::kVerdictCount;
using sim::explore::Replay;
using sim::explore::RunSize;
using sim::explore::RunSpec;
using sim::explore::SeedResult;
using sim::explore::ShrinkReport;
using sim::explore::SweepRow;
using sim::explore::TracedRun;
using sim::explore::Verdict;

std::string Text(std::string_view text) { return std::string(text); }

// What a program says of a file's bytes may not be UTF-8.
std::string Dump(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string VerdictLine(const SeedResult& result) {
  return absl::StrCat(Text(Name(result.verdict)), result.text.empty() ? "" : ": ", result.text);
}

json ToJson(const SeedResult& result) {
  return {{"seed", result.seed},
          {"verdict", Text(Name(result.verdict))},
          {"text", result.text},
          {"digest", result.digest.ToHex()},
          {"events", result.events}};
}

json ToJson(const RunSize& size) {
  return {{"firings", size.firings},
          {"operations", size.operations},
          {"not_calm", size.disturbed},
          {"events", size.events}};
}

std::string SizeLine(const RunSize& size) {
  return absl::StrCat(FormatCount(size.firings, "firing"), ", ",
                      FormatCount(size.operations, "operation"), " (", size.disturbed,
                      " not calm), ", FormatCount(size.events, "event"));
}

std::string Verdicts(const SweepRow& row) {
  std::string text;
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    if (row.counts[i] == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", row.counts[i], " ",
                    Text(Name(static_cast<Verdict>(i))));
  }
  return text;
}

}  // namespace

std::string DefaultCapsuleFolder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  const std::string name = absl::StrCat("drydock-capsules-", geteuid());
  return ((error ? std::filesystem::path("/tmp") : folder) / name).string();
}

std::vector<FailedRun> FailuresOf(const sim::explore::ExploreOptions& options,
                                  const ExploreReport& report) {
  std::vector<FailedRun> failures;
  for (const auto& [seed, result] : report.failures) {
    failures.push_back({seed, "", SpecOf(options, seed), result});
  }
  return failures;
}

std::vector<FailedRun> FailuresOf(const sim::explore::OrdersOptions& options,
                                  const sim::explore::OrdersReport& report) {
  std::vector<FailedRun> failures;
  for (const auto& [number, result] : report.orders.failures) {
    auto strategy = sim::explore::ParseStrategy(report.names.at(number));
    DD_CHECK(strategy.ok(), "an order that a search has printed");
    if (strategy->name.size() > Capsule::kMostStrategy) continue;  // what is printed replays it
    RunSpec spec;
    spec.seed = options.seed;
    spec.plan = options.plans.plan(options.seed);
    spec.limit = options.limit;
    spec.strategy = *std::move(strategy);
    spec.tight = options.plans.tight;
    failures.push_back({number, absl::StrCat("order-", number), std::move(spec), result});
  }
  return failures;
}

std::vector<FailedRun> FailuresOf(const sim::explore::SweepOptions& options,
                                  const std::vector<SweepRow>& rows) {
  std::vector<FailedRun> failures;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = rows[i];
    if (!row.failing.has_value() || failures.size() == ExploreReport::kMostFailures) continue;
    RunSpec spec = options.run;
    spec.plan = SweepPlan(row.which, *row.failing);
    spec.firings.reset();
    const std::string what = absl::StrCat(Text(fabric::faults::Describe(row.which.fault).name),
                                          row.which.sticky ? "-sticky-" : "-", *row.failing);
    failures.push_back({i, what, std::move(spec), *row.failure});
  }
  return failures;
}

absl::Status MakeCapsuleFolder(const std::string& folder) {
  if (folder == DefaultCapsuleFolder()) {  // among those of other users
    const absl::Status made = sim::MakePrivateFolder(folder);
    return made.ok() ? made : absl::InvalidArgumentError(made.message());
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && std::filesystem::is_directory(folder, error)) {
    if (access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
    error = std::error_code(errno, std::generic_category());
  }
  const std::string why = error ? error.message() : "it is a file";
  return absl::InvalidArgumentError(absl::StrCat("--capsules=", folder, ": ", why));
}

absl::StatusOr<CapsulePaths> WriteCapsules(const sim::explore::Scenario& scenario,
                                           const std::vector<FailedRun>& failures,
                                           const std::string& folder) {
  CapsulePaths paths;
  if (failures.empty()) return paths;
  RETURN_IF_ERROR(MakeCapsuleFolder(folder));
  for (const FailedRun& failure : failures) {
    ASSIGN_OR_RETURN(TracedRun run, RunIsolated(scenario, failure.run));
    // If the second run ends differently, the capsule has the result of the first.
    if (!IsSameVerdict(run.result, failure.result)) run.result = failure.result;
    const std::string name =
        absl::StrCat(Text(scenario.name()), "-", failure.run.seed, failure.what.empty() ? "" : "-",
                     failure.what, "-", Text(Name(failure.result.verdict)));
    ASSIGN_OR_RETURN(paths[failure.number],
                     WriteNewCapsule((std::filesystem::path(folder) / name).string(),
                                     MakeCapsule(scenario, failure.run, run)));
  }
  return paths;
}

std::string FormatReplay(const Capsule& capsule, const Replay& replay) {
  std::string text = absl::StrCat("scenario ", capsule.scenario, ", seed ", capsule.run.seed, "\n");
  if (!replay.exact()) {
    absl::StrAppend(&text, "then: ", VerdictLine(capsule.result), "\n");
  }
  absl::StrAppend(&text, replay.exact() ? "" : "now:  ", VerdictLine(replay.run.result), "\n",
                  FormatCount(replay.run.result.events, "event"), ", digest ",
                  replay.run.result.digest.ToHex(), "\n", replay.what, "\n");
  return text;
}

std::string ReplayJson(const Capsule& capsule, const Replay& replay) {
  return Dump({{"scenario", capsule.scenario},
               {"exact", replay.exact()},
               {"same_verdict", replay.same_verdict},
               {"same_digest", replay.same_digest},
               {"what", replay.what},
               {"then", ToJson(capsule.result)},
               {"now", ToJson(replay.run.result)}});
}

std::string FormatShrink(const ShrinkReport& report, const std::string& path) {
  std::string text = absl::StrCat("before: ", SizeLine(report.before),
                                  "\nafter:  ", SizeLine(report.after), "\n\n");
  for (const std::string& sentence : report.story) absl::StrAppend(&text, sentence, "\n");
  absl::StrAppend(&text, "\n", FormatCount(report.runs, "run"), "; capsule ", path, "\n");
  return text;
}

std::string ShrinkJson(const ShrinkReport& report, const std::string& path) {
  return Dump({{"capsule", path},
               {"runs", report.runs},
               {"before", ToJson(report.before)},
               {"after", ToJson(report.after)},
               {"story", report.story},
               {"result", ToJson(report.capsule.result)}});
}

std::string FormatSweep(const std::vector<SweepRow>& rows, const CapsulePaths& capsules) {
  std::vector<std::vector<std::string>> table = {{"fault", "runs", "first failing n", "verdicts"}};
  std::uint64_t runs = 0;
  std::uint64_t failed = 0;
  std::string failures;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = rows[i];
    runs += row.runs;
    table.push_back({Name(row.which), absl::StrCat(row.runs, row.complete ? "" : " (limit)"),
                     row.failing.has_value() ? absl::StrCat(*row.failing) : "-", Verdicts(row)});
    if (!row.failing.has_value()) continue;
    ++failed;
    absl::StrAppend(&failures, "\n", Name(row.which), ", event ", *row.failing, ": ",
                    VerdictLine(*row.failure), "\n");
    const auto capsule = capsules.find(i);
    if (capsule != capsules.end()) {
      absl::StrAppend(&failures, "  capsule: ", capsule->second, "\n");
    }
  }
  return absl::StrCat(FormatTable(table), failures, "\n", FormatCount(rows.size(), "row"), ", ",
                      FormatCount(runs, "run"), ": ", FormatCount(failed, "row"), " failed\n");
}

std::string SweepJson(const std::vector<SweepRow>& rows, const CapsulePaths& capsules) {
  json array = json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = rows[i];
    json verdicts = json::object();
    for (std::size_t verdict = 0; verdict < kVerdictCount; ++verdict) {
      if (row.counts[verdict] == 0) continue;
      verdicts[Text(Name(static_cast<Verdict>(verdict)))] = row.counts[verdict];
    }
    json object = {{"fault", Text(fabric::faults::Describe(row.which.fault).name)},
                   {"sticky", row.which.sticky},
                   {"runs", row.runs},
                   {"complete", row.complete},
                   {"verdicts", verdicts}};
    if (row.failing.has_value()) {
      object["first_failing"] = *row.failing;
      object["failure"] = ToJson(*row.failure);
      const auto capsule = capsules.find(i);
      if (capsule != capsules.end()) object["capsule"] = capsule->second;
    }
    array.push_back(object);
  }
  return Dump(array);
}

}  // namespace drydock::apps
