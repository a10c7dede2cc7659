// Whether a NIC may touch the memory that a work request names: keys, bounds and rights, looked at
// when bytes are placed, packet by packet.

#ifndef DRYDOCK_SIM_DEVICE_RIGHTS_H_
#define DRYDOCK_SIM_DEVICE_RIGHTS_H_

#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// The rights that a work request of this kind needs on its initiator's memory, and on the memory
// that it names at its target.
fabric::Access LocalRight(fabric::OperationKind kind);
fabric::Access RemoteRight(fabric::OperationKind kind);

// Whether the initiator may touch payload bytes [range) of its own memory. Observers are told of a
// key that is refused. Of a work request of another process: looked at there, true here.
bool LocalIsValid(const Surroundings& around, const Operation& operation, Range range);

// The same for bytes that were valid when the work request was fetched: only looked at again when
// the initiator has withdrawn something since.
inline bool LocalIsStillValid(const Surroundings& around, const Operation& operation, Range range) {
  return operation.withdrawals == operation.initiator->memory.withdrawals() ||
         LocalIsValid(around, operation, range);
}

// Whether peers may touch payload bytes [range) in the memory of `nic`, in the protection domain of
// `target`, in the way that the operation does.
bool RemoteIsValid(const Surroundings& around, const NicState& nic, const QueuePair& target,
                   const Operation& operation, Range range);

// The same for the source of a read, which may be in another process: kOk, or how the operation
// ends.
EfaStatus CheckReadSource(const Surroundings& around, const Operation& operation, Range range);

// Whether `nic` may write all of a receive. False also for a malformed one.
bool ReceiveIsValid(const Surroundings& around, const NicState& nic, const QueuePair& target,
                    const ReceiveWork& receive);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_RIGHTS_H_
