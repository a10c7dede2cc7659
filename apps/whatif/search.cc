#include "drydock/apps/whatif/search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "drydock/coro/keyed_random.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::whatif {
namespace {

using sim::model::Bound;
using sim::model::LatencyPart;
using sim::model::Limiter;
using sim::model::Pattern;
using sim::model::Prediction;
using sim::model::Workload;

Outcome OutcomeOf(const sim::Profile& profile, const Workload& load, const Prediction& prediction) {
  const double capability = Capability(profile, load);
  Outcome outcome{
      .gbps = prediction.overall_gbps,
      .share =
          prediction.overall_gbps * 1e9 / 8 / static_cast<double>(load.page_bytes) / capability,
      .of_links = prediction.overall_gbps / (profile.link_gbps * static_cast<double>(load.nics)),
      .latency = prediction.contact_time + prediction.first_pages,
      .limiter = prediction.limiter,
      .bounds = prediction.bounds,
      .parts = prediction.first_pages_parts};
  for (Bound& bound : outcome.bounds) bound.operations_per_s /= capability;
  // A window that is drained takes as long as its slowest stage does, and then ends: where the stage
  // takes the greater part, it is to blame.
  if (load.pattern == Pattern::kDrained && outcome.limiter == Limiter::kWindow &&
      outcome.bounds[1].operations_per_s < 2 * outcome.bounds[0].operations_per_s) {
    outcome.limiter = outcome.bounds[1].limiter;
  }
  outcome.parts.push_back({Limiter::kFirstContact, prediction.contact_time});
  return outcome;
}

// The stage whose part of the latency is the most longer here than there.
Limiter LongerStage(const Outcome& here, const Outcome& there) {
  std::map<Limiter, coro::Duration> longer;
  for (const LatencyPart& part : here.parts) longer[part.stage] += part.time;
  for (const LatencyPart& part : there.parts) longer[part.stage] -= part.time;
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(longer.begin(), longer.end(), less)->first;
}

// Threads that post have one name or the other, as they are placed.
bool IsSameStage(Limiter a, Limiter b) {
  const auto posts = [](Limiter one) { return one == Limiter::kPostRate || one == Limiter::kNuma; };
  return a == b || (posts(a) && posts(b));
}

// How near another value of a dimension is to lifting what limits a workload: the most that it
// lifts the bound of a stage, less for stages that are far from being the limit.
double Lift(const Outcome& here, const Outcome& there) {
  constexpr double kMost = 4;  // a stage that falls away altogether counts so much
  double most = 0;
  for (const Bound& bound : here.bounds) {
    double lifted = kMost;
    for (const Bound& other : there.bounds) {
      if (!IsSameStage(other.limiter, bound.limiter)) continue;
      lifted = std::min(lifted, other.operations_per_s / bound.operations_per_s);
    }
    const double near = here.bounds.front().operations_per_s / bound.operations_per_s;
    most = std::max(most, (lifted - 1) * near);
  }
  return most;
}

// What a climb draws.
class Draws {
 public:
  Draws(std::uint64_t seed, Measure measure, std::size_t along, std::size_t value,
        std::uint64_t round)
      : key_(coro::Mix(seed)) {
    for (const std::uint64_t word :
         {static_cast<std::uint64_t>(measure), static_cast<std::uint64_t>(along),
          static_cast<std::uint64_t>(value), round}) {
      key_ = coro::Combine(key_, word);
    }
  }
  std::size_t Below(std::size_t bound) {
    return static_cast<std::size_t>(coro::Below(coro::Combine(key_, counter_++), bound));
  }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

bool Contains(const std::vector<std::size_t>& values, std::size_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

double Capability(const sim::Profile& profile, const Workload& load) {
  const double each = std::max(static_cast<double>(load.page_bytes) * 8 / (profile.link_gbps * 1e9),
                               static_cast<double>(profile.issue_cost.count()) * 1e-9);
  return static_cast<double>(load.nics) / each;
}

std::string_view Name(Measure measure) { return measure == Measure::kRate ? "rate" : "latency"; }

const Outcome& Search::At(const Point& point) {
  const auto [known, is_new] = outcomes_.try_emplace(point);
  if (!is_new) return known->second;
  options_.progress(++found_.predicted);
  const Workload load = space_.At(point);
  const auto prediction = predictor_.Predict(load);
  if (!prediction.ok()) {
    status_.Update(prediction.status());
    known->second = {.latency = coro::Duration::max()};
    return known->second;
  }
  known->second = OutcomeOf(space_.profile(), load, *prediction);
  if (known->second.of_links > found_.highest.of_links) found_.highest = known->second;
  return known->second;
}

std::size_t Search::BestAlong(const Point& point, std::size_t along, Measure measure) {
  Point other = point;
  std::size_t best = point[along];
  double most = At(point).value(measure);
  for (std::size_t value = 0; value < space_.dimensions()[along].values.size(); ++value) {
    other[along] = value;
    if (const double reached = At(other).value(measure); reached > most) {
      most = reached;
      best = value;
    }
  }
  return best;
}

// Nothing, where no other value of the dimension is far better.
std::optional<Limiter> Search::LimiterOfCliff(const Point& point, std::size_t along,
                                              Measure measure) {
  Point best = point;
  best[along] = BestAlong(point, along, measure);
  const Outcome& here = At(point);
  const Outcome& there = At(best);
  if (here.value(measure) > options_.Enough(measure) * there.value(measure)) return std::nullopt;
  return measure == Measure::kRate ? here.limiter : LongerStage(here, there);
}

// How near a point is to a cliff along this dimension.
double Search::Promise(const Point& point, std::size_t along, Measure measure) {
  const Outcome& here = At(point);
  Point other = point;
  if (measure == Measure::kLatency) {
    other[along] = BestAlong(point, along, measure);
    return At(other).value(measure) / here.value(measure);
  }
  double most = 0;
  for (std::size_t value = 0; value < space_.dimensions()[along].values.size(); ++value) {
    other[along] = value;
    if (value != point[along]) most = std::max(most, Lift(here, At(other)));
  }
  return most;
}

// Whether a cliff is there with this value as well: words are not each other's reasons.
bool Search::Covers(const Cliff& cliff, const Feature& feature, std::size_t value) const {
  const Dimension& dimension = space_.dimensions()[feature.dimension];
  const std::size_t own = cliff.point[feature.dimension];
  if (!dimension.ordered && own != dimension.plain) return value == own;
  return Contains(feature.values, value);
}

bool Search::IsKnown(const Point& point, Measure measure, Limiter limiter) const {
  return std::any_of(found_.cliffs.begin(), found_.cliffs.end(), [&](const Cliff& cliff) {
    return cliff.measure == measure && cliff.limiter == limiter &&
           std::all_of(cliff.features.begin(), cliff.features.end(), [&](const Feature& feature) {
             return Covers(cliff, feature, point[feature.dimension]);
           });
  });
}

// A value that is a cliff without others needs no company to become one.
bool Search::IsBlamed(std::size_t along, std::size_t value, Measure measure) const {
  return std::any_of(found_.cliffs.begin(), found_.cliffs.end(), [&](const Cliff& cliff) {
    return cliff.measure == measure && cliff.point[along] != space_.dimensions()[along].plain &&
           std::any_of(cliff.features.begin(), cliff.features.end(), [&](const Feature& feature) {
             return feature.dimension == along && Covers(cliff, feature, value);
           });
  });
}

// Gives one dimension after the other, in a drawn order, the value that promises most. Ends at the first cliff that is
// not known.
void Search::Climb(std::size_t along, std::size_t value, Measure measure, std::uint64_t round) {
  Draws draws(options_.seed, measure, along, value, round);
  Point point = space_.plain();
  point[along] = value;
  if (EnterIfNew(point, along, measure) || round == 0) return;
  // Later rounds begin elsewhere.
  for (std::uint64_t i = 1; i < round; ++i) {
    const std::size_t other = draws.Below(point.size());
    if (other != along) point[other] = draws.Below(space_.dimensions()[other].values.size());
  }
  std::vector<std::size_t> others(point.size());
  std::iota(others.begin(), others.end(), 0);
  for (int turn = 0; turn < kTurns; ++turn) {
    const Point before = point;
    for (std::size_t i = others.size(); i > 1; --i)
      std::swap(others[i - 1], others[draws.Below(i)]);
    for (const std::size_t other : others) {
      if (other == along) continue;
      if (IsSpent()) return;
      point[other] = MostPromising(point, other, along, measure);
      if (EnterIfNew(point, along, measure)) return;
    }
    if (point == before) return;
  }
}

std::size_t Search::MostPromising(const Point& point, std::size_t dimension, std::size_t along,
                                  Measure measure) {
  std::size_t best = point[dimension];
  double most = Promise(point, along, measure);
  Point other = point;
  for (std::size_t value = 0; value < space_.dimensions()[dimension].values.size(); ++value) {
    other[dimension] = value;
    const double promised = Promise(other, along, measure);
    if (promised <= most) continue;
    most = promised;
    best = value;
  }
  return best;
}

// Whether there is a cliff that no known one explains; it is known then.
bool Search::EnterIfNew(const Point& point, std::size_t along, Measure measure) {
  const std::optional<Limiter> limiter = LimiterOfCliff(point, along, measure);
  return limiter.has_value() && !IsKnown(point, measure, *limiter) &&
         Enter(point, along, measure, *limiter);
}

// False: a known cliff explains it.
bool Search::Enter(const Point& point, std::size_t along, Measure measure, Limiter limiter) {
  Cliff cliff{.measure = measure, .limiter = limiter, .point = point, .along = along};
  Minimise(cliff);
  cliff.here = At(cliff.point);
  std::vector<Cliff>& cliffs = found_.cliffs;
  const auto explains = [&](const Cliff& known) { return Explains(known, cliff); };
  if (std::any_of(cliffs.begin(), cliffs.end(), explains)) return false;
  std::erase_if(cliffs, [&](const Cliff& known) { return Explains(cliff, known); });
  FindFeatures(cliff);
  FindNeighbour(cliff);
  cliffs.push_back(std::move(cliff));
  return true;
}

// Whether what differs from the plain workload in `known` differs in the other, too: the same
// words, and numbers on the same side.
bool Search::Explains(const Cliff& known, const Cliff& cliff) const {
  if (known.measure != cliff.measure || known.limiter != cliff.limiter) return false;
  for (std::size_t i = 0; i < known.point.size(); ++i) {
    const Dimension& dimension = space_.dimensions()[i];
    if (known.point[i] == dimension.plain || known.point[i] == cliff.point[i]) continue;
    const bool same_side = (known.point[i] < dimension.plain) == (cliff.point[i] < dimension.plain);
    if (!dimension.ordered || cliff.point[i] == dimension.plain || !same_side) return false;
  }
  return true;
}

bool Search::IsThere(const Cliff& cliff, const Point& point) {
  return LimiterOfCliff(point, cliff.along, cliff.measure) == cliff.limiter;
}

void Search::Minimise(Cliff& cliff) {
  const Point plain = space_.plain();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (cliff.point[i] == plain[i]) continue;
      Point simpler = cliff.point;
      simpler[i] = plain[i];
      if (!IsThere(cliff, simpler)) continue;
      cliff.point = std::move(simpler);
      changed = true;
    }
  }
}

// A shorter page does not take less time because something was amiss.
bool Search::IsNoCure(const Cliff& cliff, std::size_t dimension) const {
  return cliff.measure == Measure::kLatency && space_.dimensions()[dimension].lengthens;
}

// What is left of the differences from the plain workload, and whatever of the plain workload makes
// things far better when it is changed. That something else becomes a worse limit is no reason.
void Search::FindFeatures(Cliff& cliff) {
  const double enough = cliff.here.value(cliff.measure) / options_.Enough(cliff.measure);
  for (std::size_t i = 0; i < cliff.point.size(); ++i) {
    Feature feature{.dimension = i, .values = {}};
    bool is_needed = cliff.point[i] != space_.dimensions()[i].plain;
    Point other = cliff.point;
    for (std::size_t value = 0; value < space_.dimensions()[i].values.size(); ++value) {
      other[i] = value;
      if (IsThere(cliff, other)) {
        feature.values.push_back(value);
      } else if (At(other).value(cliff.measure) >= enough) {
        is_needed = is_needed || !IsNoCure(cliff, i);
      }
    }
    if (is_needed) cliff.features.push_back(std::move(feature));
  }
}

// The best along the dimension in which the cliff was found; the plain one, where that is as good.
void Search::FindNeighbour(Cliff& cliff) {
  constexpr double kAsGood = 0.98;
  cliff.neighbour = cliff.point;
  cliff.neighbour[cliff.along] = BestAlong(cliff.point, cliff.along, cliff.measure);
  Point plain = cliff.point;
  plain[cliff.along] = space_.dimensions()[cliff.along].plain;
  if (At(plain).value(cliff.measure) >= kAsGood * At(cliff.neighbour).value(cliff.measure)) {
    cliff.neighbour = std::move(plain);
  }
  cliff.there = At(cliff.neighbour);
}

void Search::ClimbAll(std::size_t along, Measure measure, std::uint64_t round) {
  const Dimension& dimension = space_.dimensions()[along];
  if (measure == Measure::kLatency && dimension.lengthens) return;
  for (std::size_t value = 0; value < dimension.values.size(); ++value) {
    if (IsSpent()) return;
    if (round == 0 || !IsBlamed(along, value, measure)) Climb(along, value, measure, round);
  }
}

absl::StatusOr<Found> Search::Run() {
  At(space_.plain());
  const std::vector<Dimension>& dimensions = space_.dimensions();
  std::vector<std::size_t> order(dimensions.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (const Measure measure : {Measure::kRate, Measure::kLatency}) {
      for (const std::size_t i : order) ClimbAll(i, measure, round);
    }
    // A climb along few values takes few predictions: those come first after the first round.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return dimensions[a].values.size() < dimensions[b].values.size();
    });
  }
  RETURN_IF_ERROR(status_);
  return found_;
}

}  // namespace drydock::apps::whatif
