#include "drydock/apps/explore/merge_command.h"

#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/plan_json.h"

namespace drydock::apps {
namespace {

using sim::explore::NamedResults;
using sim::explore::SweepWords;

std::string Word(const SweepWords& words, const std::string& key) {
  const auto found = words.find(key);
  return found == words.end() ? "" : found->second;
}

// The files that a path stands for.
absl::StatusOr<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".results") files.push_back(entry->path().string());
  }
  if (error) return absl::NotFoundError(absl::StrCat(path, ": ", error.message()));
  if (files.empty()) return absl::NotFoundError(absl::StrCat(path, ": has no file of results"));
  return files;
}

}  // namespace

SweepWords SweepWordsOf(const Asked& asked, std::uint64_t twice_every,
                        const std::optional<fabric::faults::FaultPlan>& plan) {
  return {{"scenario", asked.scenario},
          {"faults", asked.faults},
          {"plan", plan.has_value() ? fabric::faults::FormatFaultPlan(*plan) : ""},
          {"strategy", asked.strategy},
          {"flags", asked.flags},
          {"twice-every", absl::StrCat(twice_every)}};
}

absl::StatusOr<MergeReport> MergeFiles(const std::vector<std::string>& paths, bool partial) {
  std::vector<NamedResults> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::vector<std::string> of_path, FilesOf(path));
    for (const std::string& file : of_path) {
      ASSIGN_OR_RETURN(auto results, sim::explore::ReadResults(file));
      files.emplace_back(file, std::move(results));
    }
  }
  MergeReport report;
  ASSIGN_OR_RETURN(report.merged, sim::explore::Merge(std::move(files)));
  const std::vector<std::string>& missing = report.merged.missing;
  if (!missing.empty() && !partial) {
    const std::string more =
        missing.size() == 1 ? "" : absl::StrCat(", and ", missing.size() - 1, " more such");
    return absl::FailedPreconditionError(
        absl::StrCat(missing[0], more, ": --partial reports what is there"));
  }
  const SweepWords& words = report.merged.sweep;
  report.asked.scenario = Word(words, "scenario");
  report.asked.faults = Word(words, "faults");
  report.asked.strategy = Word(words, "strategy");
  report.asked.flags = Word(words, "flags");
  const std::string plan = Word(words, "plan");
  if (!plan.empty()) {
    ASSIGN_OR_RETURN(report.plan, fabric::faults::ParseFaultPlan(plan));
  }
  return report;
}

std::string FormatMissing(const sim::explore::Merged& merged) {
  std::string text;
  for (const std::string& line : merged.missing) absl::StrAppend(&text, "missing: ", line, "\n");
  return text;
}

std::string FormatShard(const ShardChoice& choice, const sim::explore::SeedSpan& part,
                        const std::string& file) {
  if (choice.from.empty() && file.empty()) return "";
  const std::string from = choice.from.empty() ? "" : absl::StrCat(" (", choice.from, ")");
  const std::string seeds =
      part.seeds == 0 ? "no seeds" : absl::StrCat("seeds ", part.first, "-", part.last());
  return absl::StrCat("shard ", choice.shard.index, "/", choice.shard.count, from, ": ", seeds,
                      file.empty() ? "" : ", results in ", file, "\n");
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && std::filesystem::is_directory(path, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--results=", path, ": ", error.message()));
}

}  // namespace drydock::apps
