// Our operations whose target is a NIC of another process: the packets that go there, and the
// messages that come back.

#ifndef DRYDOCK_SIM_HOSTS_REMOTE_OPERATIONS_H_
#define DRYDOCK_SIM_HOSTS_REMOTE_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "drydock/sim/device/operation.h"
#include "drydock/sim/hosts/memory_access.h"
#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/neighbour_context.h"
#include "drydock/sim/hosts/outbox.h"
#include "drydock/sim/hosts/payload.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// The initiator's side of a neighbour; shadows.h is the target's. The operations themselves are in
// the world's table. Not thread-safe: belongs to that world.
class RemoteOperations {
 public:
  // Whose target is in the slot. All references outlive it.
  RemoteOperations(NeighbourContext& context, std::uint8_t slot, MemoryAccess& access,
                   Outbox& outbox)
      : context_(context), slot_(slot), access_(access), outbox_(outbox) {}

  // Whether no operation is under way that the other process may know.
  bool empty() const { return count_ == 0; }

  // See RemotePort.
  void Divide(Operation& operation) const;
  bool SendPacket(const Operation& operation, std::uint32_t flags, Range range);
  // `operation`, which the other process may know, is about to leave the operation table.
  void SendEnded(const Operation& operation);

  // Takes a message of type kReadData, kAnswer or kLost. Nothing happens where its operation has
  // ended meanwhile, or is none of these. False: it makes no sense.
  bool Take(const Incoming& incoming);
  // The other process has gone: those that have not ended fall silent.
  void Lose();

 private:
  struct ReadData {
    ReadData(std::uint64_t operation, RemoteOperations& all)
        : payload(operation, all.context_.world.bus(), all.access_, all.room_) {}

    Payload payload;
    std::uint64_t arrivals = 0;  // of its packets
  };

  // Whether it has reached the other process, and has not ended.
  bool IsUnderWay(const Operation& operation) const;
  bool StaysHere(const Operation& operation, std::uint64_t length) const;
  void Gather(const Operation& operation, Range range, std::byte* target) const;
  bool TakeReadData(const Incoming& incoming, Operation& operation);

  NeighbourContext& context_;
  const std::uint8_t slot_;
  MemoryAccess& access_;
  Outbox& outbox_;
  PayloadRoom room_{.most = UINT64_MAX};               // we have asked for these bytes
  std::size_t count_ = 0;                              // operations that it may know
  bool answering_ = false;                             // an answer is being taken
  std::unordered_map<std::uint64_t, ReadData> reads_;  // by OperationId::Pack
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_REMOTE_OPERATIONS_H_
