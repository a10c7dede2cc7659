// A NIC as the network knows it: where packets leave and arrive.

#ifndef DRYDOCK_SIM_NETWORK_PORT_H_
#define DRYDOCK_SIM_NETWORK_PORT_H_

#include <cstdint>

#include "drydock/sim/network/ingress.h"
#include "drydock/sim/network/link.h"
#include "drydock/sim/network/packet_draws.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// The profile outlives it.
struct Port {
  Port(std::uint32_t index_, std::uint32_t machine_, const Profile& profile_)
      : index(index_), machine(machine_), profile(profile_), link(profile_), ingress(profile_) {}

  const std::uint32_t index;    // of the NIC in the world
  const std::uint32_t machine;  // index of its machine in the network
  const Profile& profile;
  std::uint32_t rail = 0;                       // RailOf the NIC
  bool alive = true;                            // a dead NIC sends and receives nothing
  const OneIn twice{profile.duplicate_one_in};  // whether it places a packet twice
  Link link;
  Ingress ingress;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_NETWORK_PORT_H_
