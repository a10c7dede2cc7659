#include "drydock/apps/museum/stage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/time.h"
#include "drydock/sim/driver/sim_fabric.h"

namespace drydock::museum {

std::optional<fabric::Completion> Rail::Read() {
  fabric::Completion completion;
  if (queue->Read({&completion, 1}).count == 0) return std::nullopt;
  return completion;
}

absl::StatusOr<std::unique_ptr<Machine>> Machine::Open(sim::explore::Trial& trial, std::string name,
                                                       const MachineOptions& options) {
  std::unique_ptr<Machine> machine(new Machine());
  const sim::Profile& profile =
      options.profile == nullptr ? trial.world().profile() : *options.profile;
  machine->node_ = &trial.world().AddNode(std::move(name), profile);
  ASSIGN_OR_RETURN(machine->fabric_,
                   trial.Decorate(sim::OpenSimFabric(trial.world(), *machine->node_)));
  machine->pages_.resize((options.memory_bytes + sizeof(Page) - 1) / sizeof(Page));
  const std::span<std::byte> memory = machine->Bytes(0, machine->pages_.size() * sizeof(Page));
  std::fill(memory.begin(), memory.end(), std::byte{0});
  for (std::size_t nic = 0; nic < options.rails; ++nic) {
    ASSIGN_OR_RETURN(
        fabric::OpenedNic opened,
        fabric::OpenNic(*machine->fabric_, {.nic = nic, .queue_depth = options.queue_depth}));
    ASSIGN_OR_RETURN(auto region, opened.domain->RegisterMemory(
                                      {.data = memory.data(), .length_bytes = memory.size()}));
    machine->rails_.push_back({std::move(opened), std::move(region)});
  }
  return machine;
}

// What is in flight ends before its memory goes.
Machine::~Machine() {
  for (Rail& rail : rails_) rail.endpoint.reset();
}

std::span<std::byte> Machine::Bytes(std::size_t offset, std::size_t length) {
  return std::span<std::byte>(pages_[0].bytes, pages_.size() * sizeof(Page))
      .subspan(offset, length);
}

fabric::Peer Machine::Insert(Machine& other, std::size_t rail) {
  const auto peer = rails_[rail].peers->Insert(other.rail(rail).endpoint->address());
  return peer.ok() ? *peer : fabric::kNoPeer;
}

absl::StatusOr<Pair> OpenPair(sim::explore::Trial& trial, const MachineOptions& a,
                              const MachineOptions& b) {
  Pair pair;
  ASSIGN_OR_RETURN(pair.a, Machine::Open(trial, "a", a));
  ASSIGN_OR_RETURN(pair.b, Machine::Open(trial, "b", b));
  for (std::size_t rail = 0; rail < std::min(a.rails, b.rails); ++rail) {
    pair.rails_to_b.push_back(pair.a->Insert(*pair.b, rail));
    const fabric::Peer to_a = pair.b->Insert(*pair.a, rail);
    if (rail == 0) pair.to_a = to_a;
  }
  pair.to_b = pair.rails_to_b.front();
  return pair;
}

bool LetTimePass(sim::explore::Trial& trial) { return trial.clock().WaitUntil(coro::kNever); }

absl::Status Failed(Rail& rail, const fabric::Completion& completion, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", rail.queue->ErrorText(completion),
                                             " (provider error ", completion.provider_error, ")"));
}

coro::SleepUntil Preempt(Scene& scene) {
  const std::uint64_t key = coro::Combine(scene.trial.seed(), ++scene.preemptions);
  return coro::Sleep(coro::Duration(static_cast<std::int64_t>(coro::Below(key, 20'000))));
}

sim::explore::Outcome RunOnNodes(sim::explore::Trial& trial, Twin twin, std::size_t count,
                                 coro::Task<absl::Status> (*program)(Scene& scene)) {
  coro::EventLoop loop(trial.clock());
  absl::StatusOr<sim::explore::Nodes> nodes = sim::explore::OpenNodes(trial, loop, count);
  if (!nodes.ok()) return sim::explore::Outcome::Of(nodes.status());
  Truth truth;
  Scene scene{trial, *nodes, truth, twin};
  const absl::Status status = loop.Run(program(scene));
  return truth.OutcomeOf(status);
}

}  // namespace drydock::museum
