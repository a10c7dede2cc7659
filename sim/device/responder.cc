#include "drydock/sim/device/responder.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/ending.h"
#include "drydock/sim/device/flight.h"
#include "drydock/sim/device/rights.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

using fabric::OperationKind;

// ---- Packets ----

void Responder::OnPacket(Operation& operation, std::uint32_t flags) {
  if (flags == 0) nic_.heard_from.Insert(operation.initiator->index());  // its first packet
  QueuePair* target =
      nic_.queue_pairs.Find(operation.destination_queue_pair, operation.destination_qkey);
  if (operation.datagram) return AcceptDatagram(operation, target);
  const EfaStatus status = CheckTarget(operation, target);
  if (status != EfaStatus::kOk) [[unlikely]] {
    return Answer(around_, nic_, operation, status);
  }
  operation.target_serial = target->serial;
  if (operation.faulted && Refuses(*target, operation)) return;
  switch (operation.kind) {
    case OperationKind::kWrite:
      return placement_.Place(operation, flags);
    case OperationKind::kRead:
      return AcceptRead(operation, *target);
    default:
      return AcceptMessage(operation, *target);
  }
}

EfaStatus Responder::CheckTarget(const Operation& operation, const QueuePair* target) {
  if (target == nullptr || target->type != QueuePairType::kSrd) {
    CountWrongKey(operation, target);
    return EfaStatus::kRemoteBadQueuePair;
  }
  if (target->state != QueuePairState::kReadyToSend) return EfaStatus::kRemoteBadQueuePair;
  if (operation.kind == OperationKind::kSend) return EfaStatus::kOk;
  // It was reset between two packets, and knows nothing of the first.
  const bool began = operation.target_serial != 0;
  if (began && operation.target_serial != target->serial) return EfaStatus::kRemoteBadQueuePair;
  const DeviceAttributes& device = nic_.profile.device;
  if (!(operation.kind == OperationKind::kWrite ? device.rdma_write : device.rdma_read)) {
    return EfaStatus::kRemoteFeatureMismatch;
  }
  // Both have unsolicited immediates, or neither (libfabric prov/efa/src/rdm/efa_rdm_rma.h).
  if (operation.has_immediate && nic_.profile.refuses_mixed_immediates != 0 &&
      operation.unsolicited_immediates != target->unsolicited_immediates) {
    return EfaStatus::kRemoteFeatureMismatch;
  }
  const auto knows = [&](coro::Time now) {
    return nic_.handles.Knows(target->domain, operation.initiator->index(), now);
  };
  // Only a handle that came late is worth a look at the clock.
  const bool known = knows(around_.timeline.now()) || knows(around_.timeline.TimeNow());
  return known ? EfaStatus::kOk : EfaStatus::kRemoteUnknownPeer;
}

void Responder::CountWrongKey(const Operation& operation, const QueuePair* target) {
  const bool is_there = nic_.queue_pairs.Find(operation.destination_queue_pair) != nullptr;
  if (target == nullptr && is_there) ++nic_.counters.qkey_viol;
}

bool Responder::Refuses(const QueuePair& target, Operation& operation) {
  const FaultPoints::ArrivalVerdict verdict = around_.faults->OnArrival(nic_, operation);
  if (!verdict.failure.has_value()) return false;
  // A message that fails takes no receive: the next one overwrites its bytes in memory.
  ReceiveWork receive;
  const std::uint64_t placed = verdict.placed_bytes;
  const bool lands = placed > 0 && target.receive.Peek(receive) &&
                     operation.length <= receive.length &&
                     ReceiveIsValid(around_, nic_, target, receive) &&
                     LocalIsStillValid(around_, operation, {0, placed});
  if (lands) placement_.PlaceBeginning(operation, target, receive, 0, placed);
  FailLater(around_, operation, *verdict.failure);
  return true;
}

// ---- Messages ----

void Responder::AcceptDatagram(Operation& operation, QueuePair* target) {
  ReceiveWork receive;
  const bool fits =
      target != nullptr && target->type == QueuePairType::kUd &&
      target->state == QueuePairState::kReadyToSend && target->receive.Peek(receive) &&
      (receive.malformed || operation.length + kDatagramPrefixBytes <= receive.length);
  if (!fits) {
    ++nic_.counters.rx_drops;
    CountWrongKey(operation, target);
    return EndUnanswered(around_, operation, EfaStatus::kOk);
  }
  if (!LocalIsStillValid(around_, operation, {0, operation.length})) {
    return EndUnanswered(around_, operation, EfaStatus::kLocalInvalidLkey);
  }
  Deliver(operation, *target, receive, kDatagramPrefixBytes);
}

