// Looks for cliffs in a space of workloads: where a workload's rate is far under, or its latency
// far over, that of a workload which differs in one thing.
//
//   for each value of each dimension, "route crossing":
//     climb      give other things, one at a time, the value that brings this one nearest to being
//                the limit: guided by the bounds of all stages, as Collie is by a NIC's counters
//     cliff?     one other value of the dimension is far better, and no known cliff says why
//     minimise   put back to the plain workload whatever the cliff does not need
//
// After Collie (Kong et al., NSDI 22), which searches real NICs so. Nothing is known beforehand of
// any cliff. Times are the predictor's; a search draws from its seed only, so that the same space,
// seed and budget have the same cliffs.

#ifndef DRYDOCK_APPS_WHATIF_SEARCH_H_
#define DRYDOCK_APPS_WHATIF_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/whatif/space.h"
#include "drydock/coro/time.h"
#include "drydock/sim/model/predictor.h"
#include "drydock/sim/model/workload.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::whatif {

enum class Measure : std::uint8_t {
  kRate,     // pages a second, as a share of what the NICs can: of links or of their request rate
  kLatency,  // until the first page of every NIC has ended
};

// "rate". Static storage.
std::string_view Name(Measure measure);

// Pages a second that the NICs of a workload could move if nothing else were a limit.
double Capability(const sim::Profile& profile, const sim::model::Workload& load);

struct SearchOptions {
  std::uint64_t seed = 1;
  std::uint64_t budget = 40'000;  // workloads that are predicted
  double depth = 0.25;            // a rate is a cliff that is so much less than its neighbour's
  double times = 3;               // a latency, that is so many times its neighbour's
  std::function<void(std::uint64_t predicted)> progress = [](std::uint64_t) {};

  // What has at most this share of its neighbour's value (Outcome::value) is a cliff.
  double Enough(Measure measure) const { return measure == Measure::kRate ? 1 - depth : 1 / times; }
};

// What a search looks at of a workload.
struct Outcome {
  double gbps = 0;                        // over the whole run, where it has an end
  double share = 0;                       // of what the NICs can: 0 to 1
  double of_links = 0;                    // the same, of what their links carry
  coro::Duration latency{};               // first contact included
  sim::model::Limiter limiter{};          // of the rate
  std::vector<sim::model::Bound> bounds;  // as shares of what the NICs can
  std::vector<sim::model::LatencyPart> parts;

  // More is better.
  double value(Measure measure) const {
    return measure == Measure::kRate ? share : 1e9 / static_cast<double>(latency.count());
  }
};

// One thing that a cliff needs.
struct Feature {
  std::size_t dimension;
  std::vector<std::size_t> values;  // with which it is still there, in their order
};

struct Cliff {
  Measure measure;
  sim::model::Limiter limiter;
  Point point;                    // the plain workload, but for what the cliff needs
  std::size_t along;              // the dimension in which it was found
  std::vector<Feature> features;  // each one alone, with another value, makes it vanish
  Point neighbour;                // the best of those that differ in that dimension only
  Outcome here;
  Outcome there;
};

struct Found {
  std::vector<Cliff> cliffs;  // as they were found: those of a single value first
  std::uint64_t predicted = 0;
  // Of all workloads that were looked at, the nearest to what the links carry.
  Outcome highest;
};

// Not thread-safe, and it remembers each workload that it has looked at: some 1 KiB for each.
class Search {
 public:
  // The space outlives it; `progress` is told of each prediction. REQUIRES: 0 < depth < 1, times > 1.
  Search(const Space& space, SearchOptions options)
      : space_(space), options_(std::move(options)), predictor_(space.profile()) {}

  // Errors: those of Predict, where the machine cannot do what the plain workload asks.
  absl::StatusOr<Found> Run();

  // Whether there is this cliff, of this limiter and along the same dimension, at another point.
  bool IsThere(const Cliff& cliff, const Point& point);
  // Predicted when it is first asked for. Lives as long as the search.
  const Outcome& At(const Point& point);

 private:
  static constexpr std::uint64_t kRounds = 64;
  static constexpr int kTurns = 4;  // of a climb, through all dimensions

  std::size_t BestAlong(const Point& point, std::size_t along, Measure measure);
  std::optional<sim::model::Limiter> LimiterOfCliff(const Point& point, std::size_t along,
                                                    Measure measure);
  double Promise(const Point& point, std::size_t along, Measure measure);
  bool Covers(const Cliff& cliff, const Feature& feature, std::size_t value) const;
  bool IsKnown(const Point& point, Measure measure, sim::model::Limiter limiter) const;
  void ClimbAll(std::size_t along, Measure measure, std::uint64_t round);
  bool IsBlamed(std::size_t along, std::size_t value, Measure measure) const;
  void Climb(std::size_t along, std::size_t value, Measure measure, std::uint64_t round);
  std::size_t MostPromising(const Point& point, std::size_t dimension, std::size_t along,
                            Measure measure);
  bool IsSpent() const { return found_.predicted >= options_.budget || !status_.ok(); }
  bool EnterIfNew(const Point& point, std::size_t along, Measure measure);
  bool Enter(const Point& point, std::size_t along, Measure measure, sim::model::Limiter limiter);
  bool Explains(const Cliff& known, const Cliff& cliff) const;
  void Minimise(Cliff& cliff);
  bool IsNoCure(const Cliff& cliff, std::size_t dimension) const;
  void FindFeatures(Cliff& cliff);
  void FindNeighbour(Cliff& cliff);

  const Space& space_;
  const SearchOptions options_;
  sim::model::Predictor predictor_;
  std::map<Point, Outcome> outcomes_;
  absl::Status status_;
  Found found_;
};

}  // namespace drydock::apps::whatif

#endif  // DRYDOCK_APPS_WHATIF_SEARCH_H_
