// Server and client in one process, on the simulator: the whole transfer is one function of the
// seed.

#ifndef APPS_WRITE_SIMULATED_RUN_H_
#define APPS_WRITE_SIMULATED_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/common/metrics_run.h"
#include "apps/common/simulated_fabric.h"
#include "apps/common/trace_flags.h"
#include "apps/write/client.h"
#include "apps/write/server.h"
#include "coro/clock.h"
#include "fabric/fabric.h"
#include "fabric/faults/engine.h"
#include "sim/profile/profile.h"
#include "sim/world/world.h"

namespace apps::write {

struct SimulatedRunOptions {
  std::uint64_t seed = 1;
  const sim::Profile* profile = nullptr;
  SimulatedFabric simulated_fabric = SimulatedFabric::kEfaDirect;
  std::string nic;
  ClientOptions client;
  ServerOptions server;
  // Called before anything is opened in the world: to attach devices, for one.
  std::function<void(sim::World&)> prepare = [](sim::World&) {};
  // What the devices themselves apply of a fault plan; null: nothing.
  std::shared_ptr<fabric::faults::FaultEngine> faults;
  // What is put around the fabrics of both machines: faults, for one.
  std::function<absl::StatusOr<std::unique_ptr<fabric::Fabric>>(std::unique_ptr<fabric::Fabric>,
                                                                sim::World&)>
      decorate = [](std::unique_ptr<fabric::Fabric> fabric, sim::World&) { return fabric; };
  // What the NICs count is taken at the end, however it comes; null: nobody asks.
  MetricsRun* metrics = nullptr;
  // Observes the run; null: nobody does. Outlives it.
  const TraceRun* trace = nullptr;
  // Called once, before the transfer, when everything is open.
  std::function<void(const fabric::Fabric& fabric, const fabric::NicInfo& nic,
                     const fabric::Address& server, const RandomFillMessage& request)>
      opened = [](const auto&, const auto&, const auto&, const auto&) {};
};

struct SimulatedRun {
  TransferReport transfer;
  coro::Duration simulated{};         // virtual time of the whole run
  std::vector<std::string> findings;  // rules of RDMA that the program broke, a line each
};

// Runs one transfer. Errors: those of Client::Run; kAborted when the world got stuck.
absl::StatusOr<SimulatedRun> RunSimulated(const SimulatedRunOptions& options);

// The same in the caller's world, whose seed and profile count then. `clock` tells the world's
// time. Both outlive the call; nothing is left in the world that uses memory of the run.
absl::StatusOr<SimulatedRun> RunSimulatedIn(sim::World& world, coro::Clock& clock,
                                            const SimulatedRunOptions& options);

}  // namespace apps::write

#endif  // APPS_WRITE_SIMULATED_RUN_H_
