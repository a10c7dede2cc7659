// Completions that come late, after others, or never; immediates that are wrong or too many.

#include <algorithm>
#include <utility>

#include "sim/faults/fault_model.h"
#include "sim/world.h"

namespace sim {

using fabric::OperationKind;
using fabric::faults::Fault;

bool FaultModel::Delays(Nic& nic, const QueuePair& queue_pair, const CompletionRing& ring,
                        const Fate& fate, const DeviceCompletion& completion) {
  if (fate.outcome && fate.outcome.fault() == Fault::kLostCompletion) return true;
  if (!fate.timing) return false;
  if (fate.timing.fault() == Fault::kQueueOverrun) {
    // No check complains: it is not the program that let the queue run over.
    ++nic.counters_.completions_lost;
    return true;
  }
  const bool received =
      &ring == queue_pair.receive_ring.get() && (completion.kind == OperationKind::kReceive ||
                                                 completion.kind == OperationKind::kRemoteWrite);
  std::function<void()> release = [&nic, number = queue_pair.number, qkey = queue_pair.qkey,
                                   received, completion] {
    const QueuePair* found = nic.FindQueuePair(number, qkey);
    if (found == nullptr || !nic.alive()) return;
    nic.Report(received ? *found->receive_ring : *found->send_ring, completion);
  };
  if (fate.timing.fault() == Fault::kHeldCompletion) {
    Hold(nic, ring, fate.timing, std::move(release));
  } else {  // delayed_completion, slow_peer
    After(fate.timing.Delay(), std::move(release));
  }
  return true;
}

// ---- Completions that let others go first ----

void FaultModel::Hold(Nic& nic, const CompletionRing& ring, const Firing& timing,
                      std::function<void()> release) {
  const std::uint64_t number = next_held_++;
  held_.push_back({.number = number,
                   .nic = &nic,
                   .ring = &ring,
                   .left = timing.parameters().behind,
                   .release = std::move(release)});
  After(timing.Delay(), [this, number] { ReleaseHeld(number); });
}

void FaultModel::ReleaseHeld(std::uint64_t number) {
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [&](const Held& held) { return held.number == number; });
  if (found == held_.end()) return;
  const std::function<void()> release = std::move(found->release);
  held_.erase(found);
  release();
}

void FaultModel::Reported(const Nic& nic, const CompletionRing& ring) {
  for (Held& held : held_) {
    if (held.nic == &nic && held.ring == &ring) --held.left;
  }
  // A release reports, and may release others.
  while (true) {
    const auto ready =
        std::find_if(held_.begin(), held_.end(), [](const Held& held) { return held.left <= 0; });
    if (ready == held_.end()) return;
    ReleaseHeld(ready->number);
  }
}

// ---- Each kind of completion ----

bool FaultModel::Withholds(Nic& nic, const QueuePair& queue_pair, const Operation& operation,
                           const DeviceCompletion& completion) {
  const Fate* fate = Find(operation);
  return fate != nullptr && Delays(nic, queue_pair, *queue_pair.send_ring, *fate, completion);
}

bool FaultModel::WithholdsReceive(Nic& nic, const QueuePair& target, const Fate& fate,
                                  const DeviceCompletion& completion) {
  return Delays(nic, target, *target.receive_ring, fate, completion);
}

bool FaultModel::WithholdsImmediate(Nic& nic, const QueuePair& target, const Operation& operation,
                                    DeviceCompletion& completion) {
  const OperationKind kind = OperationKind::kRemoteWrite;
  if (!Concerns(Point::kOutcome, kind) && !Concerns(Point::kTiming, kind)) return false;
  EventView view = TargetViewOf(nic, operation);
  view.operation = kind;
  view.immediate = operation.immediate;
  Fate fate;
  fate.outcome = Decide(Point::kOutcome, view);
  fate.timing = Decide(Point::kTiming, view);
  if (fate.outcome && fate.outcome.fault() == Fault::kRemoteWriteError) {
    completion.status = static_cast<std::uint8_t>(fate.Status());
    completion.immediate = 0;  // the flag stays: without it the entry is none
    completion.length_bytes = 0;
  }
  return Delays(nic, target, *target.receive_ring, fate, completion);
}

std::uint32_t FaultModel::FloodsOf(const Operation& operation) const {
  const Fate* fate = Find(operation);
  return fate == nullptr ? 0 : fate->floods;
}

}  // namespace sim
