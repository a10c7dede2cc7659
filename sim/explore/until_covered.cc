#include "drydock/sim/explore/until_covered.h"

#include <algorithm>

#include "absl/status/status.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/coverage/report.h"

namespace drydock::sim::explore {
namespace {

// How much there is to see in it: cells, and points that held.
std::size_t Seen(const fabric::coverage::Report& report) {
  const auto held = std::count_if(report.points.begin(), report.points.end(),
                                  [](const auto& point) { return point.second.held > 0; });
  return report.cells.size() + static_cast<std::size_t>(held);
}

std::vector<std::string> NeverHeld(const fabric::coverage::Report& report) {
  std::vector<std::string> names;
  for (const auto& [point, count] : report.points) {
    const bool sometimes = point.kind == fabric::coverage::PointKind::kSometimes;
    if (sometimes && count.held == 0) names.push_back(point.name);
  }
  return names;
}

}  // namespace

absl::StatusOr<CoveredReport> ExploreUntilCovered(const Scenario& scenario,
                                                  const ExploreOptions& options,
                                                  std::uint64_t block) {
  if (block == 0) return absl::InvalidArgumentError("a block of no seeds shows nothing");
  RETURN_IF_ERROR(CheckOptions(options));
  CoveredReport result;
  ExploreOptions part = options;
  for (std::uint64_t done = 0; done < options.seeds && !result.covered; done += part.seeds) {
    part.first_seed = options.first_seed + done;
    part.seeds = std::min(block, options.seeds - done);
    part.progress = [&](std::uint64_t count) { options.progress(done + count); };
    ASSIGN_OR_RETURN(const ExploreReport report, Explore(scenario, part));
    const std::size_t before = Seen(result.report.coverage);
    result.report.Merge(report);
    result.never_held = NeverHeld(result.report.coverage);
    const bool flat = Seen(result.report.coverage) == before && part.seeds == block;
    result.covered = flat && result.never_held.empty();
  }
  return result;
}

}  // namespace drydock::sim::explore
