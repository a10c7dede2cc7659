// Messages in two halves, each by a NIC of its own.

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"messages", 8, 1, 32, "all under way at once"},
    Parameter{"half_bytes", 512, 8, 1024, "bytes of half a message"},
};
constexpr std::size_t kRails = 2;

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial, {.rails = kRails}, {.rails = kRails});
  if (!pair.ok()) return Outcome::Of(pair.status());
  const std::uint64_t messages = trial.parameter("messages");
  const std::size_t half = trial.parameter("half_bytes");
  for (std::uint64_t number = 0; number < messages; ++number) {
    FillKeyed(pair->a->Bytes(2 * half * number, 2 * half), number);
    for (std::size_t rail = 0; rail < kRails; ++rail) {
      const std::size_t at = half * (2 * number + rail);
      const auto error = pair->a->rail(rail).endpoint->Write(
          fabric::WriteRequest{.source = pair->a->rail(rail).Local(at, half),
                               .target = pair->b->rail(rail).Remote(at),
                               .peer = pair->rails_to_b[rail],
                               .immediate = static_cast<std::uint32_t>(number),
                               .context = fabric::Context{number}});
      if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
    }
  }
  std::uint64_t arrived = 0;                  // halves of any message
  std::vector<std::size_t> halves(messages);  // of each
  std::vector<bool> taken(messages);
  std::uint64_t left = messages;
  std::uint64_t completed = 0;
  while (left > 0 || completed < kRails * messages) {
    for (std::size_t rail = 0; rail < kRails; ++rail) {
      while (pair->a->rail(rail).Read().has_value()) ++completed;
      while (const auto completion = pair->b->rail(rail).Read()) {
        ++arrived;
        ++halves[completion->immediate.value_or(0)];
      }
    }
    for (std::uint64_t number = 0; number < messages; ++number) {
      // WRONG: with as many halves as these messages have, they must be here.
      bool whole = arrived >= kRails * (number + 1);
      if (twin == Twin::kRepaired) whole = halves[number] == kRails;  // REPAIRED
      if (!whole || taken[number]) continue;
      taken[number] = true;
      --left;
      if (!HoldsKeyed(pair->b->Bytes(2 * half * number, 2 * half), number)) {
        return Outcome::WrongData(
            absl::StrCat("message ", number, " was taken before it was here"));
      }
    }
    const bool waits = left > 0 || completed < kRails * messages;
    if (waits && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& HeuristicCount() {
  static const Exhibit exhibit = {
      .name = "heuristic-count",
      .project = "aws/aws-ofi-nccl",
      .origin = "commit 106dc719",
      .kind = "several rails",
      .cause = "arrivals of all messages are counted together, and rails overtake each other",
      .verdict = sim::explore::Verdict::kWrongData,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
