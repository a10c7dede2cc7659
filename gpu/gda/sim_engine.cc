#include "gpu/gda/sim_engine.h"

#include <utility>

#include "coro/status_macros.h"

namespace gpu::gda {

absl::StatusOr<SimQueue*> SimEngine::Open(fabric::Endpoint& endpoint) {
  ASSIGN_OR_RETURN(std::unique_ptr<SimQueue> queue, SimQueue::Open(endpoint, !world_.IsVirtual()));
  queues_.push_back(std::move(queue));
  return queues_.back().get();
}

bool SimEngine::Step() {
  bool any = false;
  for (const auto& queue : queues_) any |= queue->TakeDoorbells();
  world_.timeline().RunDue();
  for (const auto& queue : queues_) any |= queue->DeliverCompletions();
  return any;
}

}  // namespace gpu::gda
