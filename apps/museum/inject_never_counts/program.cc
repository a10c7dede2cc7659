// A program that waits until all that it has posted has completed.

#include <array>
#include <cstdint>
#include <optional>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"messages", 8, 1, 32, "every second one is injected"},
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  Rail& receiver = pair->b->rail();
  const std::uint64_t messages = trial.parameter("messages");
  std::uint64_t posted = 0;
  for (std::uint64_t i = 0; i < messages; ++i) {
    const auto room = receiver.endpoint->Recv(
        fabric::RecvRequest{.buffer = receiver.Local(64 * i, 64), .context = fabric::Context{i}});
    fabric::SendRequest request{.buffer = sender.Local(64 * i, 16), .peer = pair->to_b};
    request.inject = i % 2 == 1;
    if (!request.inject) request.context = fabric::Context{i};
    const auto error = sender.endpoint->Send(request);
    if (room != fabric::ErrorCode::kOk || error != fabric::ErrorCode::kOk) {
      return Outcome::Of(absl::InternalError("not posted"));
    }
    // WRONG: an injected message has no context, and so no completion to wait for.
    if (twin == Twin::kWrong || request.context.has_value()) ++posted;  // REPAIRED: the condition
  }
  std::uint64_t completed = 0;
  std::uint64_t received = 0;
  while (completed < posted || received < messages) {
    while (sender.Read().has_value()) ++completed;
    while (receiver.Read().has_value()) ++received;
    const bool waits = completed < posted || received < messages;
    if (waits && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& InjectNeverCounts() {
  static const Exhibit exhibit = {
      .name = "inject-never-counts",
      .project = "ofiwg/libfabric",
      .origin = "commit b1ecc7853, pull request 12656",
      .kind = "immediates and counters",
      .cause = "an injected operation is counted when it is posted, and never when it has ended",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
