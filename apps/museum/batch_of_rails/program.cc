// A group of writes that two NICs carry in turn, posted as a batch.

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

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"writes", 7, 1, 64, "of the group"},
};
constexpr std::size_t kRails = 2;

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial, {.rails = kRails}, {.rails = kRails});
  if (!pair.ok()) return Outcome::Of(pair.status());
  const std::uint64_t writes = trial.parameter("writes");
  for (std::uint64_t i = 0; i < writes; ++i) {
    const std::size_t index = i % kRails;
    Rail& rail = pair->a->rail(index);
    auto* batch = rail.endpoint->power<fabric::MoreToCome>();
    if (batch == nullptr) return Outcome::Of(absl::UnimplementedError("no MoreToCome"));
    // WRONG: the batch ends with the group's last write, which is one rail's.
    bool more = i + 1 < writes;
    if (twin == Twin::kRepaired) more = i + kRails < writes;  // REPAIRED: with the rail's last
    batch->SetMoreToCome(more);
    const auto error =
        rail.endpoint->Write(fabric::WriteRequest{.source = rail.Local(64 * i, 64),
                                                  .target = pair->b->rail(index).Remote(64 * i),
                                                  .peer = pair->rails_to_b[index],
                                                  .context = fabric::Context{i}});
    if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
  }
  std::uint64_t completed = 0;
  while (completed < writes) {
    for (std::size_t index = 0; index < kRails; ++index) {
      while (pair->a->rail(index).Read().has_value()) ++completed;
    }
    if (completed < writes && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& BatchOfRails() {
  static const Exhibit exhibit = {
      .name = "batch-of-rails",
      .project = "ai-dynamo/nixl",
      .origin = "pull request 1966",
      .kind = "several rails",
      .cause = "a batch is ended once for a group of rails, and the other rails are never rung",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
