#include "drydock/sim/rdm/scatter_list.h"

#include <algorithm>
#include <cstring>

#include "drydock/coro/check.h"

namespace drydock::sim::rdm {

ScatterList::ScatterList(const fabric::LocalBuffer& first, fabric::MoreSegments more) {
  DD_CHECK(more.size() < kMaxSegments, "a scatter list of too many segments");
  Append(first);
  for (const fabric::LocalBuffer& segment : more) Append(segment);
}

fabric::LocalBuffer ScatterList::PieceAt(std::uint64_t offset) const {
  for (const fabric::LocalBuffer& segment : segments()) {
    if (offset < segment.length_bytes) {
      return {segment.data + offset, static_cast<std::size_t>(segment.length_bytes - offset),
              segment.local_key};
    }
    offset -= segment.length_bytes;
  }
  DD_CHECK(false, "a piece past the end of its list");
  return {};
}

ScatterList ScatterList::Sub(std::uint64_t offset, std::uint64_t length) const {
  ScatterList part;
  length = std::min(length, length_ - offset);
  while (length > 0) {
    fabric::LocalBuffer piece = PieceAt(offset);
    piece.length_bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.length_bytes, length));
    part.Append(piece);
    offset += piece.length_bytes;
    length -= piece.length_bytes;
  }
  return part;
}

bool ScatterList::Allowed(const MemoryRegistry& memory, fabric::Access access) const {
  const auto allowed = [&](const fabric::LocalBuffer& segment) {
    return memory.Allows(segment, access);
  };
  return std::all_of(segments().begin(), segments().end(), allowed);
}

bool ScatterList::CopyIn(const MemoryRegistry& memory, fabric::Access access, std::uint64_t offset,
                         std::span<const std::byte> bytes) const {
  const ScatterList target = Sub(offset, bytes.size());
  if (!target.Allowed(memory, access)) return false;
  for (const fabric::LocalBuffer& piece : target.segments()) {
    std::memcpy(piece.data, bytes.data(), piece.length_bytes);
    bytes = bytes.subspan(piece.length_bytes);
  }
  return true;
}

bool ScatterList::CopyOut(const MemoryRegistry& memory, fabric::Access access, std::uint64_t offset,
                          std::span<std::byte> bytes) const {
  if (!Sub(offset, bytes.size()).Allowed(memory, access)) return false;
  CopyOut(offset, bytes);
  return true;
}

void ScatterList::CopyOut(std::uint64_t offset, std::span<std::byte> bytes) const {
  const ScatterList source = Sub(offset, bytes.size());
  for (const fabric::LocalBuffer& piece : source.segments()) {
    std::memcpy(bytes.data(), piece.data, piece.length_bytes);
    bytes = bytes.subspan(piece.length_bytes);
  }
}

}  // namespace drydock::sim::rdm
