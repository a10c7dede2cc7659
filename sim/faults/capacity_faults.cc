// Queues that are smaller than the device would give.

#include <algorithm>
#include <bit>

#include "sim/faults/fault_model.h"

namespace sim {

using fabric::faults::Capacity;

void FaultModel::Shrink(const Nic& nic, fabric::Limits& limits) {
  if (!Concerns(Point::kCapacity)) return;
  EventView view = ViewOf(nic);
  view.capacity = Capacity::kSendQueue;
  if (const Firing firing = Decide(Point::kCapacity, view)) {
    limits.send_queue_depth =
        std::min(limits.send_queue_depth, static_cast<std::size_t>(firing.parameters().entries));
  }
  view.capacity = Capacity::kReceiveQueue;
  if (const Firing firing = Decide(Point::kCapacity, view)) {
    limits.receive_queue_depth =
        std::min(limits.receive_queue_depth, static_cast<std::size_t>(firing.parameters().entries));
  }
  view.capacity = Capacity::kInject;
  if (const Firing firing = Decide(Point::kCapacity, view)) {
    const auto most = static_cast<std::size_t>(firing.parameters().bytes);
    limits.inject_bytes = std::min(limits.inject_bytes, most);
    limits.inject_rma_bytes = std::min(limits.inject_rma_bytes, most);
  }
}

std::size_t FaultModel::CompletionQueueEntries(const Nic& nic, std::size_t entries) {
  if (!Concerns(Point::kCapacity)) return entries;
  EventView view = ViewOf(nic);
  view.capacity = Capacity::kCompletionQueue;
  const Firing firing = Decide(Point::kCapacity, view);
  if (!firing) return entries;
  return std::min(entries, std::bit_floor(static_cast<std::size_t>(firing.parameters().entries)));
}

}  // namespace sim