void Responder::AcceptMessage(Operation& operation, QueuePair& target) {
  ReceiveWork receive;
  if (!target.receive.Peek(receive)) return NoReceive(operation, target);
  if (!receive.malformed && operation.length > receive.length) {
    return Answer(around_, nic_, operation, EfaStatus::kRemoteBadLength);
  }
  if (!LocalIsStillValid(around_, operation, {0, operation.length})) {
    return Answer(around_, nic_, operation, EfaStatus::kLocalInvalidLkey);
  }
  Deliver(operation, target, receive, 0);
}

// A message takes a receive, `prefix` bytes from its beginning.
void Responder::Deliver(Operation& operation, QueuePair& target, const ReceiveWork& receive,
                        std::uint64_t prefix) {
  Consume(target, receive);
  if (!ReceiveIsValid(around_, nic_, target, receive)) {
    RefuseReceive(target, receive, EfaStatus::kLocalInvalidLkey);
    return operation.datagram ? EndUnanswered(around_, operation, EfaStatus::kOk)
                              : Answer(around_, nic_, operation, EfaStatus::kRemoteBadAddress);
  }
  Landing landing;
  landing.queue_pair = target.number;
  landing.serial = target.serial;
  landing.receive = receive;
  landing.prefix = prefix;
  landing.operation = operation.id;
  landing.completion = FromPeer(operation, target);
  landing.completion.request_id = receive.request_id;
  landing.completion.kind = OperationKind::kReceive;
  landing.completion.length_bytes = static_cast<std::uint32_t>(operation.length + prefix);
  if (around_.faults != nullptr && RefusesReceive(target, operation, landing)) return;
  placement_.PlaceMessage(operation, target, std::move(landing));
}

bool Responder::RefusesReceive(QueuePair& target, Operation& operation, Landing& landing) {
  const ReceiveVerdict verdict = around_.faults->OnReceive(nic_, operation);
  landing.verdict = verdict.completion;
  if (!verdict.failure.has_value()) return false;
  if (verdict.placed_bytes > 0) {
    placement_.PlaceBeginning(operation, target, landing.receive, landing.prefix,
                              verdict.placed_bytes);
  }
  const EfaStatus status = verdict.failure->status;
  around_.deferred.After(
      verdict.failure->delay,
      [this, number = target.number, serial = target.serial, receive = landing.receive, status] {
        QueuePair* found = nic_.queue_pairs.FindSame(number, serial);
        if (found != nullptr && nic_.alive()) RefuseReceive(*found, receive, status);
      });
  if (status == EfaStatus::kFlushed) {  // the message looks for the next one
    around_.timeline.After({}, nic_.actor, EventKind::kRnrRetry, 0, operation.id.Pack());
  } else if (operation.datagram) {
    EndUnanswered(around_, operation, EfaStatus::kOk);
  } else {
    Answer(around_, nic_, operation, EfaStatus::kRemoteBadAddress);
  }
  return true;
}

void Responder::OnLanded(QueuePair& target, const Landing& landing, Operation* operation) {
  const bool failed = landing.completion.status != 0;
  ++nic_.counters.recv_wrs;
  if (!failed) nic_.counters.recv_bytes += landing.completion.length_bytes - landing.prefix;
  target.counters.Count(CounterKind::kReceives, failed);
  completions_.Write(target, CompletionWriter::Queue::kReceive, landing.completion,
                     landing.verdict);
  if (operation == nullptr) return;
  if (operation->datagram) return EndUnanswered(around_, *operation, EfaStatus::kOk);
  const auto status = static_cast<EfaStatus>(landing.completion.status);
  // A receive that was flushed: the queue pair is in error.
  const EfaStatus refusal =
      status == EfaStatus::kFlushed ? EfaStatus::kRemoteBadQueuePair : EfaStatus::kRemoteBadAddress;
  Answer(around_, nic_, *operation, failed ? refusal : EfaStatus::kOk);
}

DeviceCompletion Responder::FromPeer(const Operation& operation, const QueuePair& target) const {
  return {.queue_pair = target.number,
          .source_queue_pair = operation.queue_pair,
          .has_immediate = operation.has_immediate,
          .immediate = operation.immediate,
          .address_handle = nic_.handles.NumberOf(target.domain, operation.initiator->index()),
          .length_bytes = static_cast<std::uint32_t>(operation.length),
          .source_gid = operation.initiator->gid};
}

// ---- Reads and writes ----

