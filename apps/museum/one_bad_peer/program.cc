// A sender with one endpoint and two peers, of which one is gone.

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/time.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"writes", 136, 1, 1024, "to each peer"},
};
constexpr coro::Duration kPatience = std::chrono::milliseconds(100);  // for the peer that is well

struct Target {
  Machine& machine;
  fabric::Peer peer;
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  auto third = Machine::Open(trial, "gone");
  if (!third.ok()) return Outcome::Of(third.status());
  Rail& sender = pair->a->rail();
  std::array<Target, 2> targets = {Target{**third, pair->a->Insert(**third)},
                                   Target{*pair->b, pair->to_b}};
  Target& well = targets[1];
  static_cast<void>((*third)->Insert(*pair->a));
  (*third)->node().Kill();
  const std::uint64_t writes = trial.parameter("writes");
  // WRONG: the peer that is first takes whatever room the send queue has.
  std::uint64_t share = sender.endpoint->limits().send_queue_depth;
  if (twin == Twin::kRepaired) share /= targets.size();  // REPAIRED: each has its part of it
  const coro::Time deadline = coro::After(trial.clock().Now(), kPatience);
  std::uint64_t context = 0;
  while (well.completed < writes) {
    for (Target& target : targets) {
      while (target.posted < writes && target.posted - target.completed < share) {
        const std::uint64_t which = &target == &well ? 1 : 0;
        const auto error = sender.endpoint->Write(
            fabric::WriteRequest{.source = sender.Local(0, 64),
                                 .target = target.machine.rail().Remote(0),
                                 .peer = target.peer,
                                 .context = fabric::Context{2 * context + which}});
        if (error != fabric::ErrorCode::kOk) break;
        ++context;
        ++target.posted;
      }
    }
    bool heard = false;
    while (const auto completion = sender.Read()) {
      heard = true;
      ++targets[static_cast<std::size_t>(*completion->context) % 2].completed;
    }
    if (heard) continue;
    if (trial.clock().Now() >= deadline) {
      return Outcome::Of(absl::DeadlineExceededError(
          absl::StrCat(well.completed, " of ", writes, " writes to the peer that is well")));
    }
    if (!trial.clock().WaitUntil(deadline)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& OneBadPeer() {
  static const Exhibit exhibit = {
      .name = "one-bad-peer",
      .project = "kvcache-ai/Mooncake",
      .origin = "issue 828",
      .kind = "again",
      .cause = "operations to a dead peer fill the send queue, and healthy peers get no room",
      .verdict = sim::explore::Verdict::kUnexplainedError,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
