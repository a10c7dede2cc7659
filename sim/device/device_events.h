// What a simulated device does, told to observers (observer.h).

#ifndef DRYDOCK_SIM_DEVICE_DEVICE_EVENTS_H_
#define DRYDOCK_SIM_DEVICE_DEVICE_EVENTS_H_

#include <cstdint>
#include <span>
#include <string>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/memory/memory_table.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/network/wire.h"

namespace drydock::sim {

// Bytes of an operation that reach memory. Valid during the call.
struct BytesPlaced {
  const NicState& nic;         // to whose memory
  OperationId id;              // of the operation
  const Operation* operation;  // null: it has ended, and the rest of its message lands
  // The queue pair at the target: of a write or read the one in whose protection domain the memory
  // is that the initiator names, of a message the one whose receive it takes. Null: it is in
  // another process.
  const QueuePair* target;
  std::uint32_t packet;  // its number
  Range range;           // of the payload
  // As many bytes as there were before blocks were made whole (split.h): no address matters.
  std::uint64_t cut_bytes;
  Range read;         // of the payload: read from its source now, if reads_source
  bool second_copy;   // the packet has been placed before
  bool rest_comes;    // other bytes of the packet are placed later
  bool reads_source;  // false: they have left their source before
  const ReceiveWork* receive = nullptr;  // of a message
  // Where they go: a range of pieces that are laid end to end.
  std::span<const Segment> memory;
  Range in_memory;
};

// A key that a NIC did not accept.
struct KeyRefused {
  const NicState& nic;  // that refused it
  std::uint32_t key;
  bool remote;               // named by a peer
  const std::string& where;  // name of the NIC whose queue pair wanted to touch the memory
  std::uint16_t queue_pair;
  fabric::OperationKind kind;
};

// The fate of a completion's entry.
enum class EntryFate : std::uint8_t {
  kWritten,
  kNoRoom,     // its queue was full: it is lost
  kOverwrote,  // its queue was full: it was written in the place of an unread one
  kWithheld,   // a fault plan keeps it back, for a while or for good
};

// The half of an Observer that a device tells. Functions that are not overridden do nothing.
class DeviceEvents {
 public:
  // ---- Our own work requests ----
  // A queue pair has new work; queue_pair.send.unfetched() tells how much.
  virtual void OnDoorbell(const NicState& /*nic*/, const QueuePair& /*queue_pair*/) {}
  // A work request left its ring; `status` is that of the local checks. One that was malformed, or
  // that the queue pair's state refuses, has an operation without an initiator: no more than its
  // request id is known.
  virtual void OnFetched(const NicState& /*nic*/, const QueuePair& /*queue_pair*/,
                         const Operation& /*operation*/, EfaStatus /*status*/) {}
  // A packet left: one of the operation's own, or (`response`) of the data that it reads.
  virtual void OnSent(const NicState& /*nic*/, const Operation& /*operation*/,
                      std::uint32_t /*packet*/, bool /*response*/, std::uint64_t /*bytes*/,
                      const Flight& /*flight*/) {}

  // ---- Packets of peers ----
  // The oldest receive is used.
  virtual void OnReceiveTaken(const NicState& /*nic*/, const QueuePair& /*queue_pair*/,
                              const ReceiveWork& /*receive*/) {}
  // A message is about to be placed in a receive, `prefix` bytes from its beginning.
  virtual void OnMessageLands(const NicState& /*nic*/, const QueuePair& /*target*/,
                              const Operation& /*operation*/, const ReceiveWork& /*receive*/,
                              std::uint64_t /*prefix*/) {}
  // The next entry that is reported is the immediate of this operation of a peer's.
  virtual void OnImmediateDelivered(const NicState& /*nic*/, const QueuePair& /*target*/,
                                    const Operation& /*operation*/) {}

  // ---- Memory ----
  // Bytes are about to be copied.
  virtual void OnPlacing(const BytesPlaced& /*bytes*/) {}
  // They were.
  virtual void OnPlaced(const BytesPlaced& /*bytes*/) {}
  virtual void OnKeyRefused(const KeyRefused& /*refused*/) {}
  virtual void OnRegistered(const NicState& /*nic*/, ProtectionDomain /*domain*/,
                            const MemoryTable::Keys& /*keys*/, std::uint64_t /*address*/,
                            std::uint64_t /*length_bytes*/, fabric::Access /*access*/) {}
  virtual void OnDeregistered(const NicState& /*nic*/, std::uint32_t /*remote_key*/) {}

  // ---- How operations end ----
  // Its memory is touched no more; operation.status says how it ended.
  virtual void OnEnded(const Operation& /*operation*/) {}
  // Its packets or its answer are lost, and nothing more of it is placed.
  virtual void OnSilent(const Operation& /*operation*/) {}
  // It is about to leave the operation table.
  virtual void OnGone(const Operation& /*operation*/) {}
  // The device knows none of its requests any more: it is about to be destroyed, or is reset.
  virtual void OnQueuePairGone(const QueuePair& /*queue_pair*/) {}
  // An entry for a completion queue, and its fate.
  virtual void OnReported(const NicState& /*nic*/, const CompletionRing& /*ring*/,
                          const DeviceCompletion& /*completion*/, EntryFate /*fate*/) {}
  // The NIC fell silent for good.
  virtual void OnDied(const NicState& /*nic*/) {}

 protected:
  ~DeviceEvents() = default;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_DEVICE_EVENTS_H_
