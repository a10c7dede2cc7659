// A sender that meets a full send queue.

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
    Parameter{"writes", 96, 1, 4096, "more than the send queue holds"},
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  const std::uint64_t writes = trial.parameter("writes");
  std::uint64_t completed = 0;
  const auto progress = [&] {
    while (sender.Read().has_value()) ++completed;
  };

  for (std::uint64_t i = 0; i < writes; ++i) {
    fabric::WriteRequest request{.source = sender.Local(0, 64),
                                 .target = pair->b->rail().Remote(0),
                                 .peer = pair->to_b,
                                 .context = fabric::Context{i}};
    while (sender.endpoint->Write(request) == fabric::ErrorCode::kAgain) {
      // WRONG: tries again, and again; only a read of the completion queue frees a slot.
      if (twin == Twin::kRepaired) progress();  // REPAIRED
    }
  }
  while (completed < writes) {
    progress();
    if (completed < writes && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& AgainNeverReads() {
  static const Exhibit exhibit = {
      .name = "again-never-reads",
      .project = "ai-dynamo/nixl",
      .origin = "pull request 856",
      .kind = "again",
      .cause = "EAGAIN is answered by posting again, never by reading the completion queue",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
