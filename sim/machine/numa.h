// On which NUMA node the memory and the threads of a simulated machine are, and what it costs that
// this is not the NIC's node.
//
//   NUMA node 0                                  NUMA node 1
//   memory ══ processor ═══ numa_link ═══ processor ══ memory
//                 ║ upstream port
//              switch ── NIC
//
//   world.numa().PlaceMemory(machine, buffer, 1);        // NICs of node 0 reach it by the link
//   world.numa().PlaceThread(machine, /*nic=*/0, 1);     // the thread that drives NIC 0 is there
//
// A laptop has one node, so a program says where its memory and its threads would be. Memory and
// threads that it does not place are as near as can be and meet no limit: a program that places
// nothing runs as if this were not here, event for event.

#ifndef DRYDOCK_SIM_MACHINE_NUMA_H_
#define DRYDOCK_SIM_MACHINE_NUMA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/time.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

class Node;

// Not thread-safe: belongs to its world. On the machine's clock placing could have no effect, and
// is refused: kFailedPrecondition.
class Numa final : public HostPath {
 public:
  // The surroundings outlive it, and have it as their host path as soon as something was placed.
  explicit Numa(Surroundings& around) : around_(around) {}

  // As a node: not placed.
  static constexpr int kAnywhere = -1;

  // From now on `memory` is on this NUMA node of `machine`; earlier placements of ranges that
  // overlap it are forgotten. kAnywhere only forgets: for memory that is given back, because its
  // addresses may come again. The bytes themselves are not looked at. kInvalidArgument: the machine
  // has no such node.
  absl::Status PlaceMemory(Node& machine, std::span<const std::byte> memory, int numa_node);

  // From now on the thread that posts to NIC `nic` of `machine`, and reads its queues, runs on this
  // NUMA node. kInvalidArgument: the machine has no such node or NIC.
  absl::Status PlaceThread(Node& machine, std::size_t nic, int numa_node);

  // --- For the devices and their driver ---
  // How much later the bytes are there because of where both memories are: the upstream ports of
  // the switches, the links between nodes, and the way itself. Of messages, only the sender's
  // memory counts. Any addresses are fine.
  coro::Duration DelayOf(const Operation& operation, bool response, Range range,
                         coro::Time sent) override;

  // The extra cost of a thread on another node than its NIC, for a doorbell and for each look into
  // a queue that finds completions.
  coro::Duration FarThreadCost(const NicState& nic) const {
    return nics_.empty() ? coro::Duration{} : Search(nic);
  }

 private:
  enum Direction : std::uint8_t { kFromMemory, kToMemory };

  // One direction of something that carries so much and no more.
  class Link {
   public:
    // `bytes` want to have passed at `at`: how much later they have. Of no limit (0): not at all.
    coro::Duration Pass(std::uint64_t bytes, double gbytes_per_s, coro::Time at);

   private:
    std::uint64_t free_ps_ = 0;  // picoseconds since the start of time
  };

  struct Machine {
    std::vector<std::array<Link, 2>> upstream;    // by PCIe switch and Direction
    std::map<std::pair<int, int>, Link> between;  // by the nodes that bytes leave and reach
  };

  // Where a NIC is, and the thread that drives it. Known of the NICs of machines that something was
  // placed on.
  struct Place {
    bool known = false;
    int numa_node = kAnywhere;
    int pcie_switch = -1;
    int thread = kAnywhere;
  };

  struct Placed {
    std::uint64_t end = 0;
    int numa_node = kAnywhere;
  };

  // Between a NIC and memory.
  struct Crossing {
    coro::Duration queued{};  // behind other bytes
    coro::Duration way{};     // from one node to the other
  };

  absl::Status CheckNode(const Node& machine, int numa_node) const;
  void Enter(Node& machine);
  const Place* Find(const NicState& nic) const;
  coro::Duration Search(const NicState& nic) const;
  int NodeOf(std::uint64_t address) const;
  Crossing Cross(const NicState& nic, std::uint64_t address, Direction direction,
                 std::uint64_t bytes, coro::Time at);

  Surroundings& around_;
  std::map<std::uint64_t, Placed> memory_;  // by first address; ranges do not overlap
  std::vector<Place> nics_;                 // index = NicState::index()
  std::vector<Machine> machines_;           // index = NicState::machine()
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MACHINE_NUMA_H_
