#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/affinity/runs.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/sim/tracing/world_trace.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps::affinity {
namespace {

static_assert(kAnywhere == sim::Numa::kAnywhere);

using Took = absl::StatusOr<coro::Duration>;

// A world with both machines.
class TwoMachines {
 public:
  explicit TwoMachines(const SimulatedRun& run)
      : load_(run.load),
        world_(run.seed, *run.profile),
        devices_(run.trace == nullptr ? nullptr : run.trace->Watch(world_, nullptr)),
        client_(world_.AddNode("client")),
        server_(world_.AddNode("server")),
        from_(OpenFabric(run, client_)),
        to_(OpenFabric(run, server_)),
        loop_(world_),
        metrics_(run.metrics, world_, run.label) {}

  coro::EventLoop& loop() { return loop_; }

  absl::StatusOr<std::unique_ptr<Lane>> Open(const Seat& seat) {
    ASSIGN_OR_RETURN(Pages source, Pages::Map(BytesOf(load_)));
    ASSIGN_OR_RETURN(Pages target, Pages::Map(BytesOf(load_)));
    sim::Numa& numa = world_.numa();
    RETURN_IF_ERROR(numa.PlaceMemory(client_, source.bytes(), seat.memory_node));
    RETURN_IF_ERROR(numa.PlaceMemory(server_, target.bytes(), seat.memory_node));
    RETURN_IF_ERROR(numa.PlaceThread(client_, seat.nic, seat.thread_node));
    RETURN_IF_ERROR(numa.PlaceThread(server_, seat.nic, seat.thread_node));
    return Lane::Open(loop_, *from_, *to_, seat.nic, load_, std::move(source), std::move(target));
  }

  absl::Status Check() {
    world_.CheckRequests();
    if (world_.findings().empty()) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("check failed: ", sim::ToText(world_.findings().front())));
  }

 private:
  std::unique_ptr<fabric::Fabric> OpenFabric(const SimulatedRun& run, sim::Node& node) {
    auto fabric = OpenSimulatedFabric(run.fabric, world_, node);
    if (run.trace == nullptr) return fabric;
    return run.trace->Wrap(std::move(fabric), node.name(), world_, run.fabric);
  }

  const Load load_;
  sim::World world_;
  const std::unique_ptr<sim::WorldTrace> devices_;
  sim::Node& client_;
  sim::Node& server_;
  std::unique_ptr<fabric::Fabric> from_;
  std::unique_ptr<fabric::Fabric> to_;
  coro::EventLoop loop_;
  const MetricsAtEnd metrics_;
};

// In a world of its own: a world has one clock, and work on other NICs would move it.
Took SmallWrites(SimulatedRun run, const Seat& seat) {
  run.load.window = 1;
  run.load.page_bytes = kSmallBytes;
  TwoMachines machines(run);
  ASSIGN_OR_RETURN(const std::unique_ptr<Lane> lane, machines.Open(seat));
  ASSIGN_OR_RETURN(const coro::Duration took, machines.loop().Run(lane->WriteOneByOne()));
  RETURN_IF_ERROR(machines.Check());
  return took;
}

absl::StatusOr<std::vector<Took>> AllPages(const SimulatedRun& run, std::span<const Seat> seats) {
  TwoMachines machines(run);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const Seat& seat : seats) {
    ASSIGN_OR_RETURN(lanes.emplace_back(), machines.Open(seat));
  }
  std::vector<coro::Task<Took>> tasks;
  for (const auto& lane : lanes) tasks.push_back(lane->WriteMany());
  ASSIGN_OR_RETURN(std::vector<Took> all, machines.loop().Run(coro::WhenAll(std::move(tasks))));
  RETURN_IF_ERROR(machines.Check());
  return all;
}

}  // namespace

absl::StatusOr<std::vector<SeatResult>> RunSimulated(const SimulatedRun& run,
                                                     std::span<const Seat> seats) {
  ASSIGN_OR_RETURN(const std::vector<Took> streams, AllPages(run, seats));
  run.tick();
  std::vector<SeatResult> results;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    SeatResult result;
    result.seat = seats[i];
    ASSIGN_OR_RETURN(result.pages_took, streams[i]);
    ASSIGN_OR_RETURN(result.write_took, SmallWrites(run, seats[i]));
    run.tick();
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace drydock::apps::affinity
