#include "sim/device/rights.h"

#include <cstdint>

namespace sim {

using fabric::Access;
using fabric::OperationKind;

namespace internal {

bool LocalPiecesAreValid(const Surroundings& around, const Operation& operation, Range range) {
  const NicState& nic = *operation.initiator;
  const Access right = LocalRight(operation.kind);
  bool valid = true;
  operation.Walk(range, [&](const Segment& piece) {
    if (nic.memory.AllowsLocal(operation.domain, piece.lkey, piece.address, piece.length, right)) {
      return;
    }
    valid = false;
    around.observers.Tell<&Observer::OnKeyRefused>(
        KeyRefused{nic, piece.lkey, false, nic.name, operation.queue_pair, operation.kind});
  });
  return valid;
}

void TellRemoteRefused(const Surroundings& around, const NicState& nic,
                       const Operation& operation) {
  around.observers.Tell<&Observer::OnKeyRefused>(KeyRefused{nic, operation.remote_key, true,
                                                            operation.initiator->name,
                                                            operation.queue_pair, operation.kind});
}

}  // namespace internal

EfaStatus CheckReadSource(const Surroundings& around, const Operation& operation, Range range) {
  const NicState& nic = *operation.peer;
  if (nic.elsewhere) return EfaStatus::kOk;  // looked at before the data left
  const QueuePair* target =
      nic.queue_pairs.Find(operation.destination_queue_pair, operation.destination_qkey);
  if (target == nullptr) return EfaStatus::kRemoteBadQueuePair;
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
    around.observers.Tell<&Observer::OnKeyRefused>(
        KeyRefused{nic, segment.lkey, false, nic.name, target.number, OperationKind::kReceive});
    return false;
  }
  return true;
}

}  // namespace sim