void Responder::AcceptRead(Operation& operation, QueuePair& target) {
  if (!RemoteIsValid(around_, nic_, target, operation, {0, operation.length})) {
    return Answer(around_, nic_, operation, EfaStatus::kRemoteBadAddress);
  }
  if (nic_.answers_nonsense) return Answer(around_, nic_, operation, EfaStatus::kOk);
  nic_.counters.rdma_read_resp_bytes += operation.length;
  if (transmitter_.LeavesAtOnce(operation)) return transmitter_.SendAtOnce(operation, true);
  transmitter_.EnqueueResponse(operation.id);
}

void Responder::OnWritten(Operation& operation) {
  if (operation.faulted && !around_.faults->OnWritten(operation)) {
    return Answer(around_, nic_, operation, EfaStatus::kOk);  // the plan makes it a failure
  }
  QueuePair* target =
      nic_.queue_pairs.FindSame(operation.destination_queue_pair, operation.target_serial);
  if (target == nullptr || target->state == QueuePairState::kError) {
    return Answer(around_, nic_, operation, EfaStatus::kRemoteBadQueuePair);
  }
  nic_.counters.rdma_write_recv_bytes += operation.length;
  Announce(operation, *target);
}

// Every byte is where it belongs: only now may the immediate be seen.
void Responder::Announce(Operation& operation, QueuePair& target) {
  bool failed = false;
  if (operation.has_immediate) {
    DeviceCompletion completion = FromPeer(operation, target);
    completion.kind = OperationKind::kRemoteWrite;
    completion.unsolicited = target.unsolicited_immediates || operation.unsolicited_immediates;
    if (!completion.unsolicited) {
      ReceiveWork receive;
      if (!TakeReceive(target, receive)) return NoReceive(operation, target);
      completion.request_id = receive.request_id;
    }
    around_.observers.Tell<&Observer::OnImmediateDelivered>(nic_, target, operation);
    if (around_.faults == nullptr) [[likely]] {
      completions_.Write(target, CompletionWriter::Queue::kReceive, completion);
    } else {
      const CompletionVerdict verdict = around_.faults->OnImmediate(nic_, operation, completion);
      failed = completion.status != 0;
      completions_.Write(target, CompletionWriter::Queue::kReceive, completion, verdict);
    }
  }
  target.counters.Count(CounterKind::kRemoteWrites, failed);
  Answer(around_, nic_, operation, EfaStatus::kOk);
}

// ---- Receives ----

void Responder::Ring(QueuePair& queue_pair, std::uint32_t counter) {
  const fabric::efa_queue::DoorbellFault fault = queue_pair.receive.Ring(counter);
  if (fault != fabric::efa_queue::DoorbellFault::kNone) {
    ++nic_.counters.doorbell_faults;
    queue_pair.last_doorbell_fault = fault;
    return;
  }
  if (queue_pair.state == QueuePairState::kError) FlushReceives(queue_pair);
  // All that wait try again, each by itself; a message that finds no receive left waits again.
  for (const OperationId id : std::exchange(queue_pair.waiting, {})) RetryLater(id);
}

void Responder::RetryLater(OperationId operation, coro::Duration more) {
  around_.timeline.After(nic_.profile.rnr_delay + more, nic_.actor, EventKind::kRnrRetry, 0,
                         operation.Pack());
}

// Operations that wait may have ended meanwhile: those go each time the list has doubled, so that
// it stays bounded.
void Responder::AwaitReceive(const Operation& operation, QueuePair& target) {
  constexpr std::size_t kFew = 64;
  std::vector<OperationId>& waiting = target.waiting;
  if (waiting.size() >= kFew && std::has_single_bit(waiting.size())) {
    std::erase_if(waiting, [&](OperationId id) { return around_.operations.Find(id) == nullptr; });
  }
  waiting.push_back(operation.id);
}

void Responder::NoReceive(Operation& operation, QueuePair& target) {
  ++nic_.counters.rx_drops;
  const bool for_ever = operation.rnr_retries == kRetryForEver;
  const bool again = for_ever || operation.rnr_attempts++ < operation.rnr_retries;
  if (!again) return Answer(around_, nic_, operation, EfaStatus::kRemoteNotReady);
  if (for_ever) AwaitReceive(operation, target);  // and an idle world stays idle
  const DepartureVerdict answer =
      NoticeLeaves(around_, nic_, *operation.initiator, operation, DrawPurpose::kAnswer);
  if (!answer.leaves) {
    return FallSilent(around_, operation);  // the initiator does not hear that we are not ready
  }
  operation.asked_again = false;
  // Otherwise the next receive wakes it: it needs no timer.
  if (!for_ever) RetryLater(operation.id, answer.delay);
}

