#include "drydock/apps/museum/tour.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::museum {
namespace {

using sim::explore::ExploreOptions;
using sim::explore::ExploreReport;
using sim::explore::SeedResult;
using sim::explore::Verdict;

// Of virtual time: whatever an exhibit waits for comes within milliseconds, or never.
constexpr coro::Duration kLimit = std::chrono::seconds(5);

std::string Describe(Verdict verdict, std::string_view check) {
  return absl::StrCat(std::string(Name(verdict)), check.empty() ? "" : ": ", std::string(check));
}

// Runs blocks of seeds, each twice as long as the one before, until one fails.
absl::Status Search(const Exhibit& exhibit, const TourOptions& options, Visit& visit) {
  ExploreOptions explore = OptionsOf(exhibit, options);
  std::uint64_t block = 1;
  while (visit.seeds < options.most_seeds) {
    explore.first_seed = options.first_seed + visit.seeds;
    explore.seeds = std::min(block, options.most_seeds - visit.seeds);
    ASSIGN_OR_RETURN(const ExploreReport report,
                     Explore(ScenarioOf(exhibit, Twin::kWrong), explore));
    if (!report.failures.empty()) {
      visit.found = report.failures.begin()->second;
      visit.seeds = visit.found->seed - options.first_seed + 1;
      return absl::OkStatus();
    }
    visit.seeds += explore.seeds;
    block *= 2;
  }
  return absl::OkStatus();
}

}  // namespace

bool Visit::FoundAsLabelled(const Exhibit& exhibit) const {
  return found.has_value() && found->verdict == exhibit.verdict && found->check == exhibit.check;
}

ExploreOptions OptionsOf(const Exhibit& exhibit, const TourOptions& options) {
  ExploreOptions explore;
  explore.first_seed = options.first_seed;
  explore.jobs = options.jobs;
  explore.plans = PlansOf(exhibit);
  explore.parameters = options.parameters;
  explore.limit = kLimit;
  return explore;
}

absl::StatusOr<Visit> VisitExhibit(const Exhibit& exhibit, const TourOptions& options) {
  const coro::SteadyClock clock;
  Visit visit;
  const coro::Time start = clock.Now();
  RETURN_IF_ERROR(Search(exhibit, options, visit));
  visit.time = clock.Now() - start;
  if (options.repaired_seeds == 0) return visit;
  ExploreOptions explore = OptionsOf(exhibit, options);
  explore.seeds = options.repaired_seeds;
  ASSIGN_OR_RETURN(visit.repaired, Explore(ScenarioOf(exhibit, Twin::kRepaired), explore));
  return visit;
}

std::string FoundBy(const SeedResult& result) { return Describe(result.verdict, result.check); }
std::string FoundBy(const Exhibit& exhibit) { return Describe(exhibit.verdict, exhibit.check); }

}  // namespace drydock::museum
