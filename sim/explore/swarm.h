// Fault plans by seed: each lets another random handful of things go wrong.
//
// Why not everything at once: a run in which every operation fails never gets to the interesting
// states. So each family of faults is off altogether in half of the seeds (swarm testing: Groce,
// Zhang, Eide, Chen, Regehr, ISSTA 2012), and faults that are on are mostly rare.

#ifndef DRYDOCK_SIM_EXPLORE_SWARM_H_
#define DRYDOCK_SIM_EXPLORE_SWARM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/faults/plan.h"

namespace drydock::sim::explore {

// Faults that are switched on and off together.
enum class Family : std::uint8_t {
  kPosts,        // refused posts
  kOpening,      // objects that cannot be opened or registered
  kCapacities,   // short queues
  kStatus,       // operations that fail
  kPlacement,    // order and time in which bytes land
  kCompletions,  // order and time in which completions are seen
  kPeers,        // peers, links, machines
};
inline constexpr std::size_t kFamilyCount = static_cast<std::size_t>(Family::kPeers) + 1;

// "posts", "opening", ... Static storage.
std::string_view Name(Family family);

// The family of a fault; absent for one that no swarm has: illegal ones, and those that a correct
// program cannot survive because they are a peer's or its own mistake (immediate_flood: a peer that
// announces bytes that it has not written; queue_overrun and completion_queue_depth: a queue that
// its program made too short).
std::optional<Family> FamilyOf(fabric::faults::Fault fault);

// The plan of a seed: valid, without illegal faults, only with faults that a layer in `appliers`
// applies, and with rules that may also never fire. A function of its arguments, on every machine.
fabric::faults::FaultPlan SwarmPlan(std::uint64_t seed, const fabric::faults::Appliers& appliers);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SWARM_H_
