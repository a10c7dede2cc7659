#include "apps/write/simulated_run.h"

#include <memory>
#include <utility>

#include "apps/common/nic_choice.h"
#include "coro/event_loop.h"
#include "coro/scope.h"
#include "coro/status_macros.h"
#include "fabric/async/node.h"
#include "sim/tracing/world_trace.h"
#include "sim/world.h"

namespace apps::write {
namespace {

// The server serves in the background: it finishes its one transfer, or goes with the scope if the
// client failed.
coro::Task<absl::StatusOr<TransferReport>> Main(Server& server, Client& client) {
  coro::Scope background;
  background.Spawn(server.Run());
  CO_ASSIGN_OR_RETURN(TransferReport report, co_await client.Run());
  if (report.verification.correct()) {
    CO_RETURN_IF_ERROR(co_await background.Join());
  }
  co_return report;
}

}  // namespace

absl::StatusOr<SimulatedRun> RunSimulated(const SimulatedRunOptions& options) {
  sim::World world(options.seed, *options.profile);
  return RunSimulatedIn(world, world, options);
}

absl::StatusOr<SimulatedRun> RunSimulatedIn(sim::World& world, coro::Clock& clock,
                                            const SimulatedRunOptions& options) {
  const MetricsAtEnd metrics(options.metrics, world);
  if (options.faults != nullptr) RETURN_IF_ERROR(world.UseFaultEngine(options.faults));
  options.prepare(world);
  std::unique_ptr<sim::WorldTrace> devices;
  if (options.trace != nullptr) devices = options.trace->Watch(world, options.faults.get());
  const auto open = [&](const char* name) -> absl::StatusOr<std::unique_ptr<fabric::Fabric>> {
    ASSIGN_OR_RETURN(auto fabric, options.decorate(OpenSimulatedFabric(options.simulated_fabric,
                                                                       world, world.AddNode(name)),
                                                   world));
    if (options.trace == nullptr) return fabric;
    return options.trace->Wrap(std::move(fabric), name, world, options.simulated_fabric);
  };
  ASSIGN_OR_RETURN(const auto server_fabric, open("server"));
  ASSIGN_OR_RETURN(const auto client_fabric, open("client"));
  ASSIGN_OR_RETURN(const std::size_t nic, FindNic(*server_fabric, options.nic));
  coro::EventLoop loop(clock);
  ASSIGN_OR_RETURN(const auto server_network, fabric::async::Node::Open(loop, *server_fabric, nic));
  ASSIGN_OR_RETURN(const auto client_network, fabric::async::Node::Open(loop, *client_fabric, nic));
  ServerOptions once = options.server;
  once.clients = 1;
  once.count_failed = true;
  ASSIGN_OR_RETURN(const auto server, Server::Open(*server_network, once));
  const fabric::Address address = server_network->endpoint().address();
  ASSIGN_OR_RETURN(const auto client, Client::Open(*client_network, options.client, address));
  options.opened(*client_fabric, client_network->nic(), address, client->request());

  SimulatedRun run;
  ASSIGN_OR_RETURN(run.transfer, loop.Run(Main(*server, *client)));
  run.simulated = world.Elapsed();
  world.CheckRequests();
  for (const sim::Finding& finding : world.findings()) run.findings.push_back(sim::ToText(finding));
  return run;
}

}  // namespace apps::write
