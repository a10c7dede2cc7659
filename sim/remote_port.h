// A NIC of another process, as a world has it: a proxy, and the port behind it.
//
//   our NIC ──wire──► proxy ──► RemotePort ══ shared memory ══► the other process: shadow ──► NIC
//                       ▲                                                              │
//                       └────────────────────── answers, read data ◄───────────────────┘
//
// A shadow is an operation of the other process in our world: its initiator is a proxy. What a NIC
// does with it, it does as with any other; the events for its initiator reach the proxy.

#ifndef SIM_REMOTE_PORT_H_
#define SIM_REMOTE_PORT_H_

#include <cstdint>
#include <vector>

#include "sim/efa_address.h"
#include "sim/operation.h"

namespace sim {

class Nic;

// To one other process. Implemented by sim/hosts; outlives the world's proxies.
class RemotePort {
 public:
  virtual ~RemotePort() = default;

  // A packet of our `operation`, whose peer is a proxy of this port: `packet` is its number and
  // flags, `range` what it carries of the payload. False: there is no room, try again later.
  virtual bool SendPacket(const Operation& operation, std::uint32_t packet, Range range) = 0;
  // The same for data that the initiator of `shadow` reads here.
  virtual bool SendReadData(const Operation& shadow, std::uint32_t packet, Range range) = 0;
  // How `shadow` has ended.
  virtual void SendAnswer(const Operation& shadow) = 0;
  // `shadow` gets no answer.
  virtual void SendLost(const Operation& shadow) = 0;
  // Our `operation` has ended here, and the other process may not know it.
  virtual void SendEnded(const Operation& operation) = 0;
  // `shadow` is about to leave the operation table.
  virtual void Forget(const Operation& shadow) = 0;
};

// Who knows NICs of other processes.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  // The proxy of the NIC with this GID, made when there is none (World::AddProxy); null when no
  // process can have it.
  virtual Nic* Find(const Gid& gid) = 0;
};

// Where a NIC stands in a network of several worlds.
struct NicOrigin {
  Gid gid{};                     // zeros: drawn
  RemotePort* remote = nullptr;  // of a proxy
};

// The same for a machine.
struct NodeIdentity {
  std::uint32_t machine = 0;  // decides what its NICs draw
  std::vector<Gid> gids;      // of each NIC; empty: drawn
};

}  // namespace sim

#endif  // SIM_REMOTE_PORT_H_
