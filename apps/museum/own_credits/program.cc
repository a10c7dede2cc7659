// A sender that counts credits so that it never meets a full queue.

#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"writes", 160, 1, 4096, "that are posted as fast as credits allow"},
    Parameter{"credits", 128, 1, 4096, "a number that fitted another machine"},
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  // WRONG: the queue's depth as it is on the machine where this was written.
  std::uint64_t credits = trial.parameter("credits");
  // REPAIRED: the depth that this endpoint has.
  if (twin == Twin::kRepaired) credits = sender.endpoint->limits().send_queue_depth;
  const std::uint64_t writes = trial.parameter("writes");
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  while (completed < writes) {
    while (posted < writes && posted - completed < credits) {
      const auto error =
          sender.endpoint->Write(fabric::WriteRequest{.source = sender.Local(0, 64),
                                                      .target = pair->b->rail().Remote(0),
                                                      .peer = pair->to_b,
                                                      .context = fabric::Context{posted}});
      if (error != fabric::ErrorCode::kOk) {  // credits have promised room
        return Outcome::Of(absl::ResourceExhaustedError(
            absl::StrCat("write ", posted, " was refused, with a credit in hand")));
      }
      ++posted;
    }
    while (sender.Read().has_value()) ++completed;
    if (completed < posted && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& OwnCredits() {
  static const Exhibit exhibit = {
      .name = "own-credits",
      .project = "kvcache-ai/Mooncake",
      .origin = "pull request 3296",
      .kind = "again",
      .cause = "credits are a constant, and the send queue of this machine is shorter",
      .verdict = sim::explore::Verdict::kUnexplainedError,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
