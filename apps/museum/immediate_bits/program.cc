// Tokens of many ranks: the immediate says whose token arrived.

#include <algorithm>
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

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"ranks", 40, 1, 64, "that send a token each; the field holds 32"},
};
constexpr std::size_t kTokenBytes = 256;

// The rank's field: above it is the number of tokens.
std::uint32_t Pack(std::uint32_t rank, std::uint32_t tokens, Twin twin) {
  // WRONG: five bits, which were enough once.
  std::uint32_t bits = 5;
  if (twin == Twin::kRepaired) bits = 16;  // REPAIRED
  return tokens << bits | (rank & ((1u << bits) - 1));
}
std::uint32_t RankOf(std::uint32_t immediate, Twin twin) {
  return immediate & ((1u << (twin == Twin::kWrong ? 5 : 16)) - 1);
}

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  Rail& receiver = pair->b->rail();
  const auto ranks = static_cast<std::uint32_t>(trial.parameter("ranks"));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    FillKeyed(pair->a->Bytes(rank * kTokenBytes, kTokenBytes), rank);
    const auto error = sender.endpoint->Write(
        fabric::WriteRequest{.source = sender.Local(rank * kTokenBytes, kTokenBytes),
                             .target = receiver.Remote(rank * kTokenBytes),
                             .peer = pair->to_b,
                             .immediate = Pack(rank, 1, twin),
                             .context = fabric::Context{rank}});
    if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
  }
  std::vector<bool> arrived(ranks);
  while (!std::all_of(arrived.begin(), arrived.end(), [](bool here) { return here; })) {
    while (sender.Read().has_value()) continue;
    bool heard = false;
    while (const auto completion = receiver.Read()) {
      arrived[RankOf(completion->immediate.value_or(0), twin)] = heard = true;
    }
    if (!heard && !LetTimePass(trial)) return Outcome::Of(absl::OkStatus());
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (!HoldsKeyed(pair->b->Bytes(rank * kTokenBytes, kTokenBytes), rank)) {
      return Outcome::WrongData(absl::StrCat("the token of rank ", rank, " is not here"));
    }
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& ImmediateBits() {
  static const Exhibit exhibit = {
      .name = "immediate-bits",
      .project = "uccl-project/uccl",
      .origin = "pull requests 766 and 1021",
      .kind = "immediates and counters",
      .cause = "a bit field of the immediate overflows at 32 ranks: tokens are credited to others",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
