// One of our atomics, until the peer has executed it.

#ifndef DRYDOCK_SIM_RDM_ATOMIC_CALL_H_
#define DRYDOCK_SIM_RDM_ATOMIC_CALL_H_

#include "drydock/fabric/atomics.h"
#include "drydock/sim/rdm/operation.h"

namespace drydock::sim::rdm {

// The operands are taken when it begins, the result is placed when it ends.
class AtomicCall final : public ServedOperation {
 public:
  // `message` is its number among our messages and atomics to the peer. REQUIRES: the request is
  // valid, its operands fit one packet, and a packet is free.
  AtomicCall(const Services& services, Peer& peer, const fabric::AtomicRequest& request,
             std::uint32_t message);

  Blocked Advance() override;
  bool OnPacket(const Packet& packet) override;
  void OnPacketSent(const Outcome& outcome) override;
  void OnPeerGone(const Outcome& outcome) override;
  bool Done() const override;
  void Report() override;

 private:
  std::uint64_t length() const {
    return request_.result.has_value() ? request_.result->length_bytes
                                       : request_.operand.length_bytes;
  }
  std::size_t FillOperands(const Draft& draft) const;

  const fabric::AtomicRequest request_;
  const std::uint32_t message_;
  bool begun_ = false;
  bool sent_ = false;
  bool answered_ = false;
  Outcome outcome_;
};

// The answer to a request: its post would be refused with this; kOk: it is valid. `most_bytes` is
// the room for operands.
fabric::ErrorCode CheckAtomic(const fabric::AtomicRequest& request, const MemoryRegistry& memory,
                              std::size_t most_bytes);

// Most bytes of an operand where all operands share `room` bytes; 0: not supported.
std::size_t MaxAtomicOperand(fabric::AtomicOperation operation, fabric::AtomicType type,
                             bool fetching, std::size_t room);

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_ATOMIC_CALL_H_
