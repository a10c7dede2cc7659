#include "sim/checks/memory_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sim {

namespace efa = fabric::efa_queue;

using fabric::OperationKind;

WatchedQueue* MemoryChecks::Open(std::uint32_t nic, const std::string& where, std::uint16_t number,
                                 std::uint32_t qkey, std::uint16_t domain, std::size_t sends,
                                 std::size_t receives) {
  queues_.push_back(std::make_unique<WatchedQueue>(sends, receives));
  WatchedQueue& queue = *queues_.back();
  queue.nic = nic;
  queue.where = where;
  queue.number = number;
  queue.qkey = qkey;
  queue.domain = domain;
  return &queue;
}

void MemoryChecks::Forget(WatchedQueue& queue) {
  guard_.Forget(queue);
  for (WatchedRequest& request : queue.sends) race_.Forget(request);
  for (WatchedRequest& request : queue.receives) race_.Forget(request);
}

void MemoryChecks::Close(WatchedQueue* queue) {
  Forget(*queue);
  std::erase_if(queues_, [queue](const auto& known) { return known.get() == queue; });
}

void MemoryChecks::TakeOver(WatchedQueue& queue) {
  if (queue.raw) return;
  Forget(queue);
  queue.raw = true;
}

void MemoryChecks::PostedSend(WatchedQueue& queue, const efa::SendWork& work, OperationKind kind,
                              std::uint32_t peer) {
  if (queue.raw) return;
  const auto id = static_cast<std::uint16_t>(work.request_id);
  WatchedRequest& request = WatchedQueue::Slot(queue.sends, id);
  conservation_.Posted(request, id, kind);
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
    guard_.Posted(queue, false, id, {work.segments, work.segment_count});
  }
}

void MemoryChecks::Died(std::uint32_t nic) {
  for (const auto& queue : queues_) {
    if (queue->nic != nic) continue;
    queue->dead = true;
    guard_.Forget(*queue);
  }
}

void MemoryChecks::Announced(const std::string& target, std::uint16_t queue_pair,
                             std::uint64_t placed, std::uint64_t length) {
  if (placed >= length) return;
  log_.Add(Check::kImmediateVisibility, target, queue_pair, [&] {
    return absl::StrCat("the immediate of a write of ", length, " bytes was reported when ", placed,
                        " of them were in memory");
  });
}

}  // namespace sim
