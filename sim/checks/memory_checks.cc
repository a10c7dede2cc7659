#include "drydock/sim/checks/memory_checks.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace drydock::sim {

namespace efa = fabric::efa_queue;

using fabric::Access;
using fabric::OperationKind;

namespace {

// The rights that a request needs, worked out for the second time: the first is the device's.
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

// ---- The driver ----

void MemoryChecks::OnEndpointOpened(const EndpointOpened& endpoint) {
  const QueuePair& queue_pair = endpoint.queue_pair;
  WatchedQueue& queue =
      queues_.Open(queue_pair.serial, endpoint.send_depth, endpoint.receive_depth);
  queue.nic = endpoint.nic.index();
  queue.where = endpoint.nic.name;
  queue.number = queue_pair.number;
  queue.qkey = queue_pair.qkey;
  queue.domain = queue_pair.domain;
  queue.immediates_take_receives = endpoint.immediates_take_receives;
}

void MemoryChecks::Forget(WatchedQueue& queue) {
  guard_.Forget(queue);
  const auto forget = [this](WatchedRequest& request) { race_.Forget(request); };
  queue.sends.ForEach(forget);
  queue.receives.ForEach(forget);
}

void MemoryChecks::OnRingsTaken(const QueuePair& queue_pair) {
  WatchedQueue* queue = queues_.Find(queue_pair.serial);
  if (queue == nullptr || queue->raw) return;
  Forget(*queue);
  queue->raw = true;
}

void MemoryChecks::OnPosted(const QueuePair& queue_pair, const efa::SendWork& work,
                            const Posted& posted, std::uint32_t peer) {
  WatchedQueue* queue = queues_.Find(queue_pair.serial);
  if (queue == nullptr || queue->raw) return;
  const auto id = static_cast<std::uint16_t>(work.request_id);
  const OperationKind kind = posted.kind;
  WatchedRequest& request = queue->sends.Slot(id);
  conservation_.Posted(request, id, kind);
  request.handle = work.address_handle;
  request.is_inline = work.is_inline;
  request.pieces = work.is_inline ? std::uint8_t{0} : work.segment_count;
  request.length = work.is_inline ? work.inline_bytes : 0;
  for (std::uint8_t i = 0; i < request.pieces; ++i) {
    const efa::BufferDescriptor& segment = work.segments[i];
    request.local[i] = {segment.address, segment.length, segment.lkey};
    request.length += segment.length;
  }
  if (kind != OperationKind::kSend) {
    request.remote = {work.remote.address, request.length, work.remote.rkey};
    request.peer = peer;
    request.peer_queue = work.destination_queue_pair;
    request.peer_qkey = work.qkey;
  }
  race_.Posted(request,
               work.is_inline ? reinterpret_cast<const std::byte*>(work.inline_data) : nullptr);
  if (kind == OperationKind::kRead) {
    guard_.Posted(*queue, false, id, {work.segments, work.segment_count});
  }
}

void MemoryChecks::OnReceivePosted(const QueuePair& queue_pair, const efa::ReceiveWork& work,
                                   const Posted& /*posted*/) {
  WatchedQueue* queue = queues_.Find(queue_pair.serial);
  if (queue == nullptr || queue->raw) return;
  conservation_.Posted(queue->receives.Slot(work.request_id), work.request_id,
                       OperationKind::kReceive);
  guard_.Posted(*queue, true, work.request_id, {work.segments, work.segment_count});
}

// A request that the device has reported is over, whether the program has read the completion or
// not.
void MemoryChecks::OnHandleClosing(const NicState& nic, std::uint16_t handle) {
  queues_.ForEach([&](const WatchedQueue& queue) {
    if (queue.nic != nic.index() || queue.raw || queue.dead) return;
    std::size_t in_flight = 0;
    queue.sends.ForEach([&](const WatchedRequest& request) {
      const bool posted = request.state == WatchedRequest::State::kPosted;
      if (posted && request.handle == handle) ++in_flight;
    });
    if (in_flight == 0) return;
    log_.Add(Check::kHandleInUse, queue.where, queue.number, [&] {
      return absl::StrCat("address handle ", handle, " was destroyed with ", in_flight,
                          in_flight == 1 ? " request" : " requests", " of queue pair ",
                          queue.number,
                          " in flight to its peer: the device flushes them, and what has reached "
                          "the peer is anybody's guess");
    });
  });
}

void MemoryChecks::OnCompletionRead(const QueuePair& queue_pair, bool receive, std::uint16_t id,
                                    std::uint8_t /*status*/) {
  WatchedQueue* queue = queues_.Find(queue_pair.serial);
  if (queue == nullptr) return;
  guard_.Read(*queue, receive, id);
  WatchedRequest* request = conservation_.Read(*queue, receive, id);
  if (request != nullptr) race_.Forget(*request);
}

// ---- The device: requests ----

void MemoryChecks::OnQueuePairGone(const QueuePair& queue_pair) {
  WatchedQueue* queue = queues_.Find(queue_pair.serial);
  if (queue == nullptr) return;
  Forget(*queue);
  queues_.Close(queue_pair.serial);
}

WatchedRequest* MemoryChecks::RequestOf(const Operation& operation) const {
  const WatchedQueue* queue = queues_.Find(operation.source);
  return queue == nullptr ? nullptr : queue->FindSend(operation.request_id);
}

void MemoryChecks::OnReceiveTaken(const NicState& /*nic*/, const QueuePair& queue_pair,
                                  const ReceiveWork& receive) {
  WatchedQueue* queue = queues_.Find(queue_pair.serial);
  if (queue == nullptr) return;
  if (WatchedRequest* request = queue->FindReceive(receive.request_id)) {
    request->state = WatchedRequest::State::kTaken;
  }
}

void MemoryChecks::OnEnded(const Operation& operation) {
  if (WatchedRequest* request = RequestOf(operation)) {
    race_.Ended(*request, operation.status == 0);
  }
}

void MemoryChecks::OnSilent(const Operation& operation) {
  if (WatchedRequest* request = RequestOf(operation)) race_.Forget(*request);
}

void MemoryChecks::OnReported(const NicState& nic, const CompletionRing& /*ring*/,
                              const DeviceCompletion& completion, EntryFate fate) {
  if (completion.unsolicited) return;
  const QueuePair* queue_pair = nic.queue_pairs.Find(completion.queue_pair);
  WatchedQueue* queue = queue_pair == nullptr ? nullptr : queues_.Find(queue_pair->serial);
  if (queue == nullptr) return;
  const bool receive = IsReceive(completion);
  if (fate == EntryFate::kWritten || fate == EntryFate::kOverwrote) {
    return conservation_.Reported(*queue, receive, completion.request_id);
  }
  WatchedRequest* request = queue->Find(receive, completion.request_id);
  if (request != nullptr) request->state = WatchedRequest::State::kExcused;
}

void MemoryChecks::OnDied(const NicState& nic) {
  queues_.ForEach([&](WatchedQueue& queue) {
    if (queue.nic != nic.index()) return;
    queue.dead = true;
    guard_.Forget(queue);
  });
}

void MemoryChecks::Audit(const QueuePair& queue_pair, std::uint32_t unrung,
                         OperationTable& operations) {
  WatchedQueue* queue = queues_.Find(queue_pair.serial);
  if (queue == nullptr) return;
  const auto mark = [](WatchedRequest* request) {
    if (request != nullptr) request->under_way = true;
  };
  operations.ForEach([&](const Operation& operation) {
    if (operation.source == queue_pair.serial) mark(queue->FindSend(operation.request_id));
  });
  // Also those that the device is going to refuse: it has not looked at them yet.
  const SendQueue& sends = queue_pair.send;
  const std::uint32_t fetched = sends.announced() - sends.unfetched();
  for (std::uint32_t ahead = 0; ahead < sends.unfetched() + unrung; ++ahead) {
    const void* const entry = sends.Slot((fetched + ahead) & (sends.entries() - 1));
    mark(queue->FindSend(static_cast<std::uint16_t>(efa::LoadWord(entry, 0))));
  }
  for (const std::uint16_t receive : queue_pair.landing) mark(queue->FindReceive(receive));
  conservation_.Audit(*queue);
}

// ---- The device: memory ----

void MemoryChecks::OnMessageLands(const NicState& /*nic*/, const QueuePair& target,
                                  const Operation& operation, const ReceiveWork& receive,
                                  std::uint64_t prefix) {
  const WatchedQueue* queue = queues_.Find(target.serial);
  WatchedRequest* request = queue == nullptr ? nullptr : queue->FindReceive(receive.request_id);
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
  race_.Lands(*request, at, bytes);
}

void MemoryChecks::OnPlacing(const BytesPlaced& bytes) {
  if (bytes.range.length == 0) return;
  if (bytes.receive != nullptr) {
    const Toucher who{bytes.nic.name, bytes.target->number, OperationKind::kReceive};
    WalkSegments(bytes.memory, bytes.in_memory, [&](const Segment& piece) {
      registrations_.PlacingLocal(who, bytes.nic.index(), bytes.target->domain, PieceOf(piece),
                                  Access::kReceive);
    });
  }
  if (bytes.operation == nullptr || !bytes.reads_source) return;
  const Operation& operation = *bytes.operation;
  const NicState& initiator = *operation.initiator;
  const Toucher who{initiator.name, operation.queue_pair, operation.kind};
  if (operation.kind != OperationKind::kSend && bytes.target != nullptr) {
    const NicState& target = operation.kind == OperationKind::kRead ? *operation.peer : bytes.nic;
    registrations_.PlacingRemote(
        who, target.index(), bytes.target->domain,
        {operation.remote_address + bytes.range.offset, bytes.range.length, operation.remote_key},
        RightThere(operation.kind));
  }
  if (operation.is_inline || initiator.elsewhere) return;
  operation.Walk(bytes.read, [&](const Segment& piece) {
    registrations_.PlacingLocal(who, initiator.index(), operation.domain, PieceOf(piece),
                                RightHere(operation.kind));
  });
}

void MemoryChecks::OnRegistered(const NicState& nic, ProtectionDomain domain,
                                const MemoryTable::Keys& keys, std::uint64_t address,
                                std::uint64_t length_bytes, Access access) {
  registrations_.Register(nic.index(), nic.name, domain, keys.local, keys.remote, address,
                          length_bytes, access);
}

void MemoryChecks::OnDeregistered(const NicState& nic, std::uint32_t remote_key) {
  registrations_.Deregister(nic.index(), remote_key);
}

void MemoryChecks::OnKeyRefused(const KeyRefused& refused) {
  registrations_.Refused({refused.where, refused.queue_pair, refused.kind}, refused.nic.index(),
                         refused.key, refused.remote);
}

void MemoryChecks::OnImmediateDelivered(const NicState& nic, const QueuePair& target,
                                        const Operation& operation) {
  if (operation.faulted || operation.bytes_placed >= operation.length) return;
  log_.Add(Check::kImmediateVisibility, nic.name, target.number, [&] {
    return absl::StrCat("the immediate of a write of ", operation.length,
                        " bytes was reported when ", operation.bytes_placed,
                        " of them were in memory");
  });
}

}  // namespace drydock::sim
