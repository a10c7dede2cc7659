// A message that has taken a receive, and of which the first bytes are still to come.

#ifndef SIM_LANDING_H_
#define SIM_LANDING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/completion_ring.h"
#include "sim/faults/fate.h"
#include "sim/operation.h"
#include "sim/queue_pair.h"

namespace sim {

// A value.
struct Landing {
  std::uint16_t queue_pair = 0;
  std::uint32_t qkey = 0;
  ReceiveWork receive;
  std::uint64_t prefix = 0;  // bytes in front of the message
  OperationId operation;
  DeviceCompletion completion;
  std::vector<std::byte> rest;
  Fate fate;
};

}  // namespace sim

#endif  // SIM_LANDING_H_
