// A message on its way into one of our receives, or waiting for one.

#ifndef DRYDOCK_SIM_RDM_INBOUND_MESSAGE_H_
#define DRYDOCK_SIM_RDM_INBOUND_MESSAGE_H_

#include <optional>

#include "drydock/sim/rdm/inbound_stream.h"
#include "drydock/sim/rdm/receive_queue.h"

namespace drydock::sim::rdm {

class InboundMessage final : public InboundStream {
 public:
  // `request` is the first packet of the message.
  InboundMessage(const Services& services, Peer& peer, const Packet& request);

  // Another packet of a medium message: true when it says the same as the first.
  bool Continues(const PacketHeader& header) const;

  // The message goes into `receive`.
  void Match(PostedReceive receive);
  // True when it goes into the receive with this context.
  bool HasContext(fabric::Context context) const { return bound() && receive_.context == context; }

  void OnMemoryRemoved() override {}  // looked at whenever bytes are placed
  void Report() override;

 private:
  const PacketHeader header_;
  PostedReceive receive_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_INBOUND_MESSAGE_H_