// A retry sends the operation's last packet again: the way from the initiator has to be open.
void Responder::OnRetry(Operation& operation) {
  NicState& initiator = *operation.initiator;
  if (!initiator.alive()) return;
  const DepartureVerdict packet =
      NoticeLeaves(around_, initiator, nic_, operation, DrawPurpose::kRequest);
  const std::uint64_t piece = operation.PacketRange(operation.packets - 1).length;
  const std::uint64_t before = PacketsInPiece(nic_.profile, piece) - 1;
  const std::uint64_t bytes = piece - before * nic_.profile.device.mtu;
  initiator.counters.Sent(1, bytes, nic_.profile.header_bytes);
  if (!packet.leaves) {
    QueuePair* target =
        nic_.queue_pairs.Find(operation.destination_queue_pair, operation.destination_qkey);
    const bool for_ever = operation.rnr_retries == kRetryForEver;
    if (for_ever && target != nullptr) AwaitReceive(operation, *target);
    return FallSilent(around_, operation);
  }
  initiator.counters.Retransmitted(packet.retransmissions, bytes, nic_.profile.header_bytes);
  if (packet.delay == coro::Duration::zero()) return OnRetried(operation, bytes);
  around_.deferred.After(packet.delay, [this, id = operation.id, bytes] {
    Operation* found = around_.operations.Find(id);
    if (found == nullptr || found->ended) return;
    nic_.alive() ? OnRetried(*found, bytes) : FallSilent(around_, *found);
  });
}

void Responder::OnRetried(Operation& operation, std::uint64_t bytes) {
  nic_.counters.Received(1, bytes, nic_.profile.header_bytes);
  if (operation.kind != OperationKind::kWrite) return OnPacket(operation, 0);
  QueuePair* target =
      nic_.queue_pairs.FindSame(operation.destination_queue_pair, operation.target_serial);
  if (target == nullptr || target->state != QueuePairState::kReadyToSend) {
    return Answer(around_, nic_, operation, EfaStatus::kRemoteBadQueuePair);
  }
  Announce(operation, *target);
}

// Takes the oldest receive that is one; those that are malformed fail, each with a completion of
// its own.
bool Responder::TakeReceive(QueuePair& target, ReceiveWork& receive) {
  while (target.receive.Peek(receive)) {
    Consume(target, receive);
    if (!receive.malformed) return true;
    RefuseReceive(target, receive, EfaStatus::kLocalInvalidLkey);
  }
  return false;
}

void Responder::Consume(QueuePair& target, const ReceiveWork& receive) {
  target.receive.Consume(receive);
  around_.observers.Tell<&Observer::OnReceiveTaken>(nic_, target, receive);
}

void Responder::RefuseReceive(QueuePair& target, const ReceiveWork& receive, EfaStatus status) {
  target.counters.Count(CounterKind::kReceives, true);
  completions_.Write(target, CompletionWriter::Queue::kReceive,
                     {.request_id = receive.request_id,
                      .queue_pair = target.number,
                      .status = static_cast<std::uint8_t>(status),
                      .kind = OperationKind::kReceive});
}

// ---- Ends from outside ----

void Responder::FlushReceives(QueuePair& queue_pair) {
  ReceiveWork receive;
  while (queue_pair.receive.Peek(receive)) {
    Consume(queue_pair, receive);
    RefuseReceive(queue_pair, receive, EfaStatus::kFlushed);
  }
}

void Responder::Abandon(QueuePair& queue_pair) {
  for (const OperationId id : std::exchange(queue_pair.waiting, {})) RetryLater(id);
}

void Responder::AbortAll() {
  around_.operations.ForEach([&](Operation& operation) {
    const bool of_a_peer = operation.peer == &nic_ && !operation.ended;
    if (of_a_peer && !operation.datagram) {  // which is dropped when it arrives
      Answer(around_, nic_, operation, EfaStatus::kRemoteAbort);
    }
  });
}

void Responder::Silence(const NicState& peer) {
  SilenceWaiting([&](const Operation& operation) { return operation.initiator == &peer; });
}

void Responder::Die() {
  SilenceWaiting([](const Operation&) { return true; });
}

template <typename Concerned>
void Responder::SilenceWaiting(const Concerned& concerned) {
  nic_.queue_pairs.ForEach([&](QueuePair& queue_pair) {
    for (const OperationId id : queue_pair.waiting) {
      Operation* operation = around_.operations.Find(id);
      if (operation != nullptr && !operation->ended && concerned(*operation)) {
        FallSilent(around_, *operation);
      }
    }
  });
}

}  // namespace drydock::sim
