#include "drydock/apps/batch/simulated_run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/batch/mover.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/machine/thread_shares.h"
#include "drydock/sim/tracing/world_trace.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps::batch {
namespace {

using fabric::async::transfer::EngineOptions;
using fabric::async::transfer::PeerDescriptor;

// Samples of a run: a fraction of its shortest possible time.
constexpr int kSamples = 200;

using Groups = std::vector<std::vector<std::size_t>>;

// One machine: an engine for each GPU, on its NICs.
class Machine {
 public:
  static absl::StatusOr<std::unique_ptr<Machine>> Open(coro::EventLoop& loop, sim::World& world,
                                                       sim::Node& node, const Groups& groups,
                                                       const Load& load, const TraceRun* trace) {
    auto machine = std::make_unique<Machine>();
    machine->fabric_ = sim::OpenSimFabric(world, node);
    if (trace != nullptr) {
      machine->fabric_ =
          trace->Wrap(std::move(machine->fabric_), node.name(), world, SimulatedFabric::kEfaDirect);
    }
    EngineOptions options;
    options.policy = load.policy;
    options.nic.window = load.window;
    options.nic.burst = load.burst;
    options.nic.operation_timeout = load.timeout;
    options.nic.completion_timeout = load.timeout;
    options.same_nic_only = true;  // as the published programs: each NIC has its one partner
    for (const std::vector<std::size_t>& group : groups) {
      std::vector<fabric::Domain*> domains;
      for (const std::size_t nic : group) {
        ASSIGN_OR_RETURN(auto domain, machine->fabric_->OpenDomain(nic));
        domains.push_back(domain.get());
        machine->domains_.push_back(std::move(domain));
      }
      ASSIGN_OR_RETURN(machine->engines.emplace_back(), Engine::Open(loop, domains, options));
      ASSIGN_OR_RETURN(machine->memories.emplace_back(),
                       machine->engines.back()->Allocate(MemoryOf(load)));
    }
    return machine;
  }

 private:
  std::unique_ptr<fabric::Fabric> fabric_;
  std::vector<std::unique_ptr<fabric::Domain>> domains_;

 public:
  std::vector<std::unique_ptr<Engine>> engines;  // by GPU; die first
  std::vector<MemoryRef> memories;
};

// The receiver is given a thread for each NIC, so that it is never what a run waits for.
absl::Status GiveThreads(sim::World& world, sim::Node& here, sim::Node& there, const Groups& groups,
                         const Load& load) {
  std::vector<std::size_t> nics;
  for (const auto& group : groups) nics.insert(nics.end(), group.begin(), group.end());
  RETURN_IF_ERROR(world.processors().ShareOut(
      here, nics, load.threads, load.pin ? sim::ThreadPlace::kNear : sim::ThreadPlace::kNowhere,
      {.shares_state = !load.sharded, .progress_in_post = !load.lazy}));
  return world.processors().ShareOut(there, nics, load.nics(), sim::ThreadPlace::kNear, {});
}

// The run itself, once everything is open.
class Run {
 public:
  Run(Machine& here, Machine& there, const SimulatedRun& run, const Load& load)
      : here_(here),
        there_(there),
        seed_(run.seed),
        load_(load),
        watch_(EnginesOf(here), load, run.profile->link_gbps, stderr,
               run.progress && isatty(STDERR_FILENO) != 0),
        interval_(IntervalOf(load, run.profile->link_gbps)) {}

  coro::Task<absl::StatusOr<BatchResult>> Go() {
    for (std::size_t gpu = 0; gpu < load_.gpus; ++gpu) CO_RETURN_IF_ERROR(co_await Prepare(gpu));
    if (load_.warm_up) CO_RETURN_IF_ERROR(co_await ForAll(&Run::WarmUp));
    coro::EventLoop& loop = coro::EventLoop::Current();
    watch_.Begin(loop.Now());
    coro::Scope scope;
    scope.Spawn(watch_.Run(interval_));
    const absl::Status sent = co_await ForAll(&Run::Move);
    BatchResult result = watch_.End(loop.Now());
    scope.Cancel();
    const absl::Status ended = co_await scope.Join();
    static_cast<void>(ended);  // cancelled
    CO_RETURN_IF_ERROR(sent);
    result.correct = true;
    for (std::size_t gpu = 0; gpu < load_.gpus; ++gpu) {
      result.correct = result.correct && receivers_[gpu]->IsComplete(seed_, gpu);
      result.duplicates += receivers_[gpu]->duplicates();
    }
    co_return result;
  }

