// Numbered messages, and a receiver that takes them in the order of their numbers.

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"messages", 80, 1, 128, "more than the send queue holds"},
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  Rail& receiver = pair->b->rail();
  const std::uint64_t messages = trial.parameter("messages");
  std::uint32_t next_number = 0;
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  std::uint32_t expected = 0;     // by the receiver
  std::set<std::uint32_t> early;  // came before their turn
  while (expected < messages || completed < posted) {
    while (posted < messages) {
      const std::uint32_t number = next_number;
      // WRONG: the number is taken before the post, and stays taken when the post is refused.
      if (twin == Twin::kWrong) ++next_number;
      const auto error =
          sender.endpoint->Write(fabric::WriteRequest{.source = sender.Local(64 * number, 64),
                                                      .target = receiver.Remote(64 * number),
                                                      .peer = pair->to_b,
                                                      .immediate = number,
                                                      .context = fabric::Context{number}});
      if (error != fabric::ErrorCode::kOk) break;  // later, as a new message
      if (twin == Twin::kRepaired) ++next_number;  // REPAIRED: it is on its way
      ++posted;
    }
    bool heard = false;
    for (; sender.Read().has_value(); heard = true) ++completed;
    while (const auto completion = receiver.Read()) {
      heard = true;
      early.insert(completion->immediate.value_or(0));
      while (early.erase(expected) > 0) ++expected;
    }
    if (!heard && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& ParkedWindow() {
  static const Exhibit exhibit = {
      .name = "parked-window",
      .project = "ofiwg/libfabric",
      .origin = "commit 2806349ed",
      .kind = "failures",
      .cause = "a message that was not sent keeps its number, and the receiver waits for it",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
