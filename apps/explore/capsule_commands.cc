#include "apps/explore/capsule_commands.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/common/text_table.h"
#include "coro/status_macros.h"
#include "nlohmann/json.hpp"
#include "sim/explore/traced_run.h"

namespace apps {
namespace {

using nlohmann::json;
using sim::explore::Capsule;
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
          {"not_calm", size.wild},
          {"events", size.events}};
}

std::string SizeLine(const RunSize& size) {
  return absl::StrCat(size.firings, " firings, ", size.operations, " operations (", size.wild,
                      " not calm), ", size.events, " events");
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
  return ((error ? std::filesystem::path("/tmp") : folder) / "drydock-capsules").string();
}

absl::StatusOr<CapsulePaths> WriteCapsules(const sim::explore::Scenario& scenario,
                                           const sim::explore::ExploreOptions& options,
                                           const sim::explore::ExploreReport& report,
                                           const std::string& folder) {
  CapsulePaths paths;
  if (report.failures.empty()) return paths;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("--capsules=", folder, ": ", error.message()));
  }
  for (const auto& [seed, failure] : report.failures) {
    const RunSpec spec = SpecOf(options, seed);
    ASSIGN_OR_RETURN(TracedRun run, RunIsolated(scenario, spec, options.patience));
    // What was seen is what counts, if they differ.
    if (!IsSameVerdict(run.result, failure)) run.result = failure;
    const std::string name = absl::StrCat(Text(scenario.name()), "-", seed, "-",
                                          Text(Name(failure.verdict)), ".capsule");
    paths[seed] = (std::filesystem::path(folder) / name).string();
    RETURN_IF_ERROR(WriteCapsule(paths[seed], MakeCapsule(scenario, spec, run)));
  }
  return paths;
}

std::string FormatReplay(const Capsule& capsule, const Replay& replay) {
  std::string text = absl::StrCat("scenario ", capsule.scenario, ", seed ", capsule.run.seed, "\n");
  if (!replay.exact()) {
    absl::StrAppend(&text, "then: ", VerdictLine(capsule.result), "\n");
  }
  absl::StrAppend(&text, replay.exact() ? "" : "now:  ", VerdictLine(replay.run.result), "\n",
                  replay.run.result.events, " events, digest ", replay.run.result.digest.ToHex(),
                  "\n", replay.what, "\n");
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
  absl::StrAppend(&text, "\n", report.runs, " runs; capsule ", path, "\n");
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

std::string FormatSweep(const std::vector<SweepRow>& rows) {
  std::vector<std::vector<std::string>> table = {{"fault", "runs", "first failing n", "verdicts"}};
  std::uint64_t runs = 0;
  std::uint64_t failed = 0;
  std::string failures;
  for (const SweepRow& row : rows) {
    runs += row.runs;
    table.push_back({Name(row.which), absl::StrCat(row.runs, row.complete ? "" : " (limit)"),
                     row.failing.has_value() ? absl::StrCat(*row.failing) : "-", Verdicts(row)});
    if (!row.failing.has_value()) continue;
    ++failed;
    absl::StrAppend(&failures, "\n", Name(row.which), ", event ", *row.failing, ": ",
                    VerdictLine(*row.failure), "\n");
  }
  return absl::StrCat(FormatTable(table), failures, "\n", rows.size(), " rows, ", runs,
                      " runs: ", failed, " rows failed\n");
}

std::string SweepJson(const std::vector<SweepRow>& rows) {
  json array = json::array();
  for (const SweepRow& row : rows) {
    json verdicts = json::object();
    for (std::size_t i = 0; i < kVerdictCount; ++i) {
      if (row.counts[i] > 0) verdicts[Text(Name(static_cast<Verdict>(i)))] = row.counts[i];
    }
    json object = {{"fault", Text(fabric::faults::Describe(row.which.fault).name)},
                   {"sticky", row.which.sticky},
                   {"runs", row.runs},
                   {"complete", row.complete},
                   {"verdicts", verdicts}};
    if (row.failing.has_value()) {
      object["first_failing"] = *row.failing;
      object["failure"] = ToJson(*row.failure);
    }
    array.push_back(object);
  }
  return Dump(array);
}

}  // namespace apps
