// Two simulated machines, with a fault plan above the fabrics of one or of both: what the tests of
// the decorator start from. For tests only.

#ifndef DRYDOCK_TESTING_FAULTS_FAULTY_SCENE_H_
#define DRYDOCK_TESTING_FAULTS_FAULTY_SCENE_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/faulty_fabric.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "gtest/gtest.h"

namespace drydock::fabric::faults {

// A plan of rules, as far as illegal ones.
inline FaultPlan PlanOf(std::vector<FaultRule> rules) {
  FaultPlan plan{.mode = Legality::kIllegal, .rules = std::move(rules)};
  for (FaultRule& rule : plan.rules) {
    rule.illegal = Describe(rule.fault).legality == Legality::kIllegal;
  }
  return plan;
}

inline std::shared_ptr<FaultEngine> EngineOf(FaultPlan plan, std::uint64_t seed = 1) {
  return FaultEngine::Create(std::move(plan), seed, {.decorator = FaultsOf(Layer::kDecorator)})
      .value();
}

// One machine, its endpoint, and what was read from its queue.
struct FaultySide : OpenedNic {
  std::unique_ptr<Fabric> fabric;
  std::vector<std::byte> memory;
  std::unique_ptr<MemoryRegion> region;
  std::vector<Completion> completions;
};

class FaultyScene {
 public:
  static constexpr std::size_t kBytes = 64 << 10;

  explicit FaultyScene(FaultPlan plan, bool faulty_target = false, std::uint64_t seed = 1)
      : engine(EngineOf(std::move(plan), seed)), world(seed, **sim::FindProfile("small")) {
    Open(initiator, "initiator", true);
    Open(target, "target", faulty_target);
    to_target = initiator.peers->Insert(target.endpoint->address()).value();
    to_initiator = target.peers->Insert(initiator.endpoint->address()).value();
  }

  void Open(FaultySide& side, const char* name, bool faulty) {
    side.fabric = sim::OpenSimFabric(world, world.AddNode(name));
    if (faulty) {
      side.fabric =
          OpenFaultyFabric(std::move(side.fabric),
                           {.engine = engine,
                            .clock = &world,
                            .wake_at = [this](coro::Time at) { world.timeline().WakeAt(at); }})
              .value();
    }
    static_cast<OpenedNic&>(side) = OpenNic(*side.fabric).value();
    side.memory.assign(kBytes, std::byte{0});
    side.region =
        side.domain->RegisterMemory({.data = side.memory.data(), .length_bytes = kBytes}).value();
  }

  // One more endpoint on a side's queue and peers.
  static absl::StatusOr<std::unique_ptr<Endpoint>> OpenAnother(FaultySide& side) {
    return side.domain->OpenEndpoint(side.endpoint_options());
  }

  WriteRequest WriteOf(std::optional<Context> context, std::size_t length = 64) const {
    return {.source = initiator.region->Local(0, length),
            .target = target.region->remote(),
            .peer = to_target,
            .context = context};
  }
  ReadRequest ReadOf(std::optional<Context> context) const {
    return {.target = initiator.region->Local(1024, 64),
            .source = target.region->remote(),
            .peer = to_target,
            .context = context};
  }
  SendRequest SendOf(std::optional<Context> context) const {
    return {.buffer = initiator.region->Local(0, 64), .peer = to_target, .context = context};
  }
  RecvRequest RecvOf(std::uint64_t context) const {
    return {.buffer = target.region->Local(4096, 64), .context = Context{context}};
  }
  ErrorCode Write(std::uint64_t context) {
    return initiator.endpoint->Write(WriteOf(Context{context}));
  }

  // Reads a queue once; returns how many entries came.
  std::size_t ReadQueue(FaultySide& side, std::size_t room = 16) {
    std::array<Completion, 64> entries;
    const ReadResult result = side.queue->Read(std::span(entries).first(room));
    side.completions.insert(side.completions.end(), entries.begin(),
                            entries.begin() + static_cast<std::ptrdiff_t>(result.count));
    return result.count;
  }

  // As an event loop does: reads until nothing comes, then lets the world go on, for as long as
  // something can happen in `patience`.
  void Run(
      const std::function<bool()>& done = [] { return false; },
      coro::Duration patience = std::chrono::seconds(1)) {
    const coro::Time deadline = world.Now() + patience;
    while (!done() && world.Now() < deadline) {
      if (ReadQueue(initiator) + ReadQueue(target) == 0) world.WaitUntil(deadline);
    }
  }

  // Waits for the completion with this context, and takes it. Fails the test when none comes.
  Completion Take(FaultySide& side, std::uint64_t context) {
    const auto find = [&] {
      return std::find_if(side.completions.begin(), side.completions.end(),
                          [&](const auto& each) { return each.context == Context{context}; });
    };
    Run([&] { return find() != side.completions.end(); });
    const auto found = find();
    if (found == side.completions.end()) {
      ADD_FAILURE() << "no completion has context " << context << ", seed " << world.seed();
      return {};
    }
    const Completion completion = *found;
    side.completions.erase(found);
    return completion;
  }

  RuleReport Report(std::size_t rule = 0) const { return engine->Report()[rule]; }

  std::shared_ptr<FaultEngine> engine;
  sim::World world;
  FaultySide initiator;
  FaultySide target;
  Peer to_target{};
  Peer to_initiator{};
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_TESTING_FAULTS_FAULTY_SCENE_H_
