// The proxies of another machine's NICs (proxy.h), each made when it is asked for the first time.

#ifndef DRYDOCK_SIM_HOSTS_PROXIES_H_
#define DRYDOCK_SIM_HOSTS_PROXIES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/hosts/neighbour_context.h"
#include "drydock/sim/hosts/proxy.h"
#include "drydock/sim/hosts/remote_port.h"

namespace drydock::sim {

// Owns the proxies, and lives as long as the world, which knows them. Not thread-safe: belongs to
// that world.
class Proxies {
 public:
  // Of the machine in the slot. `port`: to its process. Both references outlive it.
  Proxies(NeighbourContext& context, std::uint8_t slot, RemotePort& port)
      : context_(context), slot_(slot), port_(port), proxies_(context.node.nic_count()) {}

  // The proxy of the machine's NIC with that number. REQUIRES: nic < Node::nic_count, which is that
  // of all machines of the network.
  NicState& Of(std::uint8_t nic);

  // A process is behind them, those made later included, in the zone that its slot says.
  void Revive();
  // None is, as at first.
  void Kill();

 private:
  std::uint32_t Zone() const;

  NeighbourContext& context_;
  const std::uint8_t slot_;
  RemotePort& port_;
  std::vector<std::unique_ptr<Proxy>> proxies_;  // index = NIC; null: not asked for yet
  bool alive_ = false;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_PROXIES_H_
