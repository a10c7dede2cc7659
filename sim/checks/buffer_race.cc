#include "drydock/sim/checks/buffer_race.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "drydock/sim/checks/source_hash.h"
#include "drydock/sim/memory/poison.h"

namespace drydock::sim {
namespace {

using fabric::Access;
using fabric::OperationKind;

const std::byte* PointerAt(std::uint64_t address) {
  return reinterpret_cast<const std::byte*>(address);
}

// A word that the device reads in one go: it arrives whole, before or after a program's change.
bool IsWord(const WatchedRequest& request) {
  const WatchedPiece& piece = request.local[0];
  return request.pieces == 1 && std::has_single_bit(piece.length) && piece.length <= 8 &&
         piece.address % piece.length == 0;
}

// A write to its own source: it is the device that changes the bytes.
bool WritesItself(const WatchedRequest& request) {
  const WatchedPiece& from = request.local[0];
  const WatchedPiece& to = request.remote;
  return request.kind == OperationKind::kWrite && from.address < to.address + to.length &&
         to.address < from.address + from.length;
}

std::string NameOf(const WatchedRequest& request) {
  return absl::StrCat("a ", std::string(fabric::Name(request.kind)), " of queue pair ",
                      request.queue->number);
}

}  // namespace

// ---- Sources ----

bool BufferRace::SourceIsThere(const WatchedRequest& request) const {
  for (std::uint8_t i = 0; i < request.pieces; ++i) {
    const WatchedPiece& piece = request.local[i];
    const bool there =
        piece.length == 0 ||
        registrations_.CoversLocal(request.queue->nic, request.queue->domain, piece, Access::kNone);
    if (!there) return false;
  }
  return true;
}

std::uint64_t BufferRace::HashOfSource(const WatchedRequest& request) const {
  std::uint64_t hash = 0;
  for (std::uint8_t i = 0; i < request.pieces; ++i) {
    const WatchedPiece& piece = request.local[i];
    std::vector<std::byte> scratch;
    const std::byte* const bytes = bus_.View(piece.address, piece.length, scratch);
    const Lifted lifted(bytes, piece.length);
    hash = HashSource(bytes, piece.length, hash);
  }
  return hash;
}

void BufferRace::Posted(WatchedRequest& request, const std::byte* inline_bytes) {
  writes_.Remove(request);  // of a slot that is in use: conservation speaks of it
  request.hashed = false;
  if (request.length == 0) return;
  if (request.kind == OperationKind::kRead) {
    return Write(request, request.local[0], BytesOf(request));
  }
  const bool there = inline_bytes == nullptr && SourceIsThere(request);
  if (inline_bytes != nullptr) {
    const Lifted lifted(inline_bytes, request.length);
    request.hashed = true;
    request.hash = HashSource(inline_bytes, request.length, 0);
  } else if (there && !WritesItself(request)) {
    request.hashed = true;
    request.hash = HashOfSource(request);
    request.registrations = registrations_.changes();
  }
  if (request.kind != OperationKind::kWrite) return;
  const std::byte* bytes = inline_bytes;
  if (there && request.pieces == 1) bytes = PointerAt(request.local[0].address);
  Write(request, request.remote, bytes);
}

void BufferRace::Ended(WatchedRequest& request, bool well) {
  writes_.Remove(request);
  if (!well || !request.hashed || request.is_inline || IsWord(request)) return;
  const bool there = request.registrations == registrations_.changes() || SourceIsThere(request);
  if (!there || HashOfSource(request) == request.hash) return;
  const WatchedQueue& queue = *request.queue;
  log_.Add(Check::kBufferRace, queue.where, queue.number, [&] {
    return absl::StrCat("the ", request.length, " bytes that ", NameOf(request),
                        " was to carry were changed before the device had read them: they are the "
                        "device's until the completion was read");
  });
}

// ---- Destinations ----

// Where the bytes that it writes come from, while they are still there; null: unknown.
const std::byte* BufferRace::BytesOf(const WatchedRequest& request) const {
  switch (request.kind) {
    case OperationKind::kRead:
      return registrations_.CoversRemote(request.peer, request.remote, Access::kNone)
                 ? PointerAt(request.remote.address)
                 : nullptr;
    case OperationKind::kReceive:  // it has landed
      return request.state == WatchedRequest::State::kReported ? PointerAt(request.target)
                                                               : nullptr;
    default:
      return !request.is_inline && request.pieces == 1 && SourceIsThere(request)
                 ? PointerAt(request.local[0].address)
                 : nullptr;
  }
}

bool BufferRace::WriteTheSame(const WatchedRequest& a, const std::byte* a_bytes,
                              const WatchedRequest& b) const {
  if (a.hashed && b.hashed && a.target == b.target && a.target_length == b.target_length) {
    return a.hash == b.hash;
  }
  const std::byte* b_bytes = BytesOf(b);
  if (a_bytes == nullptr || b_bytes == nullptr) return true;  // in doubt, they do
  const std::uint64_t begin = std::max(a.target, b.target);
  const std::uint64_t end = std::min(a.target + a.target_length, b.target + b.target_length);
  std::vector<std::byte> a_scratch;
  std::vector<std::byte> b_scratch;
  const auto view = [&](const std::byte* bytes, std::vector<std::byte>& scratch) {
    return bus_.View(reinterpret_cast<std::uint64_t>(bytes), end - begin, scratch);
  };
  const std::byte* const a_view = view(a_bytes + (begin - a.target), a_scratch);
  const std::byte* const b_view = view(b_bytes + (begin - b.target), b_scratch);
  const Lifted lifted_a(a_view, end - begin);
  const Lifted lifted_b(b_view, end - begin);
  return std::memcmp(a_view, b_view, end - begin) == 0;
}

// Nothing of a machine that died lands for sure, and nothing in the endpoint that a peer has
// closed.
bool BufferRace::CanLand(const WatchedRequest& request) const {
  if (request.queue->dead) return false;
  if (request.kind != OperationKind::kWrite) return true;
  bool open = false;
  queues_.ForEach([&](const WatchedQueue& queue) {
    open = open || (queue.nic == request.peer && queue.number == request.peer_queue &&
                    queue.qkey == request.peer_qkey);
  });
  return open;
}

void BufferRace::Write(WatchedRequest& request, const WatchedPiece& target,
                       const std::byte* bytes) {
  const bool lands = request.kind == OperationKind::kWrite
                         ? registrations_.CoversRemote(request.peer, target, Access::kRemoteWrite)
                         : registrations_.CoversLocal(request.queue->nic, request.queue->domain,
                                                      target, Access::kNone);
  if (!lands) return;  // it will be refused
  request.target = target.address;
  request.target_length = target.length;
  writes_.ForEachOverlapping(target.address, target.length, [&](const WatchedRequest& other) {
    if (WriteTheSame(request, bytes, other) || !CanLand(request) || !CanLand(other)) return;
    const WatchedQueue& queue = *request.queue;
    log_.Add(Check::kBufferRace, queue.where, queue.number, [&] {
      return absl::StrCat(NameOf(request), " and ", NameOf(other), " of ", other.queue->where,
                          " are in flight at once and write different bytes to the same place: "
                          "which of them stay is chance");
    });
  });
  writes_.Insert(request, target.address, target.length);
}

void BufferRace::Lands(WatchedRequest& receive, const WatchedPiece& at, const std::byte* bytes) {
  if (at.length == 0) return;
  receive.hashed = false;
  Write(receive, at, bytes);
}

}  // namespace drydock::sim
