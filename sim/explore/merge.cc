#include "drydock/sim/explore/merge.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::sim::explore {
namespace {

bool ComesBefore(const NamedResults& a, const NamedResults& b) {
  const std::uint64_t in_a = a.second.part().first;
  const std::uint64_t in_b = b.second.part().first;
  return in_a != in_b ? in_a < in_b : a.first < b.first;
}

// kInvalidArgument: neighbours that are not of one sweep, or share a seed.
absl::Status CheckTogether(const std::vector<NamedResults>& files) {
  const NamedResults* before = nullptr;  // the last one with seeds
  for (const NamedResults& file : files) {
    const std::string difference = DifferenceOf(files[0].second.sweep, file.second.sweep);
    if (!difference.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          files[0].first, " and ", file.first, " are of different sweeps, by their ", difference));
    }
    const SeedSpan part = file.second.part();
    if (part.seeds == 0) continue;
    if (before != nullptr && part.first <= before->second.part().last()) {
      return absl::InvalidArgumentError(
          absl::StrCat("seed ", part.first, " is in ", before->first, " and in ", file.first));
    }
    before = &file;
  }
  return absl::OkStatus();
}

// Seeds of some file's sweep that are no file's part. REQUIRES: sorted, nothing twice.
void AddGaps(const std::vector<NamedResults>& files, std::vector<std::string>& missing) {
  std::vector<SeedSpan> sweeps;
  for (const auto& [path, results] : files) sweeps.push_back(results.all);
  std::sort(sweeps.begin(), sweeps.end(),
            [](const SeedSpan& a, const SeedSpan& b) { return a.first < b.first; });
  sweeps.erase(std::unique(sweeps.begin(), sweeps.end()), sweeps.end());
  bool ended = false;           // at 2^64-1
  std::uint64_t looked_at = 0;  // all seeds below
  for (const SeedSpan& sweep : sweeps) {
    std::uint64_t next = std::max(looked_at, sweep.first);
    for (const auto& [path, results] : files) {
      const SeedSpan part = results.part();
      if (part.seeds == 0 || part.last() < next || part.first > sweep.last()) continue;
      if (part.first > next) {
        missing.push_back(absl::StrCat("seeds ", next, "-", part.first - 1, " are in no file"));
      }
      ended = part.last() == UINT64_MAX;
      next = part.last() + 1;
    }
    if (ended) return;
    if (next <= sweep.last()) {
      missing.push_back(absl::StrCat("seeds ", next, "-", sweep.last(), " are in no file"));
      next = sweep.last() + 1;
      if (sweep.last() == UINT64_MAX) return;
    }
    looked_at = std::max(looked_at, next);
  }
}

}  // namespace

absl::StatusOr<Merged> Merge(std::vector<NamedResults> files) {
  if (files.empty()) return absl::InvalidArgumentError("no files: there is nothing to merge");
  std::sort(files.begin(), files.end(), ComesBefore);
  const absl::Status together = CheckTogether(files);
  if (!together.ok()) return together;
  Merged merged;
  merged.sweep = files[0].second.sweep;
  for (const auto& [path, results] : files) {
    merged.report.Merge(results.report);
    if (results.complete()) continue;
    merged.missing.push_back(
        absl::StrCat(path, " has ", results.done, " of its ", results.part().seeds, " seeds"));
  }
  AddGaps(files, merged.missing);
  return merged;
}

}  // namespace drydock::sim::explore
