// A context names one operation at a time.

#ifndef DRYDOCK_SIM_CHECKS_CONTEXT_OWNERSHIP_H_
#define DRYDOCK_SIM_CHECKS_CONTEXT_OWNERSHIP_H_

#include "drydock/sim/device/posted.h"

namespace drydock::sim {

class ContextOwnership {
 public:
  // Whether the program cannot tell the completions of two operations in flight that have the same
  // kind and context. A receive of no bytes only makes room for one message or immediate more: one
  // is as good as the other.
  static bool IsShared(const Posted& posted, const Posted& other) {
    if (posted.kind != fabric::OperationKind::kReceive) return true;
    return posted.length > 0 && posted.local != other.local;
  }
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_CONTEXT_OWNERSHIP_H_
