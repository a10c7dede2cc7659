// A message that has taken a receive.

#ifndef DRYDOCK_SIM_DEVICE_LANDING_H_
#define DRYDOCK_SIM_DEVICE_LANDING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/receive_queue.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// A value.
struct Landing {
  // The queue pair whose receive it is.
  std::uint16_t queue_pair = 0;
  std::uint32_t serial = 0;
  ReceiveWork receive;
  std::uint64_t prefix = 0;  // bytes of the receive in front of the message
  OperationId operation;
  DeviceCompletion completion;  // of the receive
  CompletionVerdict verdict;    // when that is reported

  // While some of it is still to be placed: the message's first bytes, which have left their sender
  // already; and those of them that are placed last.
  std::vector<std::byte> staged;
  Range rest;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_LANDING_H_
