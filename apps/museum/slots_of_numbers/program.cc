// A receiver that tells its sender, by writes into the sender's mailbox, where messages may go.

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
    Parameter{"slots", 8, 1, 128, "of the mailbox; 128 in the plugin"},
    Parameter{"messages", 12, 1, 128, "that are announced, with numbers from 0 on"},
};
constexpr std::size_t kSlotBytes = 64;

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& receiver = pair->b->rail();
  Rail& sender = pair->a->rail();
  const std::uint64_t slots = trial.parameter("slots");
  const std::span<std::byte> behind = pair->a->Bytes(slots * kSlotBytes, 4096);
  FillKeyed(behind, 99);  // what the sender keeps behind its mailbox
  for (std::uint64_t number = 0; number < trial.parameter("messages"); ++number) {
    FillKeyed(pair->b->Bytes(0, kSlotBytes), number);
    // WRONG: a message's number is taken for its slot, and there are more numbers than slots.
    std::uint64_t slot = number;
    if (twin == Twin::kRepaired) slot = number % slots;  // REPAIRED
    const auto error = receiver.endpoint->Write(
        fabric::WriteRequest{.source = receiver.Local(0, kSlotBytes),
                             .target = sender.Remote(slot * kSlotBytes),
                             .peer = pair->to_a,
                             .immediate = static_cast<std::uint32_t>(number),
                             .context = fabric::Context{number}});
    if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
    bool announced = false;
    bool completed = false;
    while (!announced || !completed) {  // one at a time: the mailbox is never too full
      while (receiver.Read().has_value()) completed = true;
      while (sender.Read().has_value()) announced = true;
      if ((!announced || !completed) && !LetTimePass(trial)) return Outcome::Of(absl::OkStatus());
    }
    if (!HoldsKeyed(behind, 99)) {
      return Outcome::WrongData(
          absl::StrCat("message ", number, " was announced over what lies behind the mailbox"));
    }
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& SlotsOfNumbers() {
  static const Exhibit exhibit = {
      .name = "slots-of-numbers",
      .project = "aws/aws-ofi-nccl",
      .origin = "commit 6e504db3",
      .kind = "addressing",
      .cause = "128 slots are indexed by numbers of 2,048 messages, and memory behind them changes",
      .verdict = sim::explore::Verdict::kWrongData,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
