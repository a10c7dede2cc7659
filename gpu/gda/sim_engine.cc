#include "drydock/gpu/gda/sim_engine.h"

#include <utility>

#include "drydock/coro/status_macros.h"

namespace drydock::gpu::gda {

absl::StatusOr<SimQueue*> SimEngine::Open(fabric::Endpoint& endpoint) {
  ASSIGN_OR_RETURN(std::unique_ptr<SimQueue> queue, SimQueue::Open(endpoint, !world_.IsVirtual()));
  queues_.push_back(std::move(queue));
  return queues_.back().get();
}

bool SimEngine::Step() {
  bool any = false;
  // Receives first, of all queues: a message may arrive while its doorbell is taken.
  for (const auto& queue : queues_) any |= queue->TakeReceiveDoorbell();
  for (const auto& queue : queues_) any |= queue->TakeSendDoorbell();
  world_.timeline().RunDue();
  for (const auto& queue : queues_) any |= queue->DeliverCompletions();
  return any;
}

}  // namespace drydock::gpu::gda
