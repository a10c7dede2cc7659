// Both twins of an exhibit, run with many seeds: whether the wrong one is found, and how soon, and
// whether the repaired one is left alone.

#ifndef DRYDOCK_APPS_MUSEUM_TOUR_H_
#define DRYDOCK_APPS_MUSEUM_TOUR_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/apps/museum/exhibit.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/run_seed.h"

namespace drydock::museum {

struct TourOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t most_seeds = 1000;  // of the wrong twin, until it is found
  std::uint64_t repaired_seeds = 10000;
  std::uint64_t jobs = 1;
  sim::explore::Parameters parameters;
};

// What came of it.
struct Visit {
  std::optional<sim::explore::SeedResult> found;  // the wrong twin's first seed that failed
  std::uint64_t seeds = 0;                        // that it took, this one among them
  coro::Duration time{};                          // of the clock on the wall
  sim::explore::ExploreReport repaired;

  // The wrong twin was found by what its label says.
  bool FoundAsLabelled(const Exhibit& exhibit) const;
  // And the repaired one was not.
  bool Good(const Exhibit& exhibit) const {
    return FoundAsLabelled(exhibit) && repaired.failed() == 0;
  }
};

// What `ExploreOptions` run a twin of this exhibit with.
sim::explore::ExploreOptions OptionsOf(const Exhibit& exhibit, const TourOptions& options);

// Errors: those of sim::explore::Explore. REQUIRES: this process has one thread.
absl::StatusOr<Visit> VisitExhibit(const Exhibit& exhibit, const TourOptions& options);

// "wrong-data", "finding: context-ownership".
std::string FoundBy(const sim::explore::SeedResult& result);
std::string FoundBy(const Exhibit& exhibit);

}  // namespace drydock::museum

#endif  // DRYDOCK_APPS_MUSEUM_TOUR_H_
