#include "drydock/sim/hosts/proxy.h"

#include <utility>

#include "drydock/coro/time.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/ending.h"
#include "drydock/sim/device/rights.h"
#include "drydock/sim/random.h"

namespace drydock::sim {
namespace {

using fabric::OperationKind;

// Until a packet that found no room tries again.
constexpr coro::Duration kNoRoom{100'000};

}  // namespace

Proxy::Proxy(Surroundings& around, RemotePort& port, std::uint32_t index, std::uint32_t machine,
             std::string name, const Gid& gid, const Profile& profile)
    : around_(around),
      port_(port),
      state_(index, machine, std::move(name), gid, profile,
             RandomStream(around.seed, Subsystem::kKeys, machine, index)) {
  state_.elsewhere = true;
  state_.actor = this;
  Kill();
}

void Proxy::OnEvent(const Event& event) {
  Operation* operation = around_.operations.Find(OperationId::Unpack(event.b));
  if (operation == nullptr) return;
  switch (event.kind) {
    case EventKind::kArrive:
      return operation->ended ? void() : Forward(*operation, event);
    case EventKind::kReadData:
      return operation->ended ? void() : ForwardReadData(*operation, event);
    case EventKind::kSilence:
      return Lose(*operation);
    case EventKind::kAnswer:
      if (!operation->datagram && state_.alive()) port_.SendAnswer(*operation);
      return around_.EndOperation(*operation);
    case EventKind::kTimeOut:  // see Lose
      return around_.EndOperation(*operation);
    default:
      return;
  }
}

void Proxy::TryAgain(const Event& event) {
  around_.timeline.At(around_.timeline.now() + kNoRoom, this, event.kind, event.a, event.b);
}

void Proxy::Forward(Operation& operation, const Event& event) {
  if (!state_.alive()) return FallSilent(around_, operation);
  if (operation.faulted) {
    const FaultPoints::ArrivalVerdict verdict = around_.faults->OnArrival(state_, operation);
    if (verdict.failure.has_value()) return FailLater(around_, operation, *verdict.failure);
  }
  const bool read = operation.kind == OperationKind::kRead;
  const Range range = read ? Range{} : operation.PacketRange(PacketFlags::NumberOf(event.a));
  if (!LocalIsValid(around_, operation, range)) {
    return EndUnanswered(around_, operation, EfaStatus::kLocalInvalidLkey);
  }
  if (!read && operation.packets == 1) {
    port_.Divide(operation);
    if (operation.packets > 1) return ForwardDivided(operation, event);
  }
  if (!port_.SendPacket(operation, event.a, range)) return TryAgain(event);
  if (operation.datagram) return EndUnanswered(around_, operation, EfaStatus::kOk);
  operation.remote = true;
  if (read) operation.next_packet = operation.packets;  // the other side counts what it sends
}

// The first part has the fields of the whole packet.
void Proxy::ForwardDivided(const Operation& operation, Event whole) {
  for (std::uint32_t packet = 0; packet < operation.packets; ++packet) {
    const std::uint32_t flags = packet == 0 ? whole.a : packet;
    around_.timeline.At(around_.timeline.now(), this, whole.kind, flags, whole.b);
  }
}

void Proxy::ForwardReadData(Operation& shadow, const Event& event) {
  if (!state_.alive()) return FallSilent(around_, shadow);
  const Range range = shadow.PacketRange(PacketFlags::NumberOf(event.a));
  const EfaStatus status = CheckReadSource(around_, shadow, range);
  if (status != EfaStatus::kOk) return Answer(around_, *shadow.peer, shadow, status);
  if (!port_.SendReadData(shadow, event.a, range)) return TryAgain(event);
  ++shadow.placed;
  if (!shadow.all_placed()) return;
  CountAtTarget(shadow);
  around_.EndOperation(shadow);  // the initiator knows its end
}

// The caller of FallSilent may still look at the shadow: it leaves the table in an event of its
// own.
void Proxy::Lose(Operation& shadow) {
  shadow.ended = true;
  if (state_.alive()) port_.SendLost(shadow);
  around_.timeline.At(around_.timeline.now(), this, EventKind::kTimeOut, 0, shadow.id.Pack());
}

}  // namespace drydock::sim
