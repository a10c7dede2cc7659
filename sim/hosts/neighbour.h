// One other process of the network, as a world has it: proxies for its NICs, shadows of its
// operations, and the channel to it.

#ifndef DRYDOCK_SIM_HOSTS_NEIGHBOUR_H_
#define DRYDOCK_SIM_HOSTS_NEIGHBOUR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "drydock/sim/hosts/channel.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/payload.h"
#include "drydock/sim/hosts/proxy.h"
#include "drydock/sim/hosts/remote_port.h"
#include "drydock/sim/hosts/sockets/far_machines.h"
#include "drydock/sim/machine/node.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

class Neighbour;

// The parts that all neighbours of a host share. The objects that it refers to outlive them.
struct NeighbourContext {
  World& world;
  Node& node;  // ours
  Directory& directory;
  FarMachines* const far;  // null: the network is of this computer
  const std::uint64_t fabric;
  const bool cross_memory;
  std::vector<Neighbour*> owners;  // of proxies, by NicState::index(); null: a NIC of ours
  // Counted for HostCounters.
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_taken = 0;
  std::uint64_t messages_refused = 0;
  std::uint64_t bytes_in_messages = 0;

  Neighbour* OwnerOf(const NicState& nic) const {
    return nic.index() < owners.size() ? owners[nic.index()] : nullptr;
  }
};

// Not thread-safe: belongs to its world.
class Neighbour final : public RemotePort {
 public:
  Neighbour(NeighbourContext& context, std::uint8_t slot);

  NicState& ProxyOf(std::uint8_t nic);

  // Looks which incarnation is in the slot now: comes to life, or dies with everything that was
  // under way.
  void Refresh();
  // Takes the messages that have come; true when there were some.
  bool Take();
  // Sends the messages that wait for room, and any news that the other process has not got yet.
  void Flush();
  // Looks whether the other process is still there, when something depends on it.
  void CheckPulse();

  bool present() const { return incarnation_ != 0; }
  // Something is under way to it or from it.
  bool busy() const { return abroad_ > 0 || !shadows_.empty() || !waiting_.empty(); }
  bool has_waiting() const { return !waiting_.empty(); }
  // It is still to be sent something, or has not read all that it was sent.
  bool owes() const;
  std::uint64_t bytes_across() const { return across_.bytes_across; }

  // --- RemotePort ---
  void Divide(Operation& operation) const override;
  bool SendPacket(const Operation& operation, std::uint32_t packet, Range range) override;
  bool SendReadData(const Operation& shadow, std::uint32_t packet, Range range) override;
  void SendAnswer(const Operation& shadow) override;
  void SendLost(const Operation& shadow) override;

  // Our `operation`, which it may know, is about to leave the operation table.
  void SendEnded(const Operation& operation);
  // So is `shadow`.
  void Forget(const Operation& shadow);

 private:
  // An operation of the other process.
  struct Shadow {
    Payload payload;
    OperationId id;
    bool over = false;           // has ended here; packets of it may still come
    std::uint64_t arrivals = 0;  // of its packets
  };

  void Appear(std::uint32_t incarnation);
  // Whether we can read its memory; it learns the answer.
  void Probe();
  void Vanish();
  // Whether it is reached by sockets.
  bool is_far() const { return context_.far != nullptr && context_.far->Has(slot_); }
  std::uint32_t Living() const;
  // Gives up a channel that is not sound; true: it was not.
  bool Judge();
  void Distrust();

  // --- Sending ---
  bool MayReadUs(std::uint64_t length) const;
  bool StaysHere(const Operation& operation, std::uint64_t length) const;
  void Gather(const Operation& operation, Range range, std::byte* target);
  void Put(const Message& message);
  // `fill` writes the payload of message.payload_bytes.
  template <typename Fill>
  void Put(const Message& message, Fill fill);

  // --- Taking: false when the message makes no sense ---
  bool Handle(std::span<const std::byte> bytes);
  bool TakePacket(const Incoming& incoming);
  bool IsSound(const Message& message) const;
  std::uint64_t MostOfRead(const Message& message) const;
  Shadow& MakeShadow(const Message& message);
  bool TakePayload(const Incoming& incoming, Range range, Payload& payload,
                   std::span<const Segment> sources);
  Operation* OursOf(const Message& message);
  bool TakeReadData(const Incoming& incoming, Operation& operation);
  void TakeAnswer(const Message& message, Operation& operation);
  void TakeEnded(const Message& message);

  NeighbourContext& context_;
  const std::uint8_t slot_;
  std::vector<std::unique_ptr<Proxy>> proxies_;  // index = NIC; null: not asked for yet
  std::uint32_t incarnation_ = 0;                // 0: no process is there
  std::uint32_t distrusted_ = 0;                 // incarnation that wrote nonsense
  AcrossState across_;
  std::unique_ptr<Channel> channel_;            // null: no process is there
  std::deque<std::vector<std::byte>> waiting_;  // messages that found no room
  std::size_t waiting_bytes_ = 0;
  bool unannounced_ = false;                           // something was written since the last Flush
  bool answering_ = false;                             // an answer is being taken
  std::size_t abroad_ = 0;                             // operations of ours that it may know
  std::unordered_map<std::uint64_t, Shadow> shadows_;  // by the id there
  std::unordered_map<std::uint64_t, Payload> reads_;   // of ours, by the id here
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_NEIGHBOUR_H_
