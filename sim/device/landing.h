// A message that has taken a receive.

#ifndef SIM_DEVICE_LANDING_H_
#define SIM_DEVICE_LANDING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/device/completion_ring.h"
#include "sim/device/fault_points.h"
#include "sim/device/operation.h"
#include "sim/device/receive_queue.h"
#include "sim/memory/segment.h"

namespace sim {

// A value.
struct Landing {
  // The queue pair whose receive it is.
  std::uint16_t queue_pair = 0;
  std::uint32_t qkey = 0;
  ReceiveWork receive;
  std::uint64_t prefix = 0;  // bytes of the receive in front of the message
  OperationId operation;
  DeviceCompletion completion;  // of the receive
  CompletionVerdict verdict;    // when that is reported

  // While some of it is still to be placed: the message's first bytes, which have left their sender
  // whatever it does meanwhile; and those of them that are placed last.
  std::vector<std::byte> staged;
  Range rest;
};

}  // namespace sim

#endif  // SIM_DEVICE_LANDING_H_
