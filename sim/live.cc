// Live mode: the device works while the program polls, and what a work request does is done at
// once.
//
// Nearly every work request of a throughput run is a write with nothing wrong about it. It is
// served in one straight line; whatever is unusual about one sends it down the general path, which
// finds the same fault again and says what it is.

#include <algorithm>
#include <array>

#include "sim/nic.h"
#include "sim/world.h"

namespace sim {

namespace efa = fabric::efa_queue;

using fabric::Access;
using fabric::OperationKind;

void Nic::Progress() {
  while (!unfetched_.empty() && alive_) {
    QueuePair& queue_pair = *unfetched_.back();
    const std::uint32_t count = std::min(queue_pair.send.unfetched(), kLiveWindow);
    ServeInAnyOrder(queue_pair, count);
    if (queue_pair.send.unfetched() > 0) continue;
    queue_pair.waits_for_fetch = false;
    unfetched_.pop_back();
  }
}

void Nic::ServeInAnyOrder(QueuePair& queue_pair, std::uint32_t count) {
  if (count == 1) {
    Serve(queue_pair, 0);
  } else {
    std::array<std::uint8_t, kLiveWindow> order;
    for (std::uint32_t i = 0; i < count; ++i) order[i] = static_cast<std::uint8_t>(i);
    for (std::uint32_t left = count; left > 0; --left) {
      const auto pick = static_cast<std::size_t>(engine_.NextBelow(left));
      Serve(queue_pair, order[pick]);
      order[pick] = order[left - 1];
    }
  }
  queue_pair.send.Advance(count);
}

void Nic::Serve(QueuePair& queue_pair, std::uint32_t ahead) {
  if (WriteNow(queue_pair, ahead)) return;
  Operation operation;
  if (FetchOne(queue_pair, ahead, operation)) Execute(operation);
}

// False when it is no write, or anything about it is unusual; nothing has happened then.
bool Nic::WriteNow(QueuePair& queue_pair, std::uint32_t ahead) {
  efa::SendWork work;
  if (queue_pair.send.Decode(ahead, work) != efa::Malformed::kNone) return false;
  if (work.operation != efa::Operation::kWrite || work.is_inline) return false;
  if (queue_pair.type != QueuePairType::kSrd || queue_pair.state != QueuePairState::kReadyToSend ||
      !profile_.device.rdma_write)
    return false;
  const AddressHandles::Handle* handle =
      address_handles_.Find(work.address_handle, queue_pair.domain);
  if (handle == nullptr || handle->peer == nullptr) return false;
  Nic& peer = *handle->peer;
  const efa::BufferDescriptor& source = work.segments[0];
  QueuePair* target =
      peer.FindWritable(*this, work.destination_queue_pair, work.qkey, work.has_immediate);
  if (target == nullptr || source.length > profile_.device.max_rdma_size ||
      !peer.memory_.AllowsRemote(target->domain, work.remote.rkey, work.remote.address,
                                 source.length, Access::kRemoteWrite) ||
      !memory_.AllowsLocal(queue_pair.domain, source.lkey, source.address, source.length,
                           Access::kWrite)) {
    return false;
  }
  peer.PlaceNow(work.remote.address, source.address, source.length);
  peer.HearFrom(*this);
  HearFrom(peer);
  ++counters_.rdma_write_wrs;
  counters_.rdma_write_bytes += source.length;
  peer.counters_.rdma_write_recv_bytes += source.length;
  Count(*target, CounterKind::kRemoteWrites, false);
  Count(queue_pair, CounterKind::kWrites, false);
  if (work.has_immediate) {
    peer.Report(*target->receive_ring,
                {.queue_pair = target->number,
                 .kind = OperationKind::kRemoteWrite,
                 .has_immediate = true,
                 .unsolicited = true,
                 .immediate = work.immediate,
                 .address_handle = peer.address_handles_.NumberOf(target->domain, index_),
                 .source_queue_pair = queue_pair.number,
                 .length_bytes = source.length});
  }
  Report(*queue_pair.send_ring, {.request_id = static_cast<std::uint16_t>(work.request_id),
                                 .queue_pair = queue_pair.number,
                                 .kind = OperationKind::kWrite});
  return true;
}

// The queue pair that takes this write from `initiator` without any ado; null when there is
// something to look at.
QueuePair* Nic::FindWritable(const Nic& initiator, std::uint16_t number, std::uint32_t qkey,
                             bool has_immediate) const {
  if (answers_nonsense_ || !profile_.device.rdma_write) return nullptr;
  if (!world_.wire().Passes(initiator, *this) || !world_.wire().Passes(*this, initiator))
    return nullptr;
  QueuePair* target = FindQueuePair(number, qkey);
  if (target == nullptr || target->type != QueuePairType::kSrd) return nullptr;
  if (target->state != QueuePairState::kReadyToSend) return nullptr;
  if (has_immediate && !target->unsolicited_immediates) return nullptr;
  const std::uint16_t handle = address_handles_.NumberOf(target->domain, initiator.index_);
  return handle != AddressHandles::kUnknown ? target : nullptr;
}

// Packets in any order: from a random one on, and around.
void Nic::PlaceNow(std::uint64_t target, std::uint64_t source, std::uint64_t length) {
  const std::uint64_t mtu = profile_.device.mtu;
  if (length <= mtu) {
    std::memmove(PointerTo(target), PointerTo(source), length);
    return;
  }
  const std::uint64_t packets = (length + mtu - 1) / mtu;
  const std::uint64_t first = engine_.NextBelow(packets);
  for (std::uint64_t i = 0; i < packets; ++i) {
    const std::uint64_t offset = (first + i) % packets * mtu;
    std::memmove(PointerTo(target + offset), PointerTo(source + offset),
                 std::min(mtu, length - offset));
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
  if (operation.peer != nullptr && world_.wire().Passes(*this, *operation.peer)) {
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
    if (!world_.wire().Passes(*this, *operation.initiator)) {
      return operation.initiator->StartTimeout(operation);
    }
    counters_.rdma_read_resp_bytes += operation.length;
    Count(*target, CounterKind::kRemoteReads, false);
    operation.CopyIn({0, operation.length}, PointerTo(operation.remote_address));
    return FinishLocally(operation, EfaStatus::kOk);
  }
  if (operation.is_inline) {
    operation.CopyOut({0, operation.length}, PointerTo(operation.remote_address));
  } else {
    PlaceNow(operation.remote_address, operation.segments[0].address, operation.length);
  }
  Written(operation, *target);
}

}  // namespace sim
