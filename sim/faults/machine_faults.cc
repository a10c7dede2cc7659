// Machines that fall silent, restart or pause; links that are blocked or slow; packets that are
// lost; peers that are not known yet.

#include <algorithm>

#include "sim/faults/fault_model.h"
#include "sim/world.h"

namespace sim {

using fabric::faults::Direction;
using fabric::faults::Fault;

// ---- Peers ----

void FaultModel::Inserted(const Nic& nic, ProtectionDomain domain, const EfaAddress& address) {
  const PeerKey key{nic.index(), address.gid, address.queue_pair, address.qkey};
  if (peers_.emplace(key, peer_counts_[nic.index()]).second) ++peer_counts_[nic.index()];
  if (!Concerns(Point::kInsertPeer)) return;
  const Firing firing = Decide(Point::kInsertPeer, ViewOf(nic));
  const Nic* peer = world_.FindNic(address.gid);
  if (!firing || peer == nullptr) return;
  strangers_[{nic.index(), domain, peer->index()}] = coro::After(world_.Now(), firing.Delay());
}

bool FaultModel::IsStranger(const Nic& nic, ProtectionDomain domain, const Nic& peer) const {
  const auto found = strangers_.find({nic.index(), domain, peer.index()});
  return found != strangers_.end() && world_.Now() < found->second;
}

// ---- Machines ----

coro::Time FaultModel::PausedUntil(const Nic& nic) const {
  const auto found = paused_.find(nic.machine());
  return found == paused_.end() ? coro::Time() : found->second;
}

// A device tries again until the link is back, unless its patience ends first.
void FaultModel::WaitForLink(const Firing& flap, coro::Duration now, coro::Duration patience,
                             Flight& late) {
  const fabric::faults::Parameters& turn = flap.parameters();
  const auto& window = flap.rule->when.window;
  const coro::Duration since = now - (window.has_value() ? window->from : coro::Duration::zero());
  const coro::Duration at = since % (turn.up + turn.down);
  if (at < turn.up) return;
  const coro::Duration left = turn.up + turn.down - at;
  late.arrives = left < patience;
  late.delay = left;
  late.retransmissions = 1;
}

bool FaultModel::LeavesMachine(Nic& from, const Operation& operation, PacketKind kind,
                               Flight& late) {
  late.arrives = true;
  if (!Concerns(Point::kMachine)) return true;
  EventView view = kind == PacketKind::kRequest ? ViewOf(operation) : TargetViewOf(from, operation);
  view.operation.reset();
  const Firing firing = Decide(Point::kMachine, view);
  if (!firing) return true;
  Nic* nic = &from;
  switch (firing.fault()) {
    case Fault::kLinkBlocked:
      late.arrives = false;
      break;
    case Fault::kLinkFlap:
      WaitForLink(firing, world_.Elapsed(), operation.initiator->profile().unresponsive_timeout,
                  late);
      break;
    case Fault::kNicDies:  // when the device is done with what it does just now
      late.arrives = false;
      After({}, [nic] {
        if (nic->alive()) nic->Kill();
      });
      break;
    case Fault::kNicResets:
      After({}, [nic] { nic->Reset(); });
      break;
    default:  // node_pauses
      late.delay = firing.Delay();
      paused_[from.machine()] = std::max(PausedUntil(from), coro::After(world_.Now(), late.delay));
  }
  return late.arrives;
}

// ---- Packets ----

void FaultModel::Travel(const Nic& from, Operation& operation, PacketKind kind, Flight& flight) {
  if (!Concerns(Point::kPacket, operation.kind)) return;
  const bool request = kind == PacketKind::kRequest;
  const Firing firing =
      Decide(Point::kPacket, request ? ViewOf(operation) : TargetViewOf(from, operation));
  if (!firing) return;
  if (firing.fault() == Fault::kImmediateFlood) {
    FateOf(operation).floods += static_cast<std::uint32_t>(firing.parameters().copies);
    return;
  }
  if (firing.fault() == Fault::kSlowLink) {
    flight.delay *= firing.parameters().factor;
  } else {  // packet_loss
    flight.retransmissions += static_cast<std::uint32_t>(firing.parameters().attempts);
    flight.delay += from.profile().retransmit_delay * firing.parameters().attempts;
  }
  flight.arrives = flight.delay < operation.initiator->profile().unresponsive_timeout;
}

Flight FaultModel::Fly(Nic& from, Nic& to, Operation& operation, PacketKind kind,
                       std::uint32_t packet) {
  Flight late;
  if (!LeavesMachine(from, operation, kind, late)) return {};
  Flight flight = world_.wire().Send(from, to, operation.sequence, kind, packet);
  if (!flight.arrives) return flight;
  Travel(from, operation, kind, flight);
  flight.delay += late.delay;
  flight.retransmissions += late.retransmissions;
  const Fate* fate = Find(operation);
  const bool straggles = fate != nullptr && fate->placement && kind == PacketKind::kRequest &&
                         fate->placement.fault() == Fault::kStragglerWrite;
  if (straggles) flight.delay += fate->placement.Delay();
  return flight;
}

bool FaultModel::LetsRetryPass(const Operation& operation) {
  if (operation.initiator->remote() != nullptr) return true;  // its own process knows its faults
  Flight late;
  return LeavesMachine(*operation.initiator, operation, PacketKind::kRequest, late);
}

}  // namespace sim
