// What passes between a world and NICs of other processes: what a proxy does with an event, and how
// messages of another process become events here.

#ifndef SIM_ABROAD_H_
#define SIM_ABROAD_H_

#include <cstdint>

#include "sim/efa_status.h"
#include "sim/event_queue.h"
#include "sim/operation.h"
#include "sim/remote_port.h"

namespace sim {

class Nic;
class World;

// Functions over a world and its NICs, which this is a part of.
class Abroad {
 public:
  Abroad() = delete;

  // --- Out: called by NICs ---
  // An event of a proxy.
  static void OnEvent(Nic& proxy, const Event& event);
  // A shadow of the proxy is lost: its initiator hears no answer.
  static void Lost(Nic& proxy, Operation& shadow);
  // An operation of ours that has been abroad is about to leave the table.
  static void Ended(Operation& operation);

  // --- In: called by ports. What other processes say is not trusted. ---
  // Packets that carry the payload of the operation; at least 1.
  static std::uint32_t PacketsOf(const Nic& initiator, const Operation& operation);
  // What this packet carries. REQUIRES: packet < PacketsOf.
  static Range RangeOf(const Nic& initiator, const Operation& operation, std::uint32_t packet);
  // The flags that a message says of a packet.
  static std::uint32_t Number(std::uint32_t packet);
  static bool IsSecondCopy(std::uint32_t packet);
  static bool CopyFollows(std::uint32_t packet);
  // A packet of `shadow` arrives now at its peer, a NIC of ours.
  static void Arrive(Operation& shadow, std::uint32_t packet, std::uint64_t bytes);
  // Read data for our `operation` arrives now.
  static void ArriveReadData(Operation& operation, std::uint32_t packet, std::uint64_t bytes);
  // The target has answered our `operation`; any status.
  static void Answer(Operation& operation, std::uint8_t status);
  // The target says that nobody answers our `operation`; or its process is gone.
  static void Silent(Operation& operation);
  // Takes the shadow out of the table, without a word to anybody.
  static void End(World& world, Operation& shadow);

 private:
  static void Enter(Nic& nic, EventKind kind, const Operation& operation, std::uint32_t packet,
                    std::uint64_t bytes);
  static void Forward(Nic& proxy, Operation& operation, const Event& event);
  static void ForwardReadData(Nic& proxy, Operation& shadow, const Event& event);
};

}  // namespace sim

#endif  // SIM_ABROAD_H_
