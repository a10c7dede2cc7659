#include "sim/checks/buffer_race.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "sim/checks/poison.h"

namespace sim {
namespace {

using fabric::Access;
using fabric::OperationKind;

const std::byte* PointerAt(std::uint64_t address) {
  return reinterpret_cast<const std::byte*>(address);
}

std::uint64_t Load(const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;

// Both halves of a product, and what was multiplied: where one factor is 0, as of a source that
// holds kOdd itself, the other is not forgotten.
std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return a ^ b ^ static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Four lanes of two words, so that a long source costs little more than reading it: a product is
// there after four cycles, and the next one may begin after one.
std::uint64_t Hash(const std::byte* bytes, std::uint64_t length, std::uint64_t seed) {
  std::uint64_t a = seed + length;
  std::uint64_t b = ~seed;
  std::uint64_t c = seed ^ kOdd;
  std::uint64_t d = seed - kOdd;
  for (; length >= 64; bytes += 64, length -= 64) {
    a = Fold(a ^ Load(bytes), kOdd ^ Load(bytes + 8));
    b = Fold(b ^ Load(bytes + 16), kOdd ^ Load(bytes + 24));
    c = Fold(c ^ Load(bytes + 32), kOdd ^ Load(bytes + 40));
    d = Fold(d ^ Load(bytes + 48), kOdd ^ Load(bytes + 56));
  }
  for (; length >= 8; bytes += 8, length -= 8) a = std::rotl((a ^ Load(bytes)) * kOdd, 29);
  std::uint64_t rest = 0;
  if (length > 0) std::memcpy(&rest, bytes, length);
  a = std::rotl((a ^ rest) * kOdd, 29);
  return ((a * kOdd + b) * kOdd + c) * kOdd + d;
}

// A word that the device reads in one go: whatever a program changes it to, it arrives whole.
bool IsWord(const WatchedRequest& request) {
  const WatchedPiece& piece = request.local[0];
  return request.pieces == 1 && std::has_single_bit(piece.length) && piece.length <= 8 &&
         piece.address % piece.length == 0;
}

// A write to its own source: whatever comes of it, it is the device that changes it.
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
    hash = Hash(bytes, piece.length, hash);
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
    request.hash = Hash(inline_bytes, request.length, 0);
  } else if (there && !WritesItself(request)) {
    request.hashed = true;
    request.hash = HashOfSource(request);
  }
  if (request.kind != OperationKind::kWrite) return;
  const std::byte* bytes = inline_bytes;
  if (there && request.pieces == 1) bytes = PointerAt(request.local[0].address);
  Write(request, request.remote, bytes);
}

void BufferRace::Ended(WatchedRequest& request, bool well) {
  writes_.Remove(request);
  if (!well || !request.hashed || request.is_inline || IsWord(request)) return;
  if (!SourceIsThere(request) || HashOfSource(request) == request.hash) return;
  const WatchedQueue& queue = *request.queue;
  log_.Add(Check::kBufferRace, queue.where, queue.number, [&] {
    return absl::StrCat("the ", request.length, " bytes that ", NameOf(request),
                        " was to carry were changed before the device had read them: they are the "
                        "device's until the completion was read");
  });
}

// ---- What is written ----

// Where the bytes that it writes come from, while they are still there; null: nobody can tell.
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
  return std::any_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
    return queue->nic == request.peer && queue->number == request.peer_queue &&
           queue->qkey == request.peer_qkey;
  });
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

}  // namespace sim
