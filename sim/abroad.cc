#include "sim/abroad.h"

#include "fabric/operation.h"
#include "sim/faults/fault_model.h"
#include "sim/nic.h"
#include "sim/world.h"

namespace sim {
namespace {

using fabric::OperationKind;

// Until a packet that found no room tries again.
constexpr coro::Duration kNoRoom{100'000};

}  // namespace

// ---- Out ----

void Abroad::OnEvent(Nic& proxy, const Event& event) {
  World& world = proxy.world_;
  Operation* operation = world.operations().Find(OperationId::Unpack(event.b));
  if (operation == nullptr) return;
  switch (event.kind) {
    case EventKind::kArrive:
      return operation->ended ? void() : Forward(proxy, *operation, event);
    case EventKind::kReadData:
      return operation->ended ? void() : ForwardReadData(proxy, *operation, event);
    case EventKind::kAnswer:
      if (!operation->datagram && proxy.alive_) proxy.remote_->SendAnswer(*operation);
      return End(world, *operation);
    case EventKind::kTimeOut:  // see Lost
      return End(world, *operation);
    default:
      return;
  }
}

void Abroad::Forward(Nic& proxy, Operation& operation, const Event& event) {
  World& world = proxy.world_;
  Nic& initiator = *operation.initiator;
  if (!proxy.alive_) {
    return operation.datagram ? initiator.FinishLocally(operation, EfaStatus::kOk)
                              : initiator.StartTimeout(operation);
  }
  if (operation.faulted && world.faults()->RefusesAbroad(operation)) return;
  const bool read = operation.kind == OperationKind::kRead;
  const Range range = read ? Range{} : initiator.RangeOf(operation, Number(event.a));
  if (!initiator.LocalIsValid(operation, range)) {
    return initiator.FinishLocally(operation, EfaStatus::kLocalInvalidLkey);
  }
  if (!proxy.remote_->SendPacket(operation, event.a, range)) {
    return world.ScheduleAt(world.Now() + kNoRoom, &proxy, event.kind, event.a, event.b);
  }
  if (operation.datagram) return initiator.FinishLocally(operation, EfaStatus::kOk);
  operation.abroad = true;
  if (read) operation.next_packet = operation.packets;  // the other side counts what it sends
}

void Abroad::ForwardReadData(Nic& proxy, Operation& shadow, const Event& event) {
  World& world = proxy.world_;
  if (!proxy.alive_) return Lost(proxy, shadow);
  Nic& target = *shadow.peer;
  const Range range = target.RangeOf(shadow, Number(event.a));
  const EfaStatus status = target.CheckPlacement(shadow, range);
  if (status != EfaStatus::kOk) return target.Finish(shadow, status);
  if (!proxy.remote_->SendReadData(shadow, event.a, range)) {
    return world.ScheduleAt(world.Now() + kNoRoom, &proxy, event.kind, event.a, event.b);
  }
  ++shadow.placed;
  if (shadow.all_placed()) End(world, shadow);  // the initiator counts, and knows its end
}

// The caller may still look at the shadow: it leaves the table in an event of its own.
void Abroad::Lost(Nic& proxy, Operation& shadow) {
  World& world = proxy.world_;
  shadow.timing_out = true;
  shadow.ended = true;
  if (!shadow.datagram && proxy.alive_) proxy.remote_->SendLost(shadow);
  world.ScheduleAt(world.Now(), &proxy, EventKind::kTimeOut, 0, shadow.id.Pack());
}

void Abroad::Ended(Operation& operation) {
  operation.abroad = false;
  operation.peer->remote_->SendEnded(operation);
}

// ---- In ----

std::uint32_t Abroad::PacketsOf(const Nic& initiator, const Operation& operation) {
  const std::uint64_t mtu = initiator.profile_.device.mtu;
  if (operation.kind == OperationKind::kSend || operation.length <= mtu) return 1;
  return static_cast<std::uint32_t>((operation.length + mtu - 1) / mtu);
}

Range Abroad::RangeOf(const Nic& initiator, const Operation& operation, std::uint32_t packet) {
  return initiator.RangeOf(operation, packet);
}

std::uint32_t Abroad::Number(std::uint32_t packet) { return packet & Nic::kPacketMask; }
bool Abroad::IsSecondCopy(std::uint32_t packet) { return (packet & Nic::kSecondCopy) != 0; }
bool Abroad::CopyFollows(std::uint32_t packet) { return (packet & Nic::kCopyFollows) != 0; }

// A packet of another process is counted, and is an event of now.
void Abroad::Enter(Nic& nic, EventKind kind, const Operation& operation, std::uint32_t packet,
                   std::uint64_t bytes) {
  ++nic.counters_.rx_pkts;
  nic.counters_.rx_bytes += bytes + nic.profile_.header_bytes;
  nic.world_.Schedule(nic.world_.Now(), &nic, kind, packet & ~Nic::kCopyFollows,
                      operation.id.Pack());
}

void Abroad::Arrive(Operation& shadow, std::uint32_t packet, std::uint64_t bytes) {
  if (CopyFollows(packet)) ++shadow.copies;
  Enter(*shadow.peer, EventKind::kArrive, shadow, packet, bytes);
}

void Abroad::ArriveReadData(Operation& operation, std::uint32_t packet, std::uint64_t bytes) {
  if (CopyFollows(packet)) ++operation.copies;
  Enter(*operation.initiator, EventKind::kReadData, operation, packet, bytes);
}

void Abroad::Answer(Operation& operation, std::uint8_t status) {
  Nic& initiator = *operation.initiator;
  World& world = initiator.world_;
  if (operation.answered) return;
  const bool ends_otherwise = status == 0 && operation.faulted && world.faults()->Ends(operation);
  if (ends_otherwise) return;
  operation.ended = true;
  operation.answered = true;
  operation.status = status;
  initiator.TellEnded(operation);
  initiator.Answer(operation);
}

void Abroad::Silent(Operation& operation) { operation.initiator->StartTimeout(operation); }

void Abroad::End(World& world, Operation& shadow) {
  shadow.initiator->remote_->Forget(shadow);
  if (shadow.faulted) world.faults()->Forget(shadow);
  world.operations().End(shadow);
}

}  // namespace sim
