#include "drydock/sim/device/rights.h"

#include <cstdint>

namespace drydock::sim {

using fabric::Access;
using fabric::OperationKind;

Access LocalRight(OperationKind kind) {
  switch (kind) {
    case OperationKind::kWrite:
      return Access::kWrite;
    case OperationKind::kRead:
      return Access::kRead;
    default:
      return Access::kSend;
  }
}

Access RemoteRight(OperationKind kind) {
  return kind == OperationKind::kRead ? Access::kRemoteRead : Access::kRemoteWrite;
}

namespace {

void Tell(const Surroundings& around, const KeyRefused& refused) {
  around.observers.Tell<&Observer::OnKeyRefused>(refused);
}

bool SpansLocal(const Operation& operation, Range range) {
  const Access right = LocalRight(operation.kind);
  const MemoryTable& memory = operation.initiator->memory;
  bool valid = true;
  operation.Walk(range, [&](const Segment& piece) {
    valid = valid &&
            memory.AllowsLocal(operation.domain, piece.lkey, piece.address, piece.length, right);
  });
  return valid;
}

// Of the keys that do not allow these bytes.
void TellRefused(const Surroundings& around, const Operation& operation, Range range) {
  const NicState& nic = *operation.initiator;
  const Access right = LocalRight(operation.kind);
  operation.Walk(range, [&](const Segment& piece) {
    if (nic.memory.AllowsLocal(operation.domain, piece.lkey, piece.address, piece.length, right)) {
      return;
    }
    Tell(around, {nic, piece.lkey, false, nic.name, operation.queue_pair, operation.kind});
  });
}

}  // namespace

bool LocalIsValid(const Surroundings& around, const Operation& operation, Range range) {
  if (operation.is_inline || operation.length == 0 || operation.initiator->elsewhere) return true;
  bool valid;
  if (operation.segment_count == 1) {  // nearly always
    const Segment& segment = operation.segments[0];
    valid = operation.initiator->memory.AllowsLocal(operation.domain, segment.lkey,
                                                    segment.address + range.offset, range.length,
                                                    LocalRight(operation.kind));
  } else {
    valid = SpansLocal(operation, range);
  }
  if (!valid) [[unlikely]] {
    TellRefused(around, operation, range);
  }
  return valid;
}

bool RemoteIsValid(const Surroundings& around, const NicState& nic, const QueuePair& target,
                   const Operation& operation, Range range) {
  const bool valid = nic.memory.AllowsRemote(target.domain, operation.remote_key,
                                             operation.remote_address + range.offset, range.length,
                                             RemoteRight(operation.kind));
  if (!valid) [[unlikely]] {
    Tell(around, {nic, operation.remote_key, true, operation.initiator->name, operation.queue_pair,
                  operation.kind});
  }
  return valid;
}

EfaStatus CheckReadSource(const Surroundings& around, const Operation& operation, Range range) {
  const NicState& nic = *operation.peer;
  if (nic.elsewhere) return EfaStatus::kOk;  // looked at before the data left
  const QueuePair* target =
      nic.queue_pairs.FindSame(operation.destination_queue_pair, operation.target_serial);
  if (target == nullptr || target->state == QueuePairState::kError) {
    return EfaStatus::kRemoteBadQueuePair;
  }
  return RemoteIsValid(around, nic, *target, operation, range) ? EfaStatus::kOk
                                                               : EfaStatus::kRemoteBadAddress;
}

bool ReceiveIsValid(const Surroundings& around, const NicState& nic, const QueuePair& target,
                    const ReceiveWork& receive) {
  if (receive.malformed) return false;
  for (const Segment& segment : receive.memory()) {
    if (segment.length == 0 || nic.memory.AllowsLocal(target.domain, segment.lkey, segment.address,
                                                      segment.length, Access::kReceive)) {
      continue;
    }
    Tell(around, {nic, segment.lkey, false, nic.name, target.number, OperationKind::kReceive});
    return false;
  }
  return true;
}

}  // namespace drydock::sim
