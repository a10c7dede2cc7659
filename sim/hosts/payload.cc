#include "drydock/sim/hosts/payload.h"

#include <algorithm>
#include <utility>

#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/hosts/cross_memory.h"
#include "drydock/sim/memory/poison.h"

namespace drydock::sim {

void Payload::Add(Range packet, std::span<const std::byte> bytes) {
  pieces_.push_back({.range = packet,
                     .left = packet.length,
                     .bytes = std::vector<std::byte>(bytes.begin(), bytes.end())});
}

void Payload::SetSources(std::uint32_t incarnation, std::span<const Segment> sources) {
  incarnation_ = incarnation;
  sources_.assign(sources.begin(), sources.end());
}

// A packet that came twice has two pieces: all of them together are taken as often as they came.
bool Payload::Fetch(const Operation& operation, Range range, std::byte* target) {
  const auto holds = [&](const Piece& piece) {
    const std::uint64_t begin = range.offset - piece.range.offset;  // huge if it is before
    return begin <= piece.range.length && range.length <= piece.range.length - begin;
  };
  const auto piece = std::find_if(pieces_.begin(), pieces_.end(), holds);
  if (piece == pieces_.end()) return FetchAcross(operation, range, target);
  const std::uint64_t begin = range.offset - piece->range.offset;
  if (begin < piece->bytes.size()) {
    const std::uint64_t kept = std::min<std::uint64_t>(range.length, piece->bytes.size() - begin);
    bus_.Copy(target, piece->bytes.data() + begin, kept, {.into = operation.Placer().index()});
  }
  piece->left -= std::min(piece->left, range.length);
  // A fault may place it again; a message whose receive fails goes into the next one.
  const bool once = !operation.faulted && operation.kind != fabric::OperationKind::kSend;
  if (piece->left == 0 && once) {
    std::swap(*piece, pieces_.back());
    pieces_.pop_back();
  }
  return true;
}

bool Payload::FetchAcross(const Operation& operation, Range range, std::byte* target) {
  if (incarnation_ == 0 || across_.readable != incarnation_) return false;
  std::uint64_t missing = range.length;
  bool read = true;
  WalkSegments(sources_, range, [&](const Segment& source) {
    if (!read) return;
    if (bus_.IsHost(reinterpret_cast<std::uint64_t>(target))) {
      const Lifted lifted(target, source.length);
      read = ReadAcross(across_.pid, source.address, target, source.length);
    } else {
      std::vector<std::byte> bounce(source.length);
      read = ReadAcross(across_.pid, source.address, bounce.data(), source.length);
      if (read) {
        bus_.Copy(target, bounce.data(), source.length, {.into = operation.Placer().index()});
      }
    }
    target += source.length;
    missing -= source.length;
  });
  if (!read || missing > 0) {
    across_.doubtful = true;
    return false;
  }
  across_.bytes_across += range.length;
  return true;
}

}  // namespace drydock::sim
