#include "drydock/sim/rdm/initiator.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "drydock/sim/rdm/atomic_call.h"
#include "drydock/sim/rdm/device_transfer.h"
#include "drydock/sim/rdm/inbound_read.h"

namespace drydock::sim::rdm {

using fabric::Access;
using fabric::ErrorCode;
using fabric::OperationKind;

ErrorCode Initiator::Admit(const Peer& peer) const {
  if (services_.reporter.full() || peer.backoff.active()) return ErrorCode::kAgain;
  return ErrorCode::kOk;
}

PacketKind Initiator::PushedKind(const MessageRequest& request) const {
  const std::size_t packets = PacketsFor(request.source.length());
  if (packets <= 1) return request.tagged ? PacketKind::kEagerTagged : PacketKind::kEager;
  // All packets of a medium message go at once: it must not be stopped half way.
  const bool medium = request.source.length() <= services_.settings.medium_bytes &&
                      packets <= services_.packets.packets() / 2;
  if (medium) return request.tagged ? PacketKind::kMediumTagged : PacketKind::kMedium;
  return request.tagged ? PacketKind::kLongCtsTagged : PacketKind::kLongCts;
}

ErrorCode Initiator::Send(const MessageRequest& request) {
  Peer* peer = peers_.Find(request.peer);
  if (peer == nullptr) return ErrorCode::kUnknownPeer;
  const std::uint64_t length = request.source.length();
  if (request.inject && length > inject_bytes_) return ErrorCode::kMessageTooLong;
  if (!request.inject && !request.source.Allowed(services_.memory, Access::kSend)) {
    return ErrorCode::kLocalAccess;
  }
  const PacketKind kind = PushedKind(request);
  const std::size_t packets = IsMedium(kind) ? PacketsFor(length) : 1;
  if (Admit(*peer) != ErrorCode::kOk || services_.packets.free() < packets) {
    return ErrorCode::kAgain;
  }
  services_.reporter.Accepted();
  Outbound outbound{.header = {.kind = kind,
                               .message = peer->next_message++,
                               .immediate = request.immediate,
                               .tag = request.tag},
                    .source = request.source,
                    .access = request.inject ? std::nullopt : std::optional<Access>(Access::kSend),
                    .told = request.tagged ? OperationKind::kTaggedSend : OperationKind::kSend,
                    .context = request.context};
  const bool readable =
      PacketsFor(length) > 1 && PeerReads(*peer) && length >= services_.settings.read_message_bytes;
  if (readable) {
    StartReadable(*peer, outbound,
                  request.tagged ? PacketKind::kLongReadTagged : PacketKind::kLongRead, kind);
  } else {
    operations_.Start(std::make_unique<OutboundStream>(services_, *peer, outbound));
  }
  return ErrorCode::kOk;
}

void Initiator::StartReadable(Peer& peer, Outbound& outbound, PacketKind exposed,
                              PacketKind other) {
  Regions regions = OutboundStream::Expose(services_, outbound);
  outbound.header.kind = regions.empty() ? other : exposed;
  operations_.Start(
      std::make_unique<OutboundStream>(services_, peer, outbound, std::move(regions)));
}

// ---- Writes and reads ----

ErrorCode Initiator::Write(const fabric::WriteRequest& request) {
  Peer* peer = peers_.Find(request.peer);
  if (peer == nullptr) return ErrorCode::kUnknownPeer;
  if (request.inject && request.source.length_bytes > inject_bytes_) {
    return ErrorCode::kMessageTooLong;
  }
  if (Admit(*peer) != ErrorCode::kOk) return ErrorCode::kAgain;
  if (request.inject && !(peer->handshake_received && services_.packets.ready())) {
    AskForHandshake(*peer);
    return ErrorCode::kAgain;  // its bytes cannot wait
  }
  if (!peer->handshake_received) return Wait(*peer, request);
  services_.reporter.Accepted();
  StartWrite(*peer, request);
  return ErrorCode::kOk;
}

ErrorCode Initiator::Read(const fabric::ReadRequest& request) {
  Peer* peer = peers_.Find(request.peer);
  if (peer == nullptr) return ErrorCode::kUnknownPeer;
  if (Admit(*peer) != ErrorCode::kOk) return ErrorCode::kAgain;
  if (!peer->handshake_received) return Wait(*peer, request);
  services_.reporter.Accepted();
  StartRead(*peer, request);
  return ErrorCode::kOk;
}

ErrorCode Initiator::Wait(Peer& peer, const WaitingAccess& access) {
  if (waiting_ >= services_.settings.handshake_queue) return ErrorCode::kAgain;
  services_.reporter.Accepted();
  ++waiting_;
  peer.waiting.push_back(access);
  AskForHandshake(peer);
  return ErrorCode::kOk;
}

// Sends an empty write that names no operation: a peer shakes hands when it gets the first packet
// (ofiwg/libfabric prov/efa/src/rdm/efa_rdm_ep_utils.c).
void Initiator::AskForHandshake(Peer& peer) {
  if (peer.handshake_asked || peer.handshake_received) return;
  if (!services_.packets.ready() || !services_.packets.MaySend(peer, PacketUse::kOwn)) {
    if (std::find(unasked_.begin(), unasked_.end(), &peer) == unasked_.end()) {
      unasked_.push_back(&peer);
    }
    return;
  }
  peer.handshake_asked = true;
  const Draft draft = services_.packets.Begin(
      peer, {.kind = PacketKind::kEagerWrite, .remote = fabric::RemoteBuffer{}});
  services_.packets.Post(draft, 0, kHandshakeTrigger);
}

void Initiator::ForgetWaiting() {
  peers_.ForEach([](Peer& peer) { peer.waiting.clear(); });
  waiting_ = 0;
  unasked_.clear();
}

void Initiator::AskAgain() {
  const std::vector<Peer*> peers = std::exchange(unasked_, {});
  for (Peer* peer : peers) AskForHandshake(*peer);
}

void Initiator::OnHandshake(Peer& peer) {
  const std::deque<WaitingAccess> waiting = std::exchange(peer.waiting, {});
  waiting_ -= waiting.size();
  for (const WaitingAccess& access : waiting) {
    if (const auto* write = std::get_if<fabric::WriteRequest>(&access)) {
      StartWrite(peer, *write);
    } else {
      StartRead(peer, std::get<fabric::ReadRequest>(access));
    }
  }
}

void Initiator::OnPeerGone(Peer& peer, const Outcome& outcome) {
  peer.handshake_asked = false;
  const std::deque<WaitingAccess> waiting = std::exchange(peer.waiting, {});
  waiting_ -= waiting.size();
  for (const WaitingAccess& access : waiting) {
    if (const auto* write = std::get_if<fabric::WriteRequest>(&access)) {
      services_.reporter.Ended(OperationKind::kWrite, write->context, outcome);
    } else {
      services_.reporter.Ended(OperationKind::kRead, std::get<fabric::ReadRequest>(access).context,
                               outcome);
    }
  }
}

bool Initiator::DeviceWrites(const Peer& peer, const fabric::WriteRequest& request) const {
  if ((services_.features & peer.features & kFeatureDeviceWrite) == 0) return false;
  if (!request.immediate.has_value()) return true;
  // One piece only, and both ends must agree on whether an immediate takes a receive.
  const bool agreed = ((services_.features ^ peer.features) & kFeatureUnsolicitedWrite) == 0;
  return agreed && request.source.length_bytes <= services_.max_rma_bytes;
}

void Initiator::StartWrite(Peer& peer, const fabric::WriteRequest& request) {
  if (DeviceWrites(peer, request)) {
    operations_.Start(std::make_unique<DeviceTransfer>(services_, peer, request));
    return;
  }
  Outbound outbound{.header = {.kind = PacketKind::kEagerWrite,
                               .immediate = request.immediate,
                               .remote = request.target},
                    .source = ScatterList(request.source),
                    .access = request.inject ? std::nullopt : std::optional<Access>(Access::kWrite),
                    .told = OperationKind::kWrite,
                    .context = request.context};
  const std::uint64_t length = outbound.source.length();
  if (length > services_.payload_bytes) outbound.header.kind = PacketKind::kLongCtsWrite;
  if (length > services_.payload_bytes && PeerReads(peer) &&
      length >= services_.settings.read_write_bytes) {
    StartReadable(peer, outbound, PacketKind::kLongReadWrite, PacketKind::kLongCtsWrite);
  } else {
    operations_.Start(std::make_unique<OutboundStream>(services_, peer, outbound));
  }
}

void Initiator::StartRead(Peer& peer, const fabric::ReadRequest& request) {
  if ((services_.features & peer.features & kFeatureDeviceRead) != 0) {
    operations_.Start(std::make_unique<DeviceTransfer>(services_, peer, request));
  } else {
    operations_.Start(std::make_unique<InboundRead>(services_, peer, request));
  }
}

// ---- Atomics ----

ErrorCode Initiator::Atomic(const fabric::AtomicRequest& request) {
  Peer* peer = peers_.Find(request.peer);
  if (peer == nullptr) return ErrorCode::kUnknownPeer;
  const ErrorCode valid = CheckAtomic(request, services_.memory, services_.payload_bytes);
  if (valid != ErrorCode::kOk) return valid;
  if (Admit(*peer) != ErrorCode::kOk || !services_.packets.ready()) return ErrorCode::kAgain;
  services_.reporter.Accepted();
  operations_.Start(std::make_unique<AtomicCall>(services_, *peer, request, peer->next_message++));
  return ErrorCode::kOk;
}

}  // namespace drydock::sim::rdm
