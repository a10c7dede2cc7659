// A NIC of another process, as our world has it: packets that our NICs send to it go to that
// process.
//
//   our NIC ──wire──► proxy ──► RemotePort ══ shared memory ══► the other process: shadow ──► NIC
//                       ▲                                                              │
//                       └────────────────────── answers, read data ◄───────────────────┘
//
// A shadow is an operation of the other process in our world: its initiator is a proxy. A NIC
// treats it as any other; the events for its initiator reach the proxy.

#ifndef DRYDOCK_SIM_HOSTS_PROXY_H_
#define DRYDOCK_SIM_HOSTS_PROXY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/hosts/remote_port.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world, and lives as long. Its constructor's arguments outlive it.
class Proxy final : public Actor {
 public:
  // `index` counts the NICs of the world, `machine` the machines of the network. It is dead until
  // Revive.
  Proxy(Surroundings& around, RemotePort& port, std::uint32_t index, std::uint32_t machine,
        std::string name, const Gid& gid, const Profile& profile);

  NicState& state() { return state_; }

  // The process behind it has gone: it sends and receives nothing.
  void Kill() { state_.port.alive = false; }
  void Revive() { state_.port.alive = true; }

  // --- Actor ---
  std::uint32_t index() const override { return state_.index(); }
  void OnEvent(const Event& event) override;

 private:
  void Forward(Operation& operation, const Event& event);
  void ForwardDivided(const Operation& operation, Event whole);
  void ForwardReadData(Operation& shadow, const Event& event);
  void Lose(Operation& shadow);
  void TryAgain(const Event& event);

  Surroundings& around_;
  RemotePort& port_;
  NicState state_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_PROXY_H_
