// Our read from a peer's memory, done by the peer: its NIC or ours cannot.

#ifndef DRYDOCK_SIM_RDM_INBOUND_READ_H_
#define DRYDOCK_SIM_RDM_INBOUND_READ_H_

#include "drydock/sim/rdm/inbound_stream.h"

namespace drydock::sim::rdm {

class InboundRead final : public InboundStream {
 public:
  InboundRead(const Services& services, Peer& peer, const fabric::ReadRequest& request);

  Blocked Advance() override;
  bool OnPacket(const Packet& packet) override;
  void OnPeerGone(const Outcome& outcome) override;
  bool Done() const override;
  void Report() override;

 private:
  const fabric::ReadRequest request_;
  bool asked_ = false;
  bool answered_ = false;  // also an empty read has an answer: the peer may refuse it
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_INBOUND_READ_H_
