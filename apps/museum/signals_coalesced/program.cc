// Signals to one peer, whose doorbells are saved: one for several.

#include <array>
#include <cstdint>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/fabric/more_to_come.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"signals", 5, 1, 63, "of a burst, before both sides meet"},
    Parameter{"coalesced", 8, 2, 11, "signals for which one doorbell is rung"},
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  Rail& receiver = pair->b->rail();
  auto* batch = sender.endpoint->power<fabric::MoreToCome>();
  if (batch == nullptr) return Outcome::Of(absl::UnimplementedError("no MoreToCome"));
  const std::uint64_t signals = trial.parameter("signals");
  const std::uint64_t coalesced = trial.parameter("coalesced");
  for (std::uint64_t i = 0; i < signals; ++i) {
    // WRONG: the bell rings for every eighth signal, and a burst need not have eight.
    bool more = (i + 1) % coalesced != 0;
    if (twin == Twin::kRepaired) more = more && i + 1 < signals;  // REPAIRED: or the burst ends
    batch->SetMoreToCome(more);
    const auto error = sender.endpoint->Write(fabric::WriteRequest{.source = sender.Local(0, 8),
                                                                   .target = receiver.Remote(0),
                                                                   .peer = pair->to_b,
                                                                   .immediate = 1,
                                                                   .context = fabric::Context{i}});
    if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
  }
  std::uint64_t completed = 0;
  std::uint64_t heard = 0;
  while (heard < signals || completed < signals) {  // the barrier of both
    while (sender.Read().has_value()) ++completed;
    while (receiver.Read().has_value()) ++heard;
    const bool waits = heard < signals || completed < signals;
    if (waits && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& SignalsCoalesced() {
  static const Exhibit exhibit = {
      .name = "signals-coalesced",
      .project = "aws/aws-ofi-nccl",
      .origin = "issue 1327",
      .kind = "immediates and counters",
      .cause = "signals share a doorbell, which a burst that is too short never rings",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
