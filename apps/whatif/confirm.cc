#include "drydock/apps/whatif/confirm.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/model/player.h"
#include "drydock/sim/model/predictor.h"
#include "drydock/sim/model/workload.h"

namespace drydock::apps::whatif {
namespace {

using sim::model::PlayOptions;
using sim::model::Workload;

absl::StatusOr<Simulated> Play(const Space& space, const Point& point, Measure measure,
                               std::uint64_t seed) {
  constexpr std::uint64_t kWindows = 2;  // beside those with which a run begins
  constexpr std::uint64_t kLeast = 32;
  Workload load = space.At(point);
  PlayOptions options{.seed = seed, .steady = 0.03};
  options.requests_per_nic =
      std::max<std::uint64_t>(kLeast, kWindows * WindowOf(space.profile(), load));
  if (measure == Measure::kLatency) {
    ASSIGN_OR_RETURN(const sim::model::Prediction prediction,
                     sim::model::Predict(space.profile(), load));
    // A request of each NIC.
    load.operations = std::max<std::size_t>(1, prediction.active_nics / prediction.parts);
  }
  ASSIGN_OR_RETURN(const sim::model::Played played,
                   sim::model::Play(space.profile(), load, options));
  return Simulated{.gbps = played.pages_per_s * static_cast<double>(load.page_bytes) * 8 / 1e9,
                   .share = played.pages_per_s / Capability(space.profile(), load),
                   .latency = played.first_page};
}

double ValueOf(const Simulated& simulated, Measure measure) {
  return measure == Measure::kRate ? simulated.share
                                   : 1e9 / static_cast<double>(simulated.latency.count());
}

}  // namespace

absl::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kConfirmed:
      return "confirmed";
    case Verdict::kNotSeen:
      return "not seen";
    case Verdict::kModelOnly:
      return "model only";
  }
  return "unknown";
}

absl::StatusOr<Simulated> Confirmer::At(const Point& point, Measure measure) {
  const auto known = played_.find({point, measure});
  if (known != played_.end()) return known->second;
  ++plays_;
  return played_.emplace(std::pair(point, measure), Play(space_, point, measure, options_.seed))
      .first->second;
}

absl::StatusOr<Confirmation> Confirmer::Confirm(const Cliff& cliff) {
  Confirmation confirmation;
  for (const auto& [point, simulated] : {std::pair(&cliff.point, &confirmation.here),
                                         std::pair(&cliff.neighbour, &confirmation.there)}) {
    const absl::StatusOr<Simulated> played = At(*point, cliff.measure);
    if (absl::IsUnimplemented(played.status())) {
      return Confirmation{.reason = std::string(played.status().message())};
    }
    RETURN_IF_ERROR(played.status());
    *simulated = *played;
  }
  const bool is_there = ValueOf(confirmation.here, cliff.measure) <=
                        options_.Enough(cliff.measure) * ValueOf(confirmation.there, cliff.measure);
  confirmation.verdict = is_there ? Verdict::kConfirmed : Verdict::kNotSeen;
  return confirmation;
}

}  // namespace drydock::apps::whatif
