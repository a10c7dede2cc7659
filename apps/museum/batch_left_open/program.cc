// Two threads and the lock of an endpoint: one posts a batch, the other makes progress.

#include <array>
#include <cstdint>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/fabric/more_to_come.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"writes", 8, 1, 64, "of the batch"},
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  auto* batch = sender.endpoint->power<fabric::MoreToCome>();
  if (batch == nullptr) return Outcome::Of(absl::UnimplementedError("no MoreToCome"));
  const std::uint64_t writes = trial.parameter("writes");
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  bool locked_by_progress = false;
  for (std::uint64_t turn = 1; completed < writes; ++turn) {
    // Which thread runs: the one that holds the lock, if any does.
    const bool posts =
        !locked_by_progress && coro::Below(coro::Combine(trial.seed(), turn), 2) == 0;
    if (posts && posted < writes) {  // takes the lock for one request, and gives it back
      // WRONG: the batch stays open while another thread may take the lock, and keep it.
      if (twin == Twin::kWrong) batch->SetMoreToCome(posted + 1 < writes);
      // REPAIRED: no batch; each post rings.
      const auto error =
          sender.endpoint->Write(fabric::WriteRequest{.source = sender.Local(64 * posted, 64),
                                                      .target = pair->b->rail().Remote(64 * posted),
                                                      .peer = pair->to_b,
                                                      .context = fabric::Context{posted}});
      if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
      ++posted;
    } else if (!posts && posted > completed) {  // keeps the lock until it has something to tell
      locked_by_progress = true;
      for (; sender.Read().has_value(); locked_by_progress = false) ++completed;
      if (locked_by_progress && !LetTimePass(trial)) break;
    }
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& BatchLeftOpen() {
  static const Exhibit exhibit = {
      .name = "batch-left-open",
      .project = "ai-dynamo/nixl",
      .origin = "issue 1862, pull request 1924",
      .kind = "threads",
      .cause = "a batch waits for its last post, which waits for a lock that progress holds",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
