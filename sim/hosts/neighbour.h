// One other process of the network, as a world has it: whether it is there, its messages, and the
// parts that they concern.
//
//   Neighbour ─┬─ Presence           which incarnation is there
//              ├─ Channel ◄─ Outbox  the messages to it, and from it
//              ├─ MemoryAccess       which payload need not go through messages
//              ├─ Proxies            its NICs, in our world
//              ├─ RemoteOperations   our operations there
//              └─ Shadows            its operations here

#ifndef DRYDOCK_SIM_HOSTS_NEIGHBOUR_H_
#define DRYDOCK_SIM_HOSTS_NEIGHBOUR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/hosts/channel.h"
#include "drydock/sim/hosts/memory_access.h"
#include "drydock/sim/hosts/neighbour_context.h"
#include "drydock/sim/hosts/outbox.h"
#include "drydock/sim/hosts/presence.h"
#include "drydock/sim/hosts/proxies.h"
#include "drydock/sim/hosts/remote_operations.h"
#include "drydock/sim/hosts/remote_port.h"
#include "drydock/sim/hosts/shadows.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world. None of its functions waits.
class Neighbour final : public RemotePort {
 public:
  // The machine in the slot, which is not ours. The context outlives it.
  Neighbour(NeighbourContext& context, std::uint8_t slot);

  // See Proxies::Of.
  NicState& ProxyOf(std::uint8_t nic) { return proxies_.Of(nic); }

  // Looks which incarnation is in the slot now: comes to life, or dies with everything that was
  // under way.
  void Refresh();
  // Takes the messages that have come, `most` of them at most. After one that makes no sense the
  // process counts as dead.
  enum class Taken : std::uint8_t { kNothing, kAll, kSome };  // kSome: there may be more
  Taken Take(std::size_t most);
  // Sends the messages that wait for room, and any news that the other process has not got yet.
  void Flush();
  // Looks whether the other process is still there, when something depends on it.
  void CheckPulse();

  // Something is under way to it or from it.
  bool busy() const { return !remote_.empty() || !shadows_.empty() || has_waiting(); }
  bool has_waiting() const { return outbox_.has_waiting(); }
  // It is still to be sent something, or has not read all that it was sent.
  bool owes() const;

  // --- RemotePort ---
  void Divide(Operation& operation) const override { remote_.Divide(operation); }
  bool SendPacket(const Operation& operation, std::uint32_t flags, Range range) override {
    return remote_.SendPacket(operation, flags, range);
  }
  bool SendReadData(const Operation& shadow, std::uint32_t flags, Range range) override {
    return shadows_.SendReadData(shadow, flags, range);
  }
  void SendAnswer(const Operation& shadow) override { shadows_.SendAnswer(shadow); }
  void SendLost(const Operation& shadow) override { shadows_.SendLost(shadow); }

  // Our `operation`, which it may know, is about to leave the operation table.
  void SendEnded(const Operation& operation) { remote_.SendEnded(operation); }
  // So is `shadow`.
  void Forget(const Operation& shadow) { shadows_.Forget(shadow); }

 private:
  void Appear();
  void Vanish();
  void Distrust();
  // Gives up a channel that is not sound, or whose messages nobody reads; true: it did.
  bool Judge();
  // False: the message makes no sense.
  bool Handle(std::span<const std::byte> bytes);

  NeighbourContext& context_;
  Presence presence_;
  std::unique_ptr<Channel> channel_;  // null: no process is there
  Outbox outbox_;
  MemoryAccess access_;
  Proxies proxies_;
  RemoteOperations remote_;
  Shadows shadows_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_NEIGHBOUR_H_
