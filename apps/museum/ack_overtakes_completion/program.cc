// A sender whose transfers have slots; a transfer is over when the peer has acknowledged it.

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
    Parameter{"transfers", 16, 2, 64, "one after the other in each slot"},
    Parameter{"slots", 2, 1, 8, "transfers under way at once"},
};
constexpr std::size_t kBytes = 512;
constexpr std::size_t kReceives = 16;
constexpr std::size_t kRoom = 32 << 10;  // where receives begin

struct Slot {
  bool busy = false;
  bool completed = false;     // its completion was read
  bool acknowledged = false;  // the peer has its bytes
};

absl::Status PostReceive(Rail& rail, std::uint64_t number) {
  const auto error = rail.endpoint->Recv(fabric::RecvRequest{
      .buffer = rail.Local(kRoom + 64 * number, 64), .context = fabric::Context{number}});
  return error == fabric::ErrorCode::kOk ? absl::OkStatus() : absl::InternalError("not posted");
}

class Program {
 public:
  Program(Pair& pair, Trial& trial, Twin twin)
      : a_(pair.a->rail()),
        b_(pair.b->rail()),
        pair_(pair),
        twin_(twin),
        left_(trial.parameter("transfers")),
        unacknowledged_(left_),
        slots_(trial.parameter("slots")) {}

  bool done() const { return left_ == 0 && unacknowledged_ == 0; }

  absl::Status Open() {
    for (std::uint64_t i = 0; i < kReceives; ++i) {
      if (const absl::Status status = PostReceive(a_, i); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Start() {
    for (std::uint32_t i = 0; i < slots_.size() && left_ > 0; ++i) {
      if (slots_[i].busy) continue;
      const auto error =
          a_.endpoint->Write(fabric::WriteRequest{.source = a_.Local(left_ % 64 * kBytes, kBytes),
                                                  .target = b_.Remote(left_ % 64 * kBytes),
                                                  .peer = pair_.to_b,
                                                  .immediate = i,
                                                  .context = fabric::Context{i}});
      if (error != fabric::ErrorCode::kOk) return absl::InternalError("not posted");
      slots_[i] = Slot{.busy = true};
      --left_;
    }
    return absl::OkStatus();
  }

  // The sender's and the receiver's turn. False: nothing was there.
  absl::StatusOr<bool> Progress() {
    bool heard = false;
    while (const auto completion = a_.Read()) {
      heard = true;
      const auto number =
          static_cast<std::uint64_t>(completion->context.value_or(fabric::Context{}));
      if (completion->kind == fabric::OperationKind::kWrite) {
        slots_[number].completed = true;
        Release(number);
      } else if (completion->kind == fabric::OperationKind::kReceive) {
        const std::uint32_t slot = completion->immediate.value_or(0);
        --unacknowledged_;
        slots_[slot].acknowledged = true;
        Release(slot);
        if (const absl::Status status = PostReceive(a_, number); !status.ok()) return status;
      }
    }
    while (const auto completion = b_.Read()) {
      heard = true;
      if (completion->kind != fabric::OperationKind::kRemoteWrite) continue;
      const auto error =
          b_.endpoint->Send(fabric::SendRequest{.buffer = b_.Local(kRoom, 8),
                                                .peer = pair_.to_a,
                                                .immediate = completion->immediate,
                                                .context = fabric::Context{next_++}});
      if (error != fabric::ErrorCode::kOk) return absl::InternalError("not posted");
    }
    return heard;
  }

 private:
  void Release(std::uint64_t number) {
    Slot& slot = slots_[number];
    // WRONG: the peer has the bytes, so the transfer is over; its completion may still come, and
    // will be taken for that of the next transfer in this slot.
    bool over = slot.acknowledged;
    if (twin_ == Twin::kRepaired) over = slot.acknowledged && slot.completed;  // REPAIRED
    if (over) slot.busy = false;
  }

  Rail& a_;
  Rail& b_;
  Pair& pair_;
  const Twin twin_;
  std::uint64_t left_;
  std::uint64_t unacknowledged_;
  std::uint64_t next_ = 0;
  std::vector<Slot> slots_;
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Program program(*pair, trial, twin);
  absl::Status status = program.Open();
  while (status.ok() && !program.done()) {
    status = program.Start();
    if (!status.ok()) break;
    const auto heard = program.Progress();
    if (!heard.ok()) return Outcome::Of(heard.status());
    if (!*heard && !LetTimePass(trial)) break;
  }
  return Outcome::Of(status);
}

}  // namespace

const Exhibit& AckOvertakesCompletion() {
  static const Exhibit exhibit = {
      .name = "ack-overtakes-completion",
      .project = "ofiwg/libfabric",
      .origin = "pull request 11894",
      .kind = "lifetime",
      .cause = "a transfer is freed at its acknowledgement, which overtakes its own completion",
      .verdict = sim::explore::Verdict::kFinding,
      .check = "context-ownership",
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
