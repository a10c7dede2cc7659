// A reader of several blocks of one remote buffer.

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
    Parameter{"blocks", 4, 1, 32, "that are read"},
    Parameter{"block_bytes", 512, 8, 1024, "bytes of a block"},
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& reader = pair->a->rail();
  const std::uint64_t blocks = trial.parameter("blocks");
  const std::size_t bytes = trial.parameter("block_bytes");
  for (std::uint64_t i = 0; i < blocks; ++i) {
    FillKeyed(pair->b->Bytes(i * bytes, bytes), i);
    // WRONG: the descriptor's address is the buffer's; its offset is forgotten on this way.
    fabric::RemoteBuffer source = pair->b->rail().Remote(0);
    if (twin == Twin::kRepaired) source.address += i * bytes;  // REPAIRED
    const auto error =
        reader.endpoint->Read(fabric::ReadRequest{.target = reader.Local(i * bytes, bytes),
                                                  .source = source,
                                                  .peer = pair->to_b,
                                                  .context = fabric::Context{i}});
    if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
  }
  std::uint64_t completed = 0;
  while (completed < blocks) {
    while (reader.Read().has_value()) ++completed;
    if (completed < blocks && !LetTimePass(trial)) return Outcome::Of(absl::OkStatus());
  }
  for (std::uint64_t i = 0; i < blocks; ++i) {
    if (!HoldsKeyed(pair->a->Bytes(i * bytes, bytes), i)) {
      return Outcome::WrongData(absl::StrCat("block ", i, " holds another block's bytes"));
    }
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& OffsetZero() {
  static const Exhibit exhibit = {
      .name = "offset-zero",
      .project = "ai-dynamo/nixl",
      .origin = "pull request 883",
      .kind = "addressing",
      .cause = "reads leave the offset out, and always fetch the beginning of the remote buffer",
      .verdict = sim::explore::Verdict::kWrongData,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
