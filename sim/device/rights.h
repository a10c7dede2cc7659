// Whether a NIC may touch the memory that a work request names: keys, bounds and rights, looked at
// when bytes are placed, packet by packet.

#ifndef SIM_DEVICE_RIGHTS_H_
#define SIM_DEVICE_RIGHTS_H_

#include "fabric/memory.h"
#include "fabric/operation.h"
#include "sim/device/nic_state.h"
#include "sim/device/operation.h"
#include "sim/device/queue_pair.h"
#include "sim/device/surroundings.h"
#include "sim/efa_status.h"
#include "sim/memory/segment.h"

namespace sim {

// What a work request of this kind needs of its initiator's memory, and of the memory that it names
// at its target.
inline fabric::Access LocalRight(fabric::OperationKind kind) {
  if (kind == fabric::OperationKind::kWrite) return fabric::Access::kWrite;
  return kind == fabric::OperationKind::kRead ? fabric::Access::kRead : fabric::Access::kSend;
}
inline fabric::Access RemoteRight(fabric::OperationKind kind) {
  return kind == fabric::OperationKind::kRead ? fabric::Access::kRemoteRead
                                              : fabric::Access::kRemoteWrite;
}

namespace internal {

// All pieces of the range, one by one. Tells of the keys that do not allow them.
bool LocalPiecesAreValid(const Surroundings& around, const Operation& operation, Range range);
void TellRemoteRefused(const Surroundings& around, const NicState& nic, const Operation& operation);

}  // namespace internal

// Whether the initiator may touch payload bytes [range) of its own memory. Observers are told of a
// key that is refused. Of a work request of another process: looked at there, true here.
inline bool LocalIsValid(const Surroundings& around, const Operation& operation, Range range) {
  if (operation.is_inline || operation.length == 0 || operation.initiator->elsewhere) return true;
  const Segment& first = operation.segments[0];
  const bool valid = operation.segment_count == 1 &&
                     operation.initiator->memory.AllowsLocal(
                         operation.domain, first.lkey, first.address + range.offset, range.length,
                         LocalRight(operation.kind));
  if (valid) [[likely]] {
    return true;
  }
  return internal::LocalPiecesAreValid(around, operation, range);
}

// The same for bytes that were valid when the work request was fetched: only looked at again when
// the initiator has withdrawn something since.
inline bool LocalIsStillValid(const Surroundings& around, const Operation& operation, Range range) {
  return operation.withdrawals == operation.initiator->memory.withdrawals() ||
         LocalIsValid(around, operation, range);
}

// Whether peers may touch payload bytes [range) in the memory of `nic`, in the protection domain of
// `target`, in the way that the operation does. As above.
inline bool RemoteIsValid(const Surroundings& around, const NicState& nic, const QueuePair& target,
                          const Operation& operation, Range range) {
  const bool valid = nic.memory.AllowsRemote(target.domain, operation.remote_key,
                                             operation.remote_address + range.offset, range.length,
                                             RemoteRight(operation.kind));
  if (!valid) [[unlikely]] {
    internal::TellRemoteRefused(around, nic, operation);
  }
  return valid;
}

// The same for the source of a read, which may be in another process: kOk, or how the operation
// ends.
EfaStatus CheckReadSource(const Surroundings& around, const Operation& operation, Range range);

// Whether `nic` may write all of a receive. False also for a malformed one.
bool ReceiveIsValid(const Surroundings& around, const NicState& nic, const QueuePair& target,
                    const ReceiveWork& receive);

}  // namespace sim

#endif  // SIM_DEVICE_RIGHTS_H_
