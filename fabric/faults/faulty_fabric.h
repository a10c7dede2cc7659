// A fault plan above any fabric: the simulator, a software provider of libfabric, or real EFA.
//
//   auto engine = FaultEngine::Create(plan, seed, {.decorator = FaultsOf(Layer::kDecorator)});
//   auto faulty = OpenFaultyFabric(std::move(fabric), {.engine = *engine, .clock = &clock});
//
// Every accepted operation still ends in exactly one completion, unless the fault is to lose it. An
// operation that a rule lets fail either ran, and its own completion is the one that is changed, or
// was never given to the fabric below. No completion is made up for an operation that is still on
// its way below: it would come all the same, to a program that has forgotten it (that was pmem/rpma
// issue 1975).
//
// These go through untouched: the posts of powers (tagged messages, atomics, cancel, queue access)
// and counters, which count the operations below. A batch over several posts (more_to_come.h) goes
// through, too, unless a rule may keep an operation from the fabric below: then each post rings.
// Completions of tagged messages and atomics can be faulted by their kind; nothing else is known of
// them. Peers and endpoints of received messages and remote writes are not known either, so that
// rules that name one never concern them.

#ifndef DRYDOCK_FABRIC_FAULTS_FAULTY_FABRIC_H_
#define DRYDOCK_FABRIC_FAULTS_FAULTY_FABRIC_H_

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/faults/engine.h"

namespace drydock::fabric::faults {

struct FaultyFabricOptions {
  // Several fabrics may share one: a rule then counts the events of all.
  std::shared_ptr<FaultEngine> engine;
  // The program's clock: windows and delays are measured on it. Outlives the fabric and everything
  // opened from it.
  const coro::Clock* clock = nullptr;
  // Called when a completion can be seen at a time that the fabric below knows nothing of; empty:
  // the clock passes by itself. In virtual time, where an idle program lets the world run on to the
  // next event, it makes one: sim::Timeline::WakeAt.
  std::function<void(coro::Time)> wake_at;
  // When the run began, on the clock: windows count from then. Absent: it begins now, with this
  // fabric. A fabric that is opened in the midst of a run has to be told.
  std::optional<coro::Time> began = std::nullopt;
};

// What it is: `wrapped`, with what the rules of the engine's plan for Layer::kDecorator do to it.
// An engine without such rules changes nothing, and costs a test of a bit for each post and read.
// Ownership, threads, blocking: as the wrapped fabric's. kUnimplemented: a rule wants a share of an
// operation's bytes placed (placed_percent), which only the device can do.
absl::StatusOr<std::unique_ptr<Fabric>> OpenFaultyFabric(std::unique_ptr<Fabric> wrapped,
                                                         const FaultyFabricOptions& options);

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_FAULTY_FABRIC_H_
