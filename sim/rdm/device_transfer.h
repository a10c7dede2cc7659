// A write or read that the device does, in pieces of the size that it takes at once.

#ifndef DRYDOCK_SIM_RDM_DEVICE_TRANSFER_H_
#define DRYDOCK_SIM_RDM_DEVICE_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "drydock/sim/rdm/operation.h"

namespace drydock::sim::rdm {

// Ends after its last piece, with the first failure of any. No piece is posted after a failure.
class DeviceTransfer final : public ServedOperation {
 public:
  // REQUIRES: with an immediate, one piece is enough. An injected write needs a free packet, whose
  // memory it keeps until the end.
  DeviceTransfer(const Services& services, Peer& peer, const fabric::WriteRequest& request);
  DeviceTransfer(const Services& services, Peer& peer, const fabric::ReadRequest& request);

  Blocked Advance() override;
  bool OnPacket(const Packet&) override { return false; }
  void OnPacketSent(const Outcome&) override {}
  void OnTransferred(const Outcome& outcome) override;
  bool TouchesMemory() const override { return in_flight_ > 0; }
  bool Done() const override;
  void Report() override;

 private:
  fabric::ErrorCode PostPiece(std::uint64_t length);

  const fabric::OperationKind kind_;
  fabric::LocalBuffer local_;
  const fabric::RemoteBuffer remote_;
  const std::optional<std::uint32_t> immediate_;
  const std::optional<fabric::Context> context_;
  std::optional<std::uint32_t> packet_;  // of an injected write
  bool begun_ = false;
  std::uint64_t posted_ = 0;
  std::size_t in_flight_ = 0;
  Outcome outcome_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_DEVICE_TRANSFER_H_
