// A peer's write into our memory, done by us: its NIC or ours cannot.

#ifndef DRYDOCK_SIM_RDM_INBOUND_WRITE_H_
#define DRYDOCK_SIM_RDM_INBOUND_WRITE_H_

#include "drydock/sim/rdm/inbound_stream.h"

namespace drydock::sim::rdm {

class InboundWrite final : public InboundStream {
 public:
  // `target` is the memory that the request names, with the right for it.
  InboundWrite(const Services& services, Peer& peer, const Packet& request,
               const fabric::LocalBuffer& target);

  void Report() override;

 private:
  const PacketHeader header_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_INBOUND_WRITE_H_
