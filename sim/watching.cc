// What the device tells the checks (sim/checks): who touches which bytes, and how requests end.

#include <algorithm>
#include <cstddef>

#include "sim/faults/fault_model.h"
#include "sim/nic.h"
#include "sim/world.h"

namespace sim {
namespace {

using fabric::Access;
using fabric::OperationKind;

// The rights that a request needs, worked out for the second time: the first is the requester's.
Access RightHere(OperationKind kind) {
  if (kind == OperationKind::kWrite) return Access::kWrite;
  return kind == OperationKind::kRead ? Access::kRead : Access::kSend;
}
Access RightThere(OperationKind kind) {
  return kind == OperationKind::kRead ? Access::kRemoteRead : Access::kRemoteWrite;
}

WatchedPiece PieceOf(const Segment& segment) {
  return {segment.address, segment.length, segment.lkey};
}

bool IsReceive(const DeviceCompletion& completion) {
  return completion.kind == OperationKind::kReceive ||
         completion.kind == OperationKind::kRemoteWrite;
}

}  // namespace

// ---- Requests ----

void Nic::TellReported(const DeviceCompletion& completion, bool kept) {
  if (completion.unsolicited) return;
  const QueuePair* queue_pair = FindQueuePair(completion.queue_pair);
  if (queue_pair == nullptr || queue_pair->watched == nullptr) return;
  MemoryChecks& checks = world_.checks().memory();
  if (kept) {
    checks.Reported(*queue_pair->watched, IsReceive(completion), completion.request_id);
  } else {
    checks.Excused(*queue_pair->watched, IsReceive(completion), completion.request_id);
  }
}

void Nic::TellEnded(const Operation& operation) {
  if (operation.watched == nullptr) return;
  world_.checks().memory().Ended(*operation.watched, operation.status == 0);
}

void Nic::Consume(QueuePair& queue_pair, const ReceiveWork& receive) {
  queue_pair.receive.Consume(receive);
  if (world_.device_listener() != nullptr) [[unlikely]] {
    world_.device_listener()->OnReceiveTaken(*this, queue_pair, receive);
  }
  if (queue_pair.watched != nullptr) {
    world_.checks().memory().Taken(*queue_pair.watched, receive.request_id);
  }
}

// What it still has of the queue pair's requests is under way; the others should have ended.
void Nic::Audit(QueuePair& queue_pair) {
  WatchedQueue* const watched = queue_pair.watched;
  // Of what a fault plan holds back nobody but the plan knows whether it comes.
  if (watched == nullptr || (world_.faults() != nullptr && world_.faults()->HoldsSomething())) {
    return;
  }
  world_.operations().ForEach([watched](Operation& operation) {
    if (operation.watched != nullptr && operation.watched->queue == watched) {
      operation.watched->under_way = true;
    }
  });
  for (std::uint32_t ahead = 0; ahead < queue_pair.send.unfetched(); ++ahead) {
    fabric::efa_queue::SendWork work;
    if (queue_pair.send.Decode(ahead, work) != fabric::efa_queue::Malformed::kNone) continue;
    WatchedRequest* request = watched->FindSend(static_cast<std::uint16_t>(work.request_id));
    if (request != nullptr) request->under_way = true;
  }
  for (const auto& [number, landing] : landings_) {
    if (landing.queue_pair != queue_pair.number || landing.qkey != queue_pair.qkey) continue;
    WatchedRequest* request = watched->FindReceive(landing.receive.request_id);
    if (request != nullptr) request->under_way = true;
  }
  world_.checks().memory().Audit(*watched);
}

void Nic::AuditAll() {
  for (const auto& queue_pair : queue_pairs_) {
    if (queue_pair != nullptr) Audit(*queue_pair);
  }
}

// ---- Memory ----

void Nic::TellPlacing(Operation& operation, const Nic& target_nic, Range range, bool second_copy) {
  if (!second_copy) operation.bytes_placed += range.length;
  if (world_.live() || range.length == 0) return;
  Nic& initiator = *operation.initiator;
  Registrations& book = world_.checks().memory().registrations();
  const Toucher who{initiator.name_, operation.queue_pair, operation.kind};
  if (operation.kind != OperationKind::kSend && target_nic.remote_ == nullptr) {
    book.PlacingRemote(
        who, target_nic.index_, target_nic.FindQueuePair(operation.destination_queue_pair)->domain,
        {operation.remote_address + range.offset, range.length, operation.remote_key},
        RightThere(operation.kind));
  }
  if (operation.is_inline) return;
  operation.Walk(range, [&](const Segment& piece) {
    book.PlacingLocal(who, initiator.index_, operation.domain, PieceOf(piece),
                      RightHere(operation.kind));
  });
}

void Nic::TellPlacingMessage(const QueuePair& target, const ReceiveWork& receive, Range range) {
  if (world_.live()) return;
  Registrations& book = world_.checks().memory().registrations();
  const Toucher who{name_, target.number, OperationKind::kReceive};
  receive.Walk(range, [&](const Segment& piece) {
    book.PlacingLocal(who, index_, target.domain, PieceOf(piece), Access::kReceive);
  });
}

void Nic::TellLands(const Operation& operation, const QueuePair& target, const ReceiveWork& receive,
                    std::uint64_t prefix) {
  if (target.watched == nullptr) return;
  WatchedRequest* request = target.watched->FindReceive(receive.request_id);
  if (request == nullptr || receive.segments[0].length < prefix) return;
  WatchedPiece at = PieceOf(receive.segments[0]);
  at.address += prefix;
  at.length = std::min(operation.length, at.length - prefix);
  const std::byte* bytes = nullptr;
  if (operation.is_inline) {
    bytes = operation.inline_data.data();
  } else if (operation.segment_count == 1) {
    bytes = PointerTo(operation.segments[0].address);
  }
  world_.checks().memory().Lands(*request, at, bytes);
}

void Nic::TellRefusedHere(const Operation& operation) const {
  Registrations& book = world_.checks().memory().registrations();
  for (std::uint8_t i = 0; i < operation.segment_count; ++i) {
    book.Refused({name_, operation.queue_pair, operation.kind}, index_, operation.segments[i].lkey,
                 false);
  }
}

void Nic::TellRefusedThere(const Operation& operation) const {
  world_.checks().memory().registrations().Refused(
      {operation.initiator->name_, operation.queue_pair, operation.kind}, index_,
      operation.remote_key, true);
}

void Nic::TellRefusedReceive(const QueuePair& target, const Segment& segment) const {
  world_.checks().memory().registrations().Refused({name_, target.number, OperationKind::kReceive},
                                                   index_, segment.lkey, false);
}

// Of writes and reads; PlaceMessage tells of messages.
void Nic::TellPlaced(const Operation& operation, Range range) {
  DeviceListener* const listener = world_.device_listener();
  if (listener == nullptr || operation.kind == OperationKind::kSend) return;
  if (operation.kind == OperationKind::kRead) {
    operation.Walk(range,
                   [&](const Segment& piece) { listener->OnPlaced(*this, operation.id, piece); });
  } else {
    listener->OnPlaced(*this, operation.id,
                       {operation.remote_address + range.offset,
                        static_cast<std::uint32_t>(range.length), operation.remote_key});
  }
}

void Nic::TellImmediate(const Operation& operation, const QueuePair& target) {
  if (world_.device_listener() != nullptr) [[unlikely]] {
    world_.device_listener()->OnImmediate(operation);
  }
  if (world_.live() || operation.faulted) return;
  world_.checks().memory().Announced(name_, target.number, operation.bytes_placed,
                                     operation.length);
}

}  // namespace sim
