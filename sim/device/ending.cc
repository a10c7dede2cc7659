#include "drydock/sim/device/ending.h"

#include <chrono>
#include <optional>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/completion_counters.h"
#include "drydock/sim/device/flight.h"
#include "drydock/sim/device/queue_pair.h"

namespace drydock::sim {
namespace {

// A number that no device sends as its answer.
constexpr std::uint8_t kNonsense = 0xee;

// From the fetch to a completion that the peer had no part in.
constexpr coro::Duration kUnansweredDelay{500};

// Whether a fault plan turns this end into a failure, which comes later.
bool FailsInstead(Surroundings& around, Operation& operation, EfaStatus status) {
  if (status != EfaStatus::kOk || !operation.faulted) return false;
  const std::optional<Failure> failure = around.faults->OnEnd(operation);
  if (failure.has_value()) FailLater(around, operation, *failure);
  return failure.has_value();
}

// Nothing more of it is placed.
void Close(const Surroundings& around, Operation& operation, std::uint8_t status) {
  operation.ended = true;
  operation.status = status;
  around.observers.Tell<&Observer::OnEnded>(operation);
}

// Nothing more of it is placed, and its initiator has not heard yet.
void TellSilent(const Surroundings& around, const Operation& operation) {
  around.observers.Tell<&Observer::OnSilent>(operation);
}

// Its initiator hears of the end after a delay.
void End(Surroundings& around, Operation& operation, std::uint8_t status, coro::Duration delay) {
  Close(around, operation, status);
  operation.answered = true;
  around.timeline.Deliver(delay, operation.initiator->actor, EventKind::kAnswer, 0,
                          operation.id.Pack());
}

}  // namespace

void Answer(Surroundings& around, NicState& target, Operation& operation, EfaStatus status) {
  if (operation.answered || FailsInstead(around, operation, status)) return;
  Close(around, operation, target.answers_nonsense ? kNonsense : static_cast<std::uint8_t>(status));
  NicState& initiator = *operation.initiator;
  const Flight flight = Fly(around, target, initiator, operation, DrawPurpose::kAnswer, 0);
  if (!flight.arrives) return FallSilent(around, operation);
  operation.answered = true;
  around.timeline.Deliver(target.profile.ack_delay + flight.delay, initiator.actor,
                          EventKind::kAnswer, 0, operation.id.Pack());
}

void TakeAnswer(Surroundings& around, Operation& operation, std::uint8_t status) {
  const auto known = static_cast<EfaStatus>(status);
  if (operation.answered || FailsInstead(around, operation, known)) return;
  End(around, operation, status, {});
}

void EndUnanswered(Surroundings& around, Operation& operation, EfaStatus status) {
  if (operation.answered || FailsInstead(around, operation, status)) return;
  const bool instant = operation.initiator->profile.instant;
  End(around, operation, static_cast<std::uint8_t>(status),
      instant ? coro::Duration{} : kUnansweredDelay);
}

void EndWherePlaced(Surroundings& around, NicState& nic, Operation& operation, EfaStatus status) {
  if (operation.kind == fabric::OperationKind::kRead) {
    return EndUnanswered(around, operation, status);
  }
  Answer(around, nic, operation, status);
}

void CountAtTarget(const Operation& read) {
  const QueuePair* target =
      read.peer->queue_pairs.FindSame(read.destination_queue_pair, read.target_serial);
  if (target != nullptr) target->counters.Count(CounterKind::kRemoteReads, false);
}

void FallSilent(Surroundings& around, Operation& operation) {
  if (operation.datagram) return EndUnanswered(around, operation, EfaStatus::kOk);
  if (operation.silent) return;
  operation.silent = true;
  TellSilent(around, operation);
  around.timeline.Deliver({}, operation.initiator->actor, EventKind::kSilence, 0,
                          operation.id.Pack());
}

void FailLater(Surroundings& around, Operation& operation, const Failure& failure) {
  operation.ended = true;
  TellSilent(around, operation);
  around.deferred.After(failure.delay, [&around, id = operation.id, status = failure.status] {
    Operation* found = around.operations.Find(id);
    if (found == nullptr) return;
    if (!IsAnswer(status)) return EndUnanswered(around, *found, status);
    if (!found->peer->alive()) return FallSilent(around, *found);
    Answer(around, *found->peer, *found, status);
  });
}

}  // namespace drydock::sim
