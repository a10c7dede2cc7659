// Bytes that go to a peer in packets of ours, or that the peer reads: a message, an emulated write,
// or the answer to an emulated read.
//
//   eager      one packet with everything
//   medium     several packets at once, each of which says where it belongs
//   long-CTS   one packet with the beginning; more as the peer clears it to send
//   long-read  one packet that says where the bytes are; the peer reads them and says so, or clears
//              us to send them after all
//   response   packets, as far as the peer's request has cleared them to send

#ifndef DRYDOCK_SIM_RDM_OUTBOUND_STREAM_H_
#define DRYDOCK_SIM_RDM_OUTBOUND_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/rdm/operation.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/scatter_list.h"

namespace drydock::sim::rdm {

// The bytes to send, and the request of the program that is told of the end.
struct Outbound {
  // Kind, message number, tag, immediate and place of the first packet; kReadResponse: operation
  // and offset, which says how much is cleared to send.
  PacketHeader header;
  ScatterList source;
  // Of the source, looked at whenever bytes are taken; absent: the bytes need no registration, and
  // are all taken at once.
  std::optional<fabric::Access> access;
  // Which request of the program this is; absent: it has none.
  std::optional<fabric::OperationKind> told;
  std::optional<fabric::Context> context;
};

// Registrations that the protocol made for itself.
using Regions = std::vector<std::shared_ptr<fabric::MemoryRegion>>;

class OutboundStream final : public ServedOperation {
 public:
  // REQUIRES: for eager kinds, the source fits one packet; for long-read kinds, `exposed` is the
  // result of Expose, and not empty.
  OutboundStream(const Services& services, Peer& peer, const Outbound& outbound,
                 Regions exposed = {});

  // Makes the source readable for the peer. Empty when it must not be, or the device has no key
  // left: another kind must do. REQUIRES: the source is registered memory, and not empty.
  static Regions Expose(const Services& services, const Outbound& outbound);

  Blocked Advance() override;
  bool OnPacket(const Packet& packet) override;
  void OnPacketSent(const Outcome& outcome) override;
  void OnPeerGone(const Outcome& outcome) override;
  void OnMemoryRemoved() override;
  OperationId ToTell() const override { return AllSent() ? kNoOperation : peer_operation_; }
  bool Done() const override;
  void Report() override;

 private:
  PacketKind kind() const { return outbound_.header.kind; }
  std::uint64_t length() const { return outbound_.source.length(); }
  PacketUse use() const {
    return kind() == PacketKind::kReadResponse ? PacketUse::kAnswer : PacketUse::kOwn;
  }
  bool AllSent() const { return begun_ && sent_ == length(); }

  // The header and payload of the next packet.
  PacketHeader NextHeader() const;
  // False: as FillPayload.
  bool SendNext();
  // Copies the next bytes; how many, or empty when the source must not be read any more.
  std::optional<std::size_t> FillPayload(const Draft& draft);
  // Takes a grant that continues where the last one ended.
  bool Grant(const PacketHeader& grant);
  // Gives up, and tells the peer.
  void Abort();
  // Answers a peer that asks for bytes of a stream that we gave up; false when it asks for none.
  bool Decline(const PacketHeader& header);
  void TellPeer(OperationId operation);

  Outbound outbound_;
  Regions exposed_;                            // to the peer, of a long-read kind
  OperationId peer_operation_ = kNoOperation;  // where the bytes go to, once the peer has said so
  bool begun_ = false;                         // the first packet was posted
  bool reading_ = false;                       // the peer reads: nothing is cleared to send
  std::uint64_t sent_ = 0;                     // bytes in packets that were posted
  std::uint64_t granted_ = 0;                  // bytes cleared to send, from the start
  std::size_t packets_in_flight_ = 0;
  bool awaits_answer_ = false;  // ends with an answer of the peer, and not with the last packet
  Outcome outcome_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_OUTBOUND_STREAM_H_
