// How the bytes of a packet reach memory: on the harsher side in two steps, the end first, so that
// a program that polls the last byte of a buffer is wrong here as it is on EFA.
//
//   write      initiator's memory ──► target's memory       placed by the target's NIC
//   message    initiator's memory ──► memory of a receive   placed by the target's NIC
//   read       target's memory ──► initiator's memory       placed by the initiator's NIC
//
// All bytes go through one function, Put, whatever the pieces, and for memory of hosts and devices.
// It copies them (Copy), or, where they are another process's, has them fetched (PayloadElsewhere).
// Bits that a fault plan corrupts are changed where they were placed, by Flip and the same Copy.

#ifndef DRYDOCK_SIM_DEVICE_PLACEMENT_H_
#define DRYDOCK_SIM_DEVICE_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "drydock/coro/time.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/landing.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// Told when everything is where it belongs.
class PlacementListener {
 public:
  virtual ~PlacementListener() = default;
  // Every byte of a write, or of the data of a read.
  virtual void OnAllPlaced(Operation& operation) = 0;
  // A message, in the receive that it has taken; landing.completion says whether it could be
  // placed. `operation`: null when it has ended meanwhile.
  virtual void OnLanded(QueuePair& target, const Landing& landing, Operation* operation) = 0;
};

// Of one NIC: places the bytes that reach the memory of its machine. An operation that may not
// touch the memory that it names is ended here. Not thread-safe. Its constructor's arguments
// outlive it.
class Placement {
 public:
  Placement(NicState& nic, Surroundings& around, PlacementListener& listener)
      : nic_(nic), around_(around), listener_(listener) {}

  // A packet of a write for us, or of the data of a read of ours. `flags`: PacketFlags.
  void Place(Operation& operation, std::uint32_t flags);
  // Its second step is due (EventKind::kPlaceRest): rights may have ended since the first one.
  void PlaceRest(Operation& operation, std::uint32_t flags);

  // Of bytes of a packet as they were cut (split.h), those that land. `flags`: PacketFlags.
  Range PayloadOf(const Operation& operation, std::uint32_t flags, Range cut) const;

  // A message for us. REQUIRES: the receive was consumed, and is valid.
  void PlaceMessage(Operation& operation, QueuePair& target, Landing landing);
  // The last step of one is due (EventKind::kLand), with the number of its landing.
  void Land(std::uint64_t number);
  // The operation whose message that is; it may have ended.
  OperationId OperationOf(std::uint64_t number) const { return landings_.at(number).operation; }
  // The first `length` bytes of a message reach the memory of a receive that it does not take,
  // `prefix` bytes from its beginning.
  void PlaceBeginning(Operation& operation, const QueuePair& target, const ReceiveWork& receive,
                      std::uint64_t prefix, std::uint64_t length);

 private:
  // Bytes of memory, from an offset on in pieces that are laid end to end; `nic` reaches them.
  struct Memory {
    std::span<const Segment> pieces;
    std::uint64_t offset;
    const NicState& nic;
  };

  // Moves the bytes, and tells the observers before and after. False: they cannot be had any more.
  bool Put(const BytesPlaced& bytes, const Memory& from);
  void Copy(const Memory& from, const Memory& to, std::uint64_t length);

  // --- Writes, and the data of reads ---
  EfaStatus Check(const Operation& operation, Range range) const;
  // Whether these bytes may be placed; if not, the operation ends.
  bool Permits(Operation& operation, Range range);
  // False when the operation has ended, or is silent.
  bool PutPiece(Operation& operation, std::uint32_t flags, Range cut, bool rest_comes);
  void PacketPlaced(Operation& operation);
  void PlaceWhole(Operation& operation, std::uint32_t flags, Range range);
  void PlaceBySteps(Operation& operation, std::uint32_t flags, Range range,
                    const PlacementVerdict& verdict);
  void Flip(const Operation& operation, const FlippedBits& bits);

  // --- Messages ---
  void PutMessage(const Landing& landing, Operation* operation, const QueuePair& target, Range cut,
                  bool rest_comes);
  std::uint64_t Stage(const Operation& operation, QueuePair& target, std::uint64_t length,
                      Landing landing);
  void LandBySteps(const Operation& operation, QueuePair& target, Landing landing,
                   const PlacementVerdict& verdict);
  void LandPiece(std::uint64_t number, Range range);

  NicState& nic_;
  Surroundings& around_;
  PlacementListener& listener_;
  std::map<std::uint64_t, Landing> landings_;  // by number
  std::uint64_t next_landing_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_PLACEMENT_H_
