// Executes an atomic operation on the values in memory. On EFA a CPU does it: there is no hardware
// to model, only C++.

#ifndef DRYDOCK_SIM_RDM_ATOMIC_EXECUTION_H_
#define DRYDOCK_SIM_RDM_ATOMIC_EXECUTION_H_

#include <cstddef>
#include <span>

#include "drydock/fabric/atomics.h"

namespace drydock::sim::rdm {

// True for the pairs that make sense: bits of integers only. False also for values outside of the
// enums, which a peer may send.
bool SupportsAtomic(fabric::AtomicOperation operation, fabric::AtomicType type);

// Applies `operation` to the values at `target`, and leaves those from before in `before`, which is
// as long. `operand` is as long or, for kRead, empty; `compare` is as long for kCompareSwap, else
// empty. Signed sums wrap around. REQUIRES: SupportsAtomic; lengths are multiples of the type.
void ExecuteAtomic(fabric::AtomicOperation operation, fabric::AtomicType type,
                   std::span<std::byte> target, std::span<const std::byte> operand,
                   std::span<const std::byte> compare, std::span<std::byte> before);

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_ATOMIC_EXECUTION_H_
