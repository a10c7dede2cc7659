// The initiator side of the protocol: our program's messages, writes, reads and atomics.

#ifndef DRYDOCK_SIM_RDM_INITIATOR_H_
#define DRYDOCK_SIM_RDM_INITIATOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drydock/fabric/atomics.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/rdm/operation_table.h"
#include "drydock/sim/rdm/outbound_stream.h"
#include "drydock/sim/rdm/peer_table.h"
#include "drydock/sim/rdm/scatter_list.h"
#include "drydock/sim/rdm/services.h"

namespace drydock::sim::rdm {

// A send of either kind.
struct MessageRequest {
  ScatterList source;
  fabric::Peer peer{};
  bool tagged = false;
  std::uint64_t tag = 0;
  std::optional<std::uint32_t> immediate;
  std::optional<fabric::Context> context;
  bool inject = false;
};

// The owners of a packet that only asks for a handshake, and of a handshake: no operations.
inline constexpr OperationId kHandshakeTrigger = UINT64_MAX;
inline constexpr OperationId kHandshakeAnswer = UINT64_MAX - 1;

// Chooses the protocol. Not thread-safe. All that it is given outlives it.
class Initiator {
 public:
  Initiator(const Services& services, OperationTable& operations, PeerTable& peers,
            std::size_t inject_bytes)
      : services_(services), operations_(operations), peers_(peers), inject_bytes_(inject_bytes) {}

  // One request of the contract: as fabric::Endpoint says.
  fabric::ErrorCode Send(const MessageRequest& request);
  fabric::ErrorCode Write(const fabric::WriteRequest& request);
  fabric::ErrorCode Read(const fabric::ReadRequest& request);
  fabric::ErrorCode Atomic(const fabric::AtomicRequest& request);

  // The peer has shaken hands: operations that have waited for it begin.
  void OnHandshake(Peer& peer);
  // The peer will not shake hands: operations that have waited for it fail.
  void OnPeerGone(Peer& peer, const Outcome& outcome);
  // The program closes the endpoint: operations that wait for handshakes never begin, and nobody is
  // told of them.
  void ForgetWaiting();
  // Asks again for handshakes where no packet was free.
  void AskAgain();

 private:
  // kAgain where the peer, or we, have too much to do.
  fabric::ErrorCode Admit(const Peer& peer) const;
  // True when the peer can read our memory.
  bool PeerReads(const Peer& peer) const {
    return (services_.features & peer.features & kFeatureDeviceRead) != 0;
  }
  std::size_t PacketsFor(std::uint64_t length) const {
    return static_cast<std::size_t>((length + services_.payload_bytes - 1) /
                                    services_.payload_bytes);
  }
  // How a message goes that is not read.
  PacketKind PushedKind(const MessageRequest& request) const;
  // Starts a stream of the kind `exposed`, or, where the source cannot be exposed, `other`.
  void StartReadable(Peer& peer, Outbound& outbound, PacketKind exposed, PacketKind other);

  // Takes a request that must wait for the peer's handshake.
  fabric::ErrorCode Wait(Peer& peer, const WaitingAccess& access);
  void AskForHandshake(Peer& peer);
  bool DeviceWrites(const Peer& peer, const fabric::WriteRequest& request) const;
  void StartWrite(Peer& peer, const fabric::WriteRequest& request);
  void StartRead(Peer& peer, const fabric::ReadRequest& request);

  const Services& services_;
  OperationTable& operations_;
  PeerTable& peers_;
  const std::size_t inject_bytes_;
  std::size_t waiting_ = 0;     // accesses that wait for handshakes
  std::vector<Peer*> unasked_;  // peers that could not be asked yet
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_INITIATOR_H_
