// The messages of a proxy, and of another process's arrivals, to that process (neighbour.h).

#ifndef DRYDOCK_SIM_HOSTS_REMOTE_PORT_H_
#define DRYDOCK_SIM_HOSTS_REMOTE_PORT_H_

#include <cstdint>

#include "drydock/sim/device/operation.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// To one other process. Not thread-safe; outlives its proxies.
class RemotePort {
 public:
  virtual ~RemotePort() = default;

  // Divides our `operation`, whose peer is a proxy of this port, into the packets that go there. It
  // is one packet until then, and nothing of it has been sent.
  virtual void Divide(Operation& operation) const = 0;
  // A packet of our `operation`, whose peer is a proxy of this port. `flags`: PacketFlags; `range`:
  // the part of the payload that it carries. False: there is no room, try again later.
  virtual bool SendPacket(const Operation& operation, std::uint32_t flags, Range range) = 0;
  // The same for data that the initiator of `shadow` reads here.
  virtual bool SendReadData(const Operation& shadow, std::uint32_t flags, Range range) = 0;
  // How `shadow` has ended.
  virtual void SendAnswer(const Operation& shadow) = 0;
  // `shadow` gets no answer.
  virtual void SendLost(const Operation& shadow) = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_REMOTE_PORT_H_
