// How the bytes of a packet reach memory under a fault plan: in pieces, late, several times, wrong
// or not at all.

#ifndef DRYDOCK_SIM_FAULTS_PLACEMENT_PLAN_H_
#define DRYDOCK_SIM_FAULTS_PLACEMENT_PLAN_H_

#include <cstdint>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/faults/operation_faults.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// For payload bytes [range) of an operation of `length` bytes. `spread`: the longest time between
// pieces that land in any order. Pure: depends on these alone.
PlacementVerdict PlanPlacement(const OperationFaults& faults, std::uint64_t length, Range range,
                               coro::Duration spread);

// The bits of the range that are wrong in the end.
std::vector<FlippedBits> PlanCorruption(const OperationFaults& faults, std::uint64_t length,
                                        Range range);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_FAULTS_PLACEMENT_PLAN_H_
