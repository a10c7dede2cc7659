// The NIC as target: what the packets of its peers do.

#include <algorithm>
#include <cstring>

#include "sim/faults/fault_model.h"
#include "sim/nic.h"
#include "sim/world.h"

namespace sim {
namespace {

using fabric::Access;
using fabric::OperationKind;

// A number that no device sends as its answer.
constexpr std::uint8_t kNonsense = 0xee;

}  // namespace

void Nic::Arrive(Operation& operation, std::uint32_t packet, bool second_copy) {
  if (packet == 0 && !second_copy) {
    HearFrom(*operation.initiator);
  }
  QueuePair* target = FindQueuePair(operation.destination_queue_pair, operation.destination_qkey);
  if (operation.datagram) {
    if (target != nullptr && target->type == QueuePairType::kUd)
      return ArriveDatagram(operation, *target);
    ++counters_.rx_drops;
    return FinishLocally(operation, EfaStatus::kOk);
  }
  const EfaStatus status = CheckTarget(operation, target);
  if (status != EfaStatus::kOk) return Finish(operation, status);
  if (operation.faulted && world_.faults()->Refuses(*this, *target, operation)) return;
  switch (operation.kind) {
    case OperationKind::kWrite:
      return ArriveWrite(operation, *target, packet, second_copy);
    case OperationKind::kRead:
      if (!RemoteIsValid(operation, *target, {0, operation.length})) {
        return Finish(operation, EfaStatus::kRemoteBadAddress);
      }
      if (answers_nonsense_) return Finish(operation, EfaStatus::kOk);
      counters_.rdma_read_resp_bytes += operation.length;
      Count(*target, CounterKind::kRemoteReads, false);
      return Enqueue({operation.id, true});
    default:
      return ArriveSend(operation, *target);
  }
}

EfaStatus Nic::CheckTarget(const Operation& operation, const QueuePair* target) {
  if (target == nullptr || target->type != QueuePairType::kSrd) {
    if (FindQueuePair(operation.destination_queue_pair) != nullptr) ++counters_.qkey_viol;
    return EfaStatus::kRemoteBadQueuePair;
  }
  if (target->state != QueuePairState::kReadyToSend) return EfaStatus::kRemoteBadQueuePair;
  if (operation.kind == OperationKind::kSend) return EfaStatus::kOk;
  const DeviceAttributes& device = profile_.device;
  if (!(operation.kind == OperationKind::kWrite ? device.rdma_write : device.rdma_read)) {
    return EfaStatus::kRemoteFeatureMismatch;
  }
  const Nic& initiator = *operation.initiator;
  const bool stranger =
      world_.faults() != nullptr && world_.faults()->IsStranger(*this, target->domain, initiator);
  const bool known = !stranger && address_handles_.NumberOf(target->domain, initiator.index()) !=
                                      AddressHandles::kUnknown;
  return known ? EfaStatus::kOk : EfaStatus::kRemoteUnknownPeer;
}

// ---- Messages ----

void Nic::ArriveSend(Operation& operation, QueuePair& target) {
  ReceiveWork receive;
  if (!target.receive.Peek(receive)) return NoReceive(operation, target);
  if (!receive.malformed && operation.length > receive.length) {
    return Finish(operation, EfaStatus::kRemoteBadLength);
  }
  if (!operation.initiator->LocalIsValid(operation, {0, operation.length})) {
    return Finish(operation, EfaStatus::kLocalInvalidLkey);
  }
  Consume(target, receive);
  Deliver(operation, target, receive, 0);
}

void Nic::ArriveDatagram(Operation& operation, QueuePair& target) {
  ReceiveWork receive;
  const std::uint64_t prefix = kDatagramPrefixBytes;
  const bool posted = target.receive.Peek(receive);
  if (!posted || (!receive.malformed && operation.length + prefix > receive.length)) {
    ++counters_.rx_drops;
    return FinishLocally(operation, EfaStatus::kOk);
  }
  if (!operation.initiator->LocalIsValid(operation, {0, operation.length})) {
    return FinishLocally(operation, EfaStatus::kLocalInvalidLkey);
  }
  Consume(target, receive);
  Deliver(operation, target, receive, prefix);
}

void Nic::NoReceive(Operation& arrived, QueuePair& target) {
  ++counters_.rx_drops;
  Operation& operation = Parked(arrived);
  if (!world_.wire().Passes(*this, *operation.initiator)) {
    return operation.initiator->StartTimeout(operation);  // nobody hears that we are not ready
  }
  if (operation.rnr_retries == kRetryForEver) {
    target.waiting.push_back(operation.id);  // as good as retrying, and an idle world stays idle
  } else if (operation.rnr_attempts++ < operation.rnr_retries) {
    world_.Schedule(world_.Now() + profile_.rnr_delay, this, EventKind::kRnrRetry, 0,
                    operation.id.Pack());
  } else {
    Finish(operation, EfaStatus::kRemoteNotReady);
  }
}

void Nic::RingReceive(QueuePair& queue_pair, std::uint32_t counter) {
  const fabric::efa_queue::DoorbellFault fault = queue_pair.receive.Ring(counter);
  if (fault != fabric::efa_queue::DoorbellFault::kNone) {
    ++counters_.doorbell_faults;
    queue_pair.last_doorbell_fault = fault;
    return;
  }
  // All that wait try again, each by itself; whoever finds no receive left waits again.
  for (const OperationId id : std::exchange(queue_pair.waiting, {})) {
    world_.Schedule(world_.Now() + profile_.rnr_delay, this, EventKind::kRnrRetry, 0, id.Pack());
  }
}

// A retry is a packet of the initiator's: it needs a way to here.
void Nic::RetryReceive(Operation& operation) {
  Nic& initiator = *operation.initiator;
  if (!initiator.alive()) return;
  const bool passes = world_.wire().Passes(initiator, *this) &&
                      (world_.faults() == nullptr || world_.faults()->LetsRetryPass(operation));
  const std::uint64_t bytes = RangeOf(operation, operation.packets - 1).length;
  initiator.counters_.Sent(1, bytes, profile_.header_bytes);
  if (!passes) return initiator.StartTimeout(operation);
  counters_.Received(1, bytes, profile_.header_bytes);
  if (operation.kind != OperationKind::kWrite) return Arrive(operation, 0, false);
  QueuePair* target = FindQueuePair(operation.destination_queue_pair, operation.destination_qkey);
  if (target == nullptr) return Finish(operation, EfaStatus::kRemoteBadQueuePair);
  Announce(operation, *target);
}

bool Nic::ReceiveIsValid(const QueuePair& target, const ReceiveWork& receive) const {
  if (receive.malformed) return false;
  for (std::uint8_t i = 0; i < receive.segment_count; ++i) {
    const Segment& segment = receive.segments[i];
    if (segment.length > 0 && !memory_.AllowsLocal(target.domain, segment.lkey, segment.address,
                                                   segment.length, Access::kReceive)) {
      TellRefusedReceive(target, segment);
      return false;
    }
  }
  return true;
}

DeviceCompletion Nic::FromPeer(const Operation& operation, const QueuePair& target) const {
  return {.queue_pair = target.number,
          .has_immediate = operation.has_immediate,
          .immediate = operation.immediate,
          .address_handle = address_handles_.NumberOf(target.domain, operation.initiator->index()),
          .source_queue_pair = operation.queue_pair,
          .length_bytes = static_cast<std::uint32_t>(operation.length),
          .source_gid = operation.initiator->gid_};
}

// ---- Writes ----

void Nic::ArriveWrite(Operation& operation, QueuePair& target, std::uint32_t packet,
                      bool second_copy) {
  if (operation.faulted) world_.faults()->BeforePlacement(operation);
  Range range = RangeOf(operation, packet);
  if (!RemoteIsValid(operation, target, range))
    return Finish(operation, EfaStatus::kRemoteBadAddress);
  if (!operation.initiator->LocalIsValid(operation, range)) {
    return Finish(operation, EfaStatus::kLocalInvalidLkey);
  }
  if (second_copy) ++counters_.placed_twice;
  const std::uint32_t flags = packet | (second_copy ? kSecondCopy : 0);
  if (operation.faulted && world_.faults()->Place(*this, operation, range, flags)) return;
  const bool rest_comes = Split(operation, range, flags);
  TellPlacing(operation, *this, range, second_copy);
  std::byte* there = PointerTo(operation.remote_address + range.offset);
  if (!operation.CopyOut(world_.bus(), range, there)) {
    return operation.initiator->StartTimeout(operation);
  }
  LogPlaced(operation, packet, range, rest_comes);
  if (rest_comes) return;
  ++operation.placed;
  if (operation.all_placed()) Written(operation, target);
}

void Nic::Written(Operation& operation, QueuePair& target) {
  if (operation.faulted && world_.faults()->IsCut(operation)) {
    return Finish(operation, EfaStatus::kOk);  // which is a failure by then
  }
  counters_.rdma_write_recv_bytes += operation.length;
  Count(target, CounterKind::kRemoteWrites, false);
  Announce(operation, target);
}

// Every byte is where it belongs: only now may the immediate be seen.
void Nic::Announce(Operation& operation, QueuePair& target) {
  if (operation.has_immediate) {
    DeviceCompletion completion = FromPeer(operation, target);
    completion.kind = OperationKind::kRemoteWrite;
    completion.unsolicited = target.unsolicited_immediates;
    if (!completion.unsolicited) {
      ReceiveWork receive;
      if (!TakeReceive(target, receive)) return NoReceive(operation, target);
      completion.request_id = receive.request_id;
    }
    ReportImmediate(operation, target, completion);
  }
  Finish(operation, EfaStatus::kOk);
}

void Nic::ReportImmediate(const Operation& operation, const QueuePair& target,
                          DeviceCompletion completion) {
  TellImmediate(operation, target);
  FaultModel* const faults = world_.faults();
  const bool withheld =
      faults != nullptr && faults->WithholdsImmediate(*this, target, operation, completion);
  if (withheld) {
    TellReported(completion, false);
  } else {
    Report(*target.receive_ring, completion);
  }
  if (!operation.faulted || !completion.unsolicited) return;
  for (std::uint32_t i = 0; i < faults->FloodsOf(operation); ++i) {
    Report(*target.receive_ring, completion);
  }
}

// Takes the oldest receive that is one; those that are malformed fail, each with a completion of
// its own.
bool Nic::TakeReceive(QueuePair& target, ReceiveWork& receive) {
  while (target.receive.Peek(receive)) {
    Consume(target, receive);
    if (!receive.malformed) return true;
    RefuseReceive(target, receive, EfaStatus::kLocalInvalidLkey);
  }
  return false;
}

void Nic::RefuseReceive(QueuePair& target, const ReceiveWork& receive, EfaStatus status) {
  Count(target, CounterKind::kReceives, true);
  Report(*target.receive_ring, {.request_id = receive.request_id,
                                .queue_pair = target.number,
                                .status = static_cast<std::uint8_t>(status),
                                .kind = OperationKind::kReceive});
}

EfaStatus Nic::CheckPlacement(const Operation& operation, Range range) const {
  if (remote_ != nullptr) return EfaStatus::kOk;  // looked at before the data left
  const QueuePair* target =
      FindQueuePair(operation.destination_queue_pair, operation.destination_qkey);
  if (target == nullptr) return EfaStatus::kRemoteBadQueuePair;
  return RemoteIsValid(operation, *target, range) ? EfaStatus::kOk : EfaStatus::kRemoteBadAddress;
}

bool Nic::RemoteIsValid(const Operation& operation, const QueuePair& target, Range range) const {
  const Access wanted =
      operation.kind == OperationKind::kRead ? Access::kRemoteRead : Access::kRemoteWrite;
  if (memory_.AllowsRemote(target.domain, operation.remote_key,
                           operation.remote_address + range.offset, range.length, wanted)) {
    return true;
  }
  TellRefusedThere(operation);
  return false;
}

// ---- Answering ----

void Nic::Finish(Operation& operation, EfaStatus status) {
  if (operation.answered) return;
  if (status == EfaStatus::kOk && operation.faulted && world_.faults()->Ends(operation)) return;
  operation.ended = true;
  operation.status = answers_nonsense_ ? kNonsense : static_cast<std::uint8_t>(status);
  TellEnded(operation);
  Nic& initiator = *operation.initiator;
  if (world_.live()) {
    if (!world_.wire().Passes(*this, initiator)) return initiator.StartTimeout(operation);
    operation.answered = true;
    return initiator.Answer(operation);
  }
  const Flight flight = Fly(initiator, operation, PacketKind::kAnswer, 0);
  if (!flight.arrives) return initiator.StartTimeout(operation);
  operation.answered = true;
  world_.Schedule(world_.Now() + profile_.ack_delay + flight.delay, &initiator, EventKind::kAnswer,
                  0, operation.id.Pack());
}

}  // namespace sim
