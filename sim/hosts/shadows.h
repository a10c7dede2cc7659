// The operations of another process at our NICs, as our world has them: shadows (proxy.h).
//
// A shadow begins with its first packet, and is forgotten when it has ended here. Of a write that
// failed here more packets may come: it is known until its initiator says that it has ended.

#ifndef DRYDOCK_SIM_HOSTS_SHADOWS_H_
#define DRYDOCK_SIM_HOSTS_SHADOWS_H_

#include <cstdint>
#include <unordered_map>

#include "drydock/sim/device/operation.h"
#include "drydock/sim/hosts/memory_access.h"
#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/neighbour_context.h"
#include "drydock/sim/hosts/outbox.h"
#include "drydock/sim/hosts/payload.h"
#include "drydock/sim/hosts/proxies.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// The target's side of a neighbour; remote_operations.h is the initiator's. Owns the payload of the
// shadows; they themselves are in the world's table. Not thread-safe: belongs to that world.
class Shadows {
 public:
  // Of the process behind `proxies`. All references outlive it.
  Shadows(NeighbourContext& context, MemoryAccess& access, Outbox& outbox, Proxies& proxies)
      : context_(context), access_(access), outbox_(outbox), proxies_(proxies) {}

  // Whether we know no operation of the other process.
  bool empty() const { return shadows_.empty(); }
  // Whether the answer to one of them is on its way to its proxy, and SendAnswer is still to come.
  bool HasAnswers() const;

  // --- Messages that have come ---
  // A packet. One that is late, of an operation that is over, does nothing. False: it makes no
  // sense, or there are more operations, or packets of one, than a device sends, or more bytes wait
  // here than may.
  bool TakePacket(const Incoming& incoming);
  // The initiator forgets the operation, and so do we.
  void TakeEnded(const Message& message);
  // The other process has gone: all of them end.
  void EndAll();

  // --- Messages to send: see RemotePort ---
  bool SendReadData(const Operation& shadow, std::uint32_t flags, Range range);
  void SendAnswer(const Operation& shadow);
  void SendLost(const Operation& shadow);
  // `shadow` is about to leave the operation table.
  void Forget(const Operation& shadow);

 private:
  struct Shadow {
    Shadow(std::uint64_t foreign, Shadows& all, OperationId id_here)
        : payload(foreign, all.context_.world.bus(), all.access_, all.room_), id(id_here) {}

    Payload payload;
    const OperationId id;
    bool over = false;           // has ended here; packets of it may still come
    std::uint64_t arrivals = 0;  // of its packets
  };

  bool IsSound(const Message& message) const;
  std::uint64_t MostOfRead(const Message& message) const;
  Shadow& Make(const Message& message);
  Operation* Find(const Shadow& shadow) const;

  NeighbourContext& context_;
  MemoryAccess& access_;
  Outbox& outbox_;
  Proxies& proxies_;
  PayloadRoom room_{.most = 256 << 20};  // some 30,000 messages of the MTU without a receive
  std::unordered_map<std::uint64_t, Shadow> shadows_;  // by the id there
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SHADOWS_H_
