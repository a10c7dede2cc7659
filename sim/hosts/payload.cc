#include "drydock/sim/hosts/payload.h"

#include <algorithm>
#include <utility>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/nic_state.h"

namespace drydock::sim {

bool Payload::Take(const Incoming& incoming, Range packet, std::span<const Segment> sources) {
  const std::span<const std::byte> bytes = incoming.payload;
  if (incoming.message.place == PayloadPlace::kSender) {
    const std::uint32_t owner = access_.PayloadOwner();
    if (packet.length == 0 || owner == 0) return false;
    if (incarnation_ != 0) return true;
    // When its memory can be read no more, the bytes will not be there.
    incarnation_ = owner;
    sources_.assign(sources.begin(), sources.end());
    return true;
  }
  // Of a packet that is cut, only the bytes that came reach memory.
  const bool cut = incoming.message.cut != 0;
  if (cut ? bytes.size() > packet.length : bytes.size() != packet.length) return false;
  if (!cut && bytes.empty()) return true;
  if (room_.held + sizeof(Piece) + bytes.size() > room_.most) return false;
  pieces_.push_back(
      {.range = packet, .left = packet.length, .bytes = std::vector(bytes.begin(), bytes.end())});
  room_.held += pieces_.back().held();
  return true;
}

void Payload::Drop() {
  for (const Piece& piece : std::exchange(pieces_, {})) room_.held -= piece.held();
}

// A packet that came twice has two pieces: all of them together are taken as often as they came.
bool Payload::Fetch(const Operation& operation, Range range, std::byte* target) {
  const auto holds = [&](const Piece& piece) {
    const std::uint64_t begin = range.offset - piece.range.offset;  // huge if it is before
    return begin <= piece.range.length && range.length <= piece.range.length - begin;
  };
  const auto piece = std::find_if(pieces_.begin(), pieces_.end(), holds);
  if (piece == pieces_.end()) {
    return access_.Read(incarnation_, sources_, range, target, operation.Placer().index());
  }
  const std::uint64_t begin = range.offset - piece->range.offset;
  if (begin < piece->bytes.size()) {
    const std::uint64_t kept = std::min<std::uint64_t>(range.length, piece->bytes.size() - begin);
    bus_.Copy(target, piece->bytes.data() + begin, kept, {.into = operation.Placer().index()});
  }
  piece->left -= std::min(piece->left, range.length);
  // A fault may place it again; a message whose receive fails goes into the next one.
  const bool once = !operation.faulted && operation.kind != fabric::OperationKind::kSend;
  if (piece->left == 0 && once) {
    room_.held -= piece->held();
    std::swap(*piece, pieces_.back());
    pieces_.pop_back();
  }
  return true;
}

}  // namespace drydock::sim
