// A receiver whose peer writes with immediates while it computes.

#include <array>
#include <cstdint>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"writes", 48, 1, 64, "of the peer, each with an immediate"},
};
constexpr std::size_t kOwnOperations = 16;  // that the receiver itself has in flight at most

Outcome Run(Trial& trial, Twin twin) {
  const std::uint64_t writes = trial.parameter("writes");
  // WRONG: room for one's own completions only; a peer's immediates come to the same queue.
  std::size_t depth = kOwnOperations;
  if (twin == Twin::kRepaired) depth = kOwnOperations + writes;  // REPAIRED
  auto pair = OpenPair(trial, {}, {.queue_depth = depth});
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  Rail& receiver = pair->b->rail();
  for (std::uint64_t i = 0; i < writes; ++i) {
    const auto error =
        sender.endpoint->Write(fabric::WriteRequest{.source = sender.Local(64 * i, 64),
                                                    .target = receiver.Remote(64 * i),
                                                    .peer = pair->to_b,
                                                    .immediate = 1,
                                                    .context = fabric::Context{i}});
    if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
  }
  std::uint64_t completed = 0;
  while (completed < writes) {  // all this time the receiver computes
    while (sender.Read().has_value()) ++completed;
    if (completed < writes && !LetTimePass(trial)) break;
  }
  std::uint64_t arrived = 0;
  while (arrived < writes) {
    while (receiver.Read().has_value()) ++arrived;
    if (arrived < writes && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& QueueOverrun() {
  static const Exhibit exhibit = {
      .name = "queue-overrun",
      .project = "ai-dynamo/nixl",
      .origin = "pull request 1123",
      .kind = "overrun",
      .cause = "the completion queue has no room for peers' immediates, and loses completions",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
