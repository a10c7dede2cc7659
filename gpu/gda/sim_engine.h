// Simulated NICs whose queues a device drives: they watch doorbells, and the world makes progress.
//
//   SimEngine engine(world);
//   SimQueue* queue = engine.Open(endpoint).value();
//   ServiceThread thread;
//   thread.Add([&] { return engine.Step(); });
//   thread.Start();

#ifndef DRYDOCK_GPU_GDA_SIM_ENGINE_H_
#define DRYDOCK_GPU_GDA_SIM_ENGINE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/gpu/gda/sim_queue.h"
#include "drydock/sim/world/world.h"

namespace drydock::gpu::gda {

// Ownership: the caller's; dies before the endpoints of its queues, and before the world. Threads:
// one at a time, together with the world.
class SimEngine {
 public:
  explicit SimEngine(sim::World& world) : world_(world) {}
  SimEngine(const SimEngine&) = delete;
  SimEngine& operator=(const SimEngine&) = delete;

  // The queue of an endpoint of this world; the engine's. Errors: those of SimQueue::Open.
  absl::StatusOr<SimQueue*> Open(fabric::Endpoint& endpoint);

  // Everything that can be done now. True when there was something.
  bool Step();

 private:
  sim::World& world_;
  std::vector<std::unique_ptr<SimQueue>> queues_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_SIM_ENGINE_H_
