// A transfer of several writes that is done when all of them have completed.

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
    Parameter{"writes", 8, 1, 64, "of the transfer"},
};
// One write in a hundred fails, as when the target's region was closed.
constexpr std::string_view kFaults =
    R"({"rules": [{"fault": "remote_address", "when": {"operation": "write", "probability": 0.01}}]})";

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  std::uint64_t left = trial.parameter("writes");
  for (std::uint64_t i = 0; i < trial.parameter("writes"); ++i) {
    const auto error =
        sender.endpoint->Write(fabric::WriteRequest{.source = sender.Local(64 * i, 64),
                                                    .target = pair->b->rail().Remote(64 * i),
                                                    .peer = pair->to_b,
                                                    .context = fabric::Context{i}});
    if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
  }
  absl::Status transfer;
  while (left > 0) {
    while (const auto completion = sender.Read()) {
      if (!completion->ok()) {
        // WRONG: the error is logged, and the transfer goes on waiting for this write.
        if (twin == Twin::kWrong) continue;
        transfer = Failed(sender, *completion, "write");  // REPAIRED: it has ended, badly
      }
      --left;
    }
    if (left > 0 && !LetTimePass(trial)) break;
  }
  return Outcome::Of(transfer);
}

}  // namespace

const Exhibit& FailureNeverTold() {
  static const Exhibit exhibit = {
      .name = "failure-never-told",
      .project = "ai-dynamo/nixl",
      .origin = "pull request 1747",
      .kind = "failures",
      .cause = "a failed completion is logged and never reaches its transfer, which waits for ever",
      .verdict = sim::explore::Verdict::kHang,
      .faults = kFaults,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