 private:
  static std::vector<Engine*> EnginesOf(Machine& machine) {
    std::vector<Engine*> engines;
    for (const auto& engine : machine.engines) engines.push_back(engine.get());
    return engines;
  }
  static coro::Duration IntervalOf(const Load& load, double line_gbps) {
    const double ns = static_cast<double>(load.total_bytes()) * 8 /
                      (line_gbps * static_cast<double>(load.nics()));
    return std::max<coro::Duration>(coro::Duration(static_cast<std::int64_t>(ns) / kSamples),
                                    std::chrono::microseconds(1));
  }
  coro::Time Deadline() const {
    return coro::After(coro::EventLoop::Current().Now(), load_.timeout);
  }

  // GPU `gpu` of both machines know each other, and have memory.
  coro::Task<absl::Status> Prepare(std::size_t gpu) {
    Engine& from = *here_.engines[gpu];
    Engine& to = *there_.engines[gpu];
    const PeerDescriptor here = from.descriptor();
    const PeerDescriptor there = to.descriptor();
    CO_ASSIGN_OR_RETURN(const std::uint32_t peer, co_await from.Connect(there));
    const absl::StatusOr<std::uint32_t> back = co_await to.Connect(here);
    CO_RETURN_IF_ERROR(back.status());
    FillPlaces(here_.memories[gpu]->bytes(), seed_, gpu);
    CO_ASSIGN_OR_RETURN(RemoteRef target, from.Import(peer, there_.memories[gpu]->descriptor()));
    senders_.push_back(
        std::make_unique<PageSender>(from, here_.memories[gpu], std::move(target), load_));
    CO_ASSIGN_OR_RETURN(receivers_.emplace_back(),
                        PageReceiver::Expect(to, there_.memories[gpu], load_));
    co_return absl::OkStatus();
  }

  coro::Task<absl::Status> WarmUp(std::size_t gpu) {
    CO_RETURN_IF_ERROR(co_await senders_[gpu]->WarmUp(Deadline()));
    co_return co_await receivers_[gpu]->WarmUp(Deadline());
  }
  coro::Task<absl::Status> Move(std::size_t gpu) {
    CO_RETURN_IF_ERROR(co_await senders_[gpu]->Send(Deadline()));
    co_return co_await receivers_[gpu]->Receive(Deadline());
  }
  coro::Task<absl::Status> ForAll(coro::Task<absl::Status> (Run::*what)(std::size_t)) {
    std::vector<coro::Task<absl::Status>> tasks;
    for (std::size_t gpu = 0; gpu < load_.gpus; ++gpu) tasks.push_back((this->*what)(gpu));
    const std::vector<absl::Status> results = co_await coro::WhenAll(std::move(tasks));
    for (const absl::Status& result : results) CO_RETURN_IF_ERROR(result);
    co_return absl::OkStatus();
  }

  Machine& here_;
  Machine& there_;
  const std::uint64_t seed_;
  const Load load_;
  Watch watch_;
  const coro::Duration interval_;
  std::vector<std::unique_ptr<PageSender>> senders_;
  std::vector<std::unique_ptr<PageReceiver>> receivers_;
};

}  // namespace

absl::StatusOr<BatchResult> RunSimulated(const SimulatedRun& run, const Load& load) {
  ASSIGN_OR_RETURN(const Groups groups, NicsOfGpus(*run.profile, load.gpus, load.nics_per_gpu));
  sim::World world(run.seed, *run.profile);
  const MetricsAtEnd metrics(run.metrics, world);
  std::unique_ptr<sim::WorldTrace> devices;
  if (run.trace != nullptr) devices = run.trace->Watch(world, nullptr);
  sim::Node& here = world.AddNode("sender");
  sim::Node& there = world.AddNode("receiver");
  RETURN_IF_ERROR(GiveThreads(world, here, there, groups, load));
  coro::EventLoop loop(world);
  ASSIGN_OR_RETURN(const auto sender, Machine::Open(loop, world, here, groups, load, run.trace));
  ASSIGN_OR_RETURN(const auto receiver, Machine::Open(loop, world, there, groups, load, run.trace));
  absl::StatusOr<BatchResult> result;
  {
    Run moves(*sender, *receiver, run, load);
    result = loop.Run(moves.Go());
  }
  RETURN_IF_ERROR(result.status());
  world.CheckRequests();
  if (!world.findings().empty()) {
    return absl::InternalError(
        absl::StrCat("check failed: ", sim::ToText(world.findings().front())));
  }
  return result;
}

}  // namespace drydock::apps::batch
