// All other processes of a network, as a world has them.

#ifndef DRYDOCK_SIM_HOSTS_NETWORK_H_
#define DRYDOCK_SIM_HOSTS_NETWORK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/sim/device/observer.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/host_counters.h"
#include "drydock/sim/hosts/neighbour.h"
#include "drydock/sim/hosts/neighbour_context.h"
#include "drydock/sim/hosts/sockets/far_machines.h"
#include "drydock/sim/machine/node.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world.
class Network final : public NicDirectory, public Observer {
 public:
  // Its arguments outlive it; the world is not run any more when it is gone.
  Network(World& world, Node& node, Directory& directory, FarMachines* far, std::uint64_t fabric,
          bool cross_memory);
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // --- NicDirectory ---
  NicState* Find(const Gid& gid) override;

  // Notes the machines that have come and gone since the last time: costs a look when none has.
  void Refresh();
  // Whether another machine has written something for us. False: our bell rings when one does.
  bool HasIncoming();
  // Turns the messages that have come into events; true when there were some.
  bool Take();
  // Sends all waiting messages.
  void Flush();
  // Checks that the machines that something depends on are still there.
  void CheckPulses();

  // Something is under way to or from other machines.
  bool busy() const;
  // Messages wait for room.
  bool has_waiting() const;
  // Other machines are still to be sent something, or have not read all that they were sent.
  bool owes() const;

  // All but thread_turns.
  const HostCounters& counters() const { return context_.counters; }

  // --- Observer ---
  void OnGone(const Operation& operation) override;

 private:
  Neighbour& At(std::uint8_t slot);
  Neighbour::Taken TakeFrom(std::uint8_t slot, std::size_t most);
  template <typename Visit>
  void ForEach(Visit visit) const;

  NeighbourContext context_;
  std::uint32_t epoch_ = 0;
  std::array<std::unique_ptr<Neighbour>, kMachines> neighbours_;  // index = slot; null: unknown
  std::vector<Neighbour*> known_;                                 // in the order of their coming
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_NETWORK_H_
