// A message's bytes in memory: up to four registered buffers, one after the other.

#ifndef DRYDOCK_SIM_RDM_SCATTER_LIST_H_
#define DRYDOCK_SIM_RDM_SCATTER_LIST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/rdm/memory_registry.h"

namespace drydock::sim::rdm {

inline constexpr std::size_t kMaxSegments = 4;

// A value; it refers to the memory, and owns none of it.
class ScatterList {
 public:
  ScatterList() = default;
  explicit ScatterList(const fabric::LocalBuffer& buffer) { Append(buffer); }
  // REQUIRES: at most kMaxSegments in all.
  ScatterList(const fabric::LocalBuffer& first, fabric::MoreSegments more);

  std::span<const fabric::LocalBuffer> segments() const { return {segments_.data(), count_}; }
  std::uint64_t length() const { return length_; }

  // The rest of the segment that holds byte `offset`, from there on. REQUIRES: offset < length().
  fabric::LocalBuffer PieceAt(std::uint64_t offset) const;

  // The first bytes of each segment as one list of at most `length` bytes, from `offset` on.
  // REQUIRES: offset <= length().
  ScatterList Sub(std::uint64_t offset, std::uint64_t length) const;

  // True when every segment is in live memory with this right.
  bool Allowed(const MemoryRegistry& memory, fabric::Access access) const;

  // Copies bytes to or from `offset` on. False, and no byte moved, when one of the segments that
  // are touched is not allowed. REQUIRES: the range lies within the list.
  bool CopyIn(const MemoryRegistry& memory, fabric::Access access, std::uint64_t offset,
              std::span<const std::byte> bytes) const;
  bool CopyOut(const MemoryRegistry& memory, fabric::Access access, std::uint64_t offset,
               std::span<std::byte> bytes) const;
  // The same for bytes that need no registration.
  void CopyOut(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  void Append(const fabric::LocalBuffer& buffer) {
    segments_[count_++] = buffer;
    length_ += buffer.length_bytes;
  }

  std::array<fabric::LocalBuffer, kMaxSegments> segments_{};
  std::size_t count_ = 0;
  std::uint64_t length_ = 0;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_SCATTER_LIST_H_
