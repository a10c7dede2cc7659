// The parts of a world that its devices use.

#ifndef DRYDOCK_SIM_DEVICE_SURROUNDINGS_H_
#define DRYDOCK_SIM_DEVICE_SURROUNDINGS_H_

#include <cstdint>
#include <map>

#include "drydock/coro/time.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/observers.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/operation_table.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/events/deferred_actions.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/network/wire.h"

namespace drydock::sim {

// Finds the NIC that has a GID.
class NicDirectory {
 public:
  virtual ~NicDirectory() = default;
  // Null when no machine has it.
  virtual NicState* Find(const Gid& gid) = 0;
};

// The delay that the host computers at both ends add to a packet: memory that is far from the NIC
// (sim/machine/numa.h).
class HostPath {
 public:
  virtual ~HostPath() = default;
  // How much later these bytes of an operation reach memory, which leave their NIC at `sent`.
  // `response`: they are data that the operation reads. REQUIRES: the operation has a peer.
  virtual coro::Duration DelayOf(const Operation& operation, bool response, Range range,
                                 coro::Time sent) = 0;
};

// References to parts of one world, which outlive its devices. Not thread-safe.
struct Surroundings {
  const std::uint64_t seed;
  Timeline& timeline;
  DeferredActions& deferred;
  OperationTable& operations;
  Wire& wire;
  MemoryBus& bus;
  Observers& observers;
  NicDirectory& nics;
  FaultPoints* faults = nullptr;                     // null: no fault plan
  HostPath* host_path = nullptr;                     // null: all memory is near
  std::map<std::uint32_t, coro::Time> paused_until;  // by machine: it does nothing before
  std::uint32_t objects = 0;  // that were ever numbered: queue pairs, completion queues, ...

  std::uint32_t NextObject() { return ++objects; }

  // A fresh operation, in the table, with all that it draws.
  Operation& StartOperation() {
    Operation& operation = operations.Start();
    operation.draws = wire.DrawsOf(operation.sequence);
    operation.undisturbed = wire.undisturbed().Has(operation.sequence);
    return operation;
  }
  // It leaves the table.
  void EndOperation(Operation& operation) {
    observers.Tell<&Observer::OnGone>(operation);
    operations.End(operation);
  }
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_SURROUNDINGS_H_
