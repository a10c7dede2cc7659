// Live mode: the device works while the program polls, and what a work request does is done at
// once.
//
// Nearly every work request of a throughput run is a write with nothing wrong about it. It is
// served in one straight line; whatever is unusual about one sends it down the general path, which
// finds the same fault again and says what it is.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sim/nic.h"
#include "sim/world.h"

namespace sim {

namespace efa = fabric::efa_queue;

using fabric::Access;
using fabric::OperationKind;

namespace {

std::uint64_t PacketsOf(std::uint64_t length, std::uint64_t mtu) {
  return length <= mtu ? 1 : (length + mtu - 1) / mtu;
}

}  // namespace

// The queue pair that takes writes from `initiator` without any ado; null when there is something
// to look at.
QueuePair* Nic::FindWritable(const Nic& initiator, std::uint16_t number, std::uint32_t qkey) const {
  if (!alive_ || answers_nonsense_ || !profile_.device.rdma_write) return nullptr;
  if (!world_.wire().Connects(initiator, *this)) return nullptr;
  QueuePair* target = FindQueuePair(number, qkey);
  if (target == nullptr || target->type != QueuePairType::kSrd) return nullptr;
  return target->state == QueuePairState::kReadyToSend ? target : nullptr;
}

Route* Nic::FindRoute(QueuePair& queue_pair, std::uint16_t address_handle, std::uint16_t number,
                      std::uint32_t qkey) {
  if (queue_pair.type != QueuePairType::kSrd || !profile_.device.rdma_write ||
      queue_pair.state != QueuePairState::kReadyToSend) {
    return nullptr;
  }
  const AddressHandles::Handle* handle = address_handles_.Find(address_handle, queue_pair.domain);
  if (handle == nullptr || handle->peer == nullptr) return nullptr;
  Nic& peer = *handle->peer;
  QueuePair* target = peer.FindWritable(*this, number, qkey);
  if (target == nullptr) return nullptr;
  const std::uint16_t source = peer.address_handles_.NumberOf(target->domain, index_);
  if (source == AddressHandles::kUnknown) return nullptr;
  queue_pair.route = {.changes = world_.changes(),
                      .qkey = qkey,
                      .queue_pair = number,
                      .address_handle = address_handle,
                      .peer = &peer,
                      .target = target,
                      .source_handle = source};
  return &queue_pair.route;
}

// Where a write goes; null when there is something to look at.
DD_HOT Route* Nic::RouteOf(QueuePair& queue_pair, const efa::SendWork& work) {
  Route& route = queue_pair.route;
  // One by one: a load of all three would wait for the stores that have just filled them.
  const bool same = route.changes == world_.changes() && route.qkey == work.qkey &&
                    route.queue_pair == work.destination_queue_pair &&
                    route.address_handle == work.address_handle;
  if (same) return &route;
  return FindRoute(queue_pair, work.address_handle, work.destination_queue_pair, work.qkey);
}

// Packets in any order: from a random one on, and around.
void Nic::PlacePackets(std::uint64_t target, std::uint64_t source, std::uint64_t length) {
  const std::uint64_t mtu = profile_.device.mtu;
  const std::uint64_t packets = (length + mtu - 1) / mtu;
  const std::uint64_t first = engine_.NextBelow(packets);
  for (std::uint64_t i = 0; i < packets; ++i) {
    const std::uint64_t offset = (first + i) % packets * mtu;
    std::memmove(PointerTo(target + offset), PointerTo(source + offset),
                 std::min(mtu, length - offset));
  }
}

// A device copies its bytes in one piece: each piece costs it a command of some microseconds.
DD_HOT void Nic::PlaceNow(std::uint64_t target, std::uint64_t source, std::uint64_t length) {
  if (!world_.bus().HostOnly()) [[unlikely]] {
    MemoryBus& bus = world_.bus();
    if (!bus.IsHost(target) || !bus.IsHost(source)) {
      return bus.Copy(PointerTo(target), PointerTo(source), length);
    }
  }
  if (length > profile_.device.mtu) return PlacePackets(target, source, length);
  std::memmove(PointerTo(target), PointerTo(source), length);
}

// As Report, in place: most of what a completion says is known where it is reported.
DD_HOT void Nic::ReportNow(CompletionRing& ring, const DeviceCompletion& completion) {
  if (!ring.Push(completion)) [[unlikely]] {
    ReportLost(ring);
  }
  world_.Wake();
}

// False when it is no write, or anything about it is unusual; nothing has happened then.
bool Nic::WriteNow(QueuePair& queue_pair, std::uint32_t ahead) {
  efa::SendWork work;  // never handed on: it lives in registers
  if (queue_pair.send.Decode(ahead, work) != efa::Malformed::kNone) return false;
  if (work.operation != efa::Operation::kWrite || work.is_inline) return false;
  Route* route = RouteOf(queue_pair, work);
  if (route == nullptr) return false;
  Nic& peer = *route->peer;
  QueuePair& target = *route->target;
  const efa::BufferDescriptor& source = work.segments[0];
  if ((work.has_immediate && !target.unsolicited_immediates) ||
      source.length > profile_.device.max_rdma_size ||
      !peer.memory_.AllowsRemote(target.domain, work.remote.rkey, work.remote.address,
                                 source.length, Access::kRemoteWrite) ||
      !memory_.AllowsLocal(queue_pair.domain, source.lkey, source.address, source.length,
                           Access::kWrite)) {
    return false;
  }
  if (!std::exchange(route->used, true)) {
    peer.HearFrom(*this);
    HearFrom(peer);
  }
  peer.PlaceNow(work.remote.address, source.address, source.length);
  const std::uint64_t packets = PacketsOf(source.length, profile_.device.mtu);
  counters_.Sent(packets, source.length, profile_.header_bytes);
  peer.counters_.Received(packets, source.length, profile_.header_bytes);
  ++counters_.rdma_write_wrs;
  counters_.rdma_write_bytes += source.length;
  peer.counters_.rdma_write_recv_bytes += source.length;
  Count(target, CounterKind::kRemoteWrites, false);
  Count(queue_pair, CounterKind::kWrites, false);
  if (work.has_immediate) {
    peer.ReportNow(*target.receive_ring, {.queue_pair = target.number,
                                          .kind = OperationKind::kRemoteWrite,
                                          .has_immediate = true,
                                          .unsolicited = true,
                                          .immediate = work.immediate,
                                          .address_handle = route->source_handle,
                                          .source_queue_pair = queue_pair.number,
                                          .length_bytes = source.length});
  }
  ReportNow(*queue_pair.send_ring, {.request_id = static_cast<std::uint16_t>(work.request_id),
                                    .queue_pair = queue_pair.number,
                                    .kind = OperationKind::kWrite});
  return true;
}

// ---- One after the other ----

DD_HOT void Nic::Serve(QueuePair& queue_pair, std::uint32_t ahead) {
  DeviceListener* const listener = world_.device_listener();
  if (listener == nullptr && WriteNow(queue_pair, ahead)) return;
  Operation operation;
  if (!FetchOne(queue_pair, ahead, operation)) return;
  if (listener != nullptr) [[unlikely]] {
    listener->OnFetched(operation);
  }
  Execute(operation);
}

void Nic::ServeInAnyOrder(QueuePair& queue_pair, std::uint32_t count) {
  std::array<std::uint8_t, kLiveWindow> order;
  for (std::uint32_t i = 0; i < count; ++i) order[i] = static_cast<std::uint8_t>(i);
  // One draw for all of them, stretched by a linear congruence (Knuth's MMIX multiplier).
  std::uint64_t word = engine_.Next();
  for (std::uint32_t left = count; left > 0; --left) {
    const auto pick = static_cast<std::size_t>(Below(word, left));
    word = word * 6364136223846793005u + 1442695040888963407u;
    Serve(queue_pair, order[pick]);
    order[pick] = order[left - 1];
  }
}

void Nic::Progress() {
  while (!unfetched_.empty() && alive_) {
    QueuePair& queue_pair = *unfetched_.back();
    const std::uint32_t count = std::min(queue_pair.send.unfetched(), kLiveWindow);
    if (count == 1) {
      Serve(queue_pair, 0);
    } else {
      ServeInAnyOrder(queue_pair, count);
    }
    queue_pair.send.Advance(count);
    if (queue_pair.send.unfetched() > 0) continue;
    queue_pair.waits_for_fetch = false;
    unfetched_.pop_back();
  }
}

// ---- The general path ----

// Operations that end at once never enter the table; one that must wait does.
Operation& Nic::Parked(Operation& operation) {
  if (operation.in_table()) return operation;
  Operation& parked = world_.operations().Start();
  const OperationId id = parked.id;
  parked = operation;
  parked.id = id;
  return parked;
}

void Nic::Execute(Operation& operation) {
  operation.sequence = world_.operations().NextSequence();
  if (const EfaStatus status = CheckLocally(operation); status != EfaStatus::kOk) {
    return FinishLocally(operation, status);
  }
  operation.next_packet = operation.packets;
  operation.placed = operation.copies;
  const bool read = operation.kind == OperationKind::kRead;  // whose request carries no data
  const std::uint64_t packets = read ? 1 : operation.packets;
  const std::uint64_t bytes = read ? 0 : operation.length;
  counters_.Sent(packets, bytes, profile_.header_bytes);
  if (operation.peer != nullptr && world_.wire().Passes(*this, *operation.peer)) {
    operation.peer->counters_.Received(packets, bytes, profile_.header_bytes);
    return operation.peer->ArriveNow(operation);
  }
  if (operation.datagram) return FinishLocally(operation, EfaStatus::kOk);
  StartTimeout(operation);
}

void Nic::ArriveNow(Operation& operation) {
  HearFrom(*operation.initiator);
  QueuePair* target = FindQueuePair(operation.destination_queue_pair, operation.destination_qkey);
  if (operation.kind == OperationKind::kSend) return Arrive(operation, 0, false);
  if (const EfaStatus status = CheckTarget(operation, target); status != EfaStatus::kOk) {
    return Finish(operation, status);
  }
  if (!RemoteIsValid(operation, *target, {0, operation.length})) {
    return Finish(operation, EfaStatus::kRemoteBadAddress);
  }
  if (operation.kind == OperationKind::kRead) {
    if (answers_nonsense_) return Finish(operation, EfaStatus::kOk);
    counters_.Sent(operation.packets, operation.length, profile_.header_bytes);
    if (!world_.wire().Passes(*this, *operation.initiator)) {
      return operation.initiator->StartTimeout(operation);
    }
    operation.initiator->counters_.Received(operation.packets, operation.length,
                                            profile_.header_bytes);
    counters_.rdma_read_resp_bytes += operation.length;
    Count(*target, CounterKind::kRemoteReads, false);
    operation.CopyIn(world_.bus(), {0, operation.length}, PointerTo(operation.remote_address));
    operation.initiator->TellPlaced(operation, {0, operation.length});
    return FinishLocally(operation, EfaStatus::kOk);
  }
  if (operation.is_inline) {
    operation.CopyOut(world_.bus(), {0, operation.length}, PointerTo(operation.remote_address));
  } else {
    PlaceNow(operation.remote_address, operation.segments[0].address, operation.length);
  }
  TellPlaced(operation, {0, operation.length});
  Written(operation, *target);
}

}  // namespace sim
