#include "drydock/sim/checks/destination_guard.h"

#include <algorithm>

namespace drydock::sim {

using fabric::Access;
using fabric::efa_queue::BufferDescriptor;

namespace {

void Free(const std::vector<WatchedPiece>& pieces) {
  for (const WatchedPiece& piece : pieces) Unpoison(piece.address, piece.length);
}

}  // namespace

DestinationGuard::~DestinationGuard() {
  for (const auto& [key, pieces] : held_) Free(pieces);
}

void DestinationGuard::Take(const WatchedQueue& queue, bool receive, std::uint16_t id,
                            std::span<const BufferDescriptor> segments) {
  // A receive that an immediate may take is no promise that anything is written.
  if (queue.raw || (receive && queue.immediates_take_receives)) return;
  std::vector<WatchedPiece>& pieces = held_[{&queue, receive, id}];
  Free(std::exchange(pieces, {}));
  for (const BufferDescriptor& segment : segments) {
    WatchedPiece piece{segment.address, segment.length, segment.lkey};
    if (receive) {
      piece.length =
          std::min<std::uint64_t>(piece.length, fabric::efa_queue::kMaxReceiveSegmentBytes);
    }
    const Access right = receive ? Access::kReceive : Access::kRead;
    if (!registrations_.CoversLocal(queue.nic, queue.domain, piece, right)) continue;
    if (!bus_.IsHost(piece.address)) continue;
    Poison(piece.address, piece.length);
    pieces.push_back(piece);
  }
}

void DestinationGuard::Give(const WatchedQueue& queue, bool receive, std::uint16_t id) {
  const auto held = held_.find({&queue, receive, id});
  if (held == held_.end()) return;
  Free(held->second);
  held_.erase(held);
}

void DestinationGuard::GiveAll(const WatchedQueue& queue) {
  auto held = held_.lower_bound({&queue, false, 0});
  while (held != held_.end() && std::get<0>(held->first) == &queue) {
    Free(held->second);
    held = held_.erase(held);
  }
}

}  // namespace drydock::sim
