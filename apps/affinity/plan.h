// Where the thread and the memory of each NIC go: near it, far from it, or wherever they fall. Pure
// functions of a machine.

#ifndef DRYDOCK_APPS_AFFINITY_PLAN_H_
#define DRYDOCK_APPS_AFFINITY_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/nic_info.h"
#include "drydock/gpu/topology/machine.h"

namespace drydock::apps::affinity {

enum class Policy : std::uint8_t { kNear, kFar, kNone };

// near, far, none.
absl::string_view NameOf(Policy policy);
// What --policy takes: one of the three, or "all". kInvalidArgument: anything else.
absl::StatusOr<std::vector<Policy>> ParsePolicies(absl::string_view text);

// Of a NUMA node: not told, or not chosen.
inline constexpr int kAnywhere = -1;

// One NIC, and where the thread that drives it and the memory that it writes from and to are.
struct Seat {
  std::size_t nic = 0;  // index in the fabric
  std::string name;
  int nic_node = kAnywhere;
  int thread_node = kAnywhere;
  int memory_node = kAnywhere;
  gpu::topology::CpuList cpus;  // of the thread; empty: any
};

// The machine with the NICs of a fabric, in the fabric's order, instead of its own: those that the
// machine knows by their PCI address where they are, the others on the NUMA node that the fabric
// tells.
gpu::topology::Machine WithNics(gpu::topology::Machine machine,
                                std::span<const fabric::NicInfo> nics);

// At most `most` NICs, spread over the NUMA nodes and then over the switches. Indices, ascending.
std::vector<std::size_t> ChooseNics(const gpu::topology::Machine& machine, std::size_t most);

// Seats for these NICs. Near: on the NIC's NUMA node, with its share of the node's CPUs. Far: the
// same on another node. None: nothing is chosen. A NIC whose node is not known counts as one of
// the first node. Where the machine has one node or none, far is near.
std::vector<Seat> PlanSeats(const gpu::topology::Machine& machine,
                            std::span<const std::size_t> nics, Policy policy);

// Seats of a run without a policy, on a simulated machine: all memory is on the first node, where
// one thread has filled it; the node of each thread, which the scheduler would choose, is drawn
// from `seed`.
void SeatAnywhere(const gpu::topology::Machine& machine, std::uint64_t seed, std::span<Seat> seats);

}  // namespace drydock::apps::affinity

#endif  // DRYDOCK_APPS_AFFINITY_PLAN_H_
