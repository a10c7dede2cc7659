// One work request between the moment the device fetched it and its completion.

#ifndef SIM_OPERATION_H_
#define SIM_OPERATION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/operation.h"
#include "sim/efa_address.h"
#include "sim/memory_bus.h"
#include "sim/memory_table.h"

namespace sim {

class Nic;
struct WatchedRequest;

// Slot and generation in the operation table: the id of an operation that has ended finds nothing.
struct OperationId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  std::uint64_t Pack() const { return static_cast<std::uint64_t>(generation) << 32 | slot; }
  static OperationId Unpack(std::uint64_t packed) {
    return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32)};
  }
};

// A piece of registered memory, as a work request names it.
struct Segment {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

// A range of an operation's bytes, the payload of one packet.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

inline std::byte* PointerTo(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

// Calls visit(piece) for each piece of `segments`, laid end to end, that holds bytes [range), in
// order.
template <typename Visit>
void WalkSegments(std::span<const Segment> segments, Range range, Visit visit) {
  for (const Segment& segment : segments) {
    if (range.length == 0) return;
    if (range.offset >= segment.length) {
      range.offset -= segment.length;
      continue;
    }
    const std::uint64_t bytes =
        std::min<std::uint64_t>(range.length, segment.length - range.offset);
    visit(Segment{segment.address + range.offset, static_cast<std::uint32_t>(bytes), segment.lkey});
    range = {0, range.length - bytes};
  }
}

// Most bytes that a work request carries by itself, and most local segments of one.
inline constexpr std::size_t kMostInlineBytes = 80;
inline constexpr std::size_t kMostSendSegments = 2;

struct Operation;

// Payload that is not in this process's memory (sim/hosts): it came with the packets, or is to be
// read from the other process. Belongs to whoever brought the operation here.
class RemoteBytes {
 public:
  virtual ~RemoteBytes() = default;
  // Copies payload bytes [range), of a packet that has arrived, to `target`. False: they cannot be
  // had any more. A packet's bytes may be gone once all of them were copied.
  virtual bool Fetch(const Operation& operation, Range range, std::byte* target) = 0;
};

// Trivially copyable; `inline_data` is not initialised. Fields that the device reads from the work
// request come from a program, or from a GPU: nothing about them is trusted.
struct Operation {
  OperationId id;
  std::uint64_t sequence =
      0;  // over all operations of the world: the identity that random draws depend on

  Nic* initiator = nullptr;
  std::uint32_t qkey = 0;  // of our queue pair, to notice that it was replaced
  ProtectionDomain domain = 0;
  std::uint16_t queue_pair = 0;
  std::uint16_t request_id = 0;
  fabric::OperationKind kind = fabric::OperationKind::kSend;  // kSend, kWrite or kRead
  bool datagram = false;
  bool has_immediate = false;
  bool is_inline = false;  // the payload was copied when the work request was fetched
  std::uint32_t immediate = 0;

  std::uint64_t length = 0;  // bytes of payload
  std::array<Segment, kMostSendSegments> segments{};
  std::uint8_t segment_count = 0;
  std::uint64_t remote_address = 0;  // writes and reads
  std::uint32_t remote_key = 0;

  std::uint16_t address_handle = 0;
  std::uint16_t destination_queue_pair = 0;
  std::uint32_t destination_qkey = 0;
  Nic* peer = nullptr;  // null: no machine has that address

  std::uint64_t bytes_placed = 0;     // copies not counted, for the checks
  WatchedRequest* watched = nullptr;  // what the checks know of it; null: nothing

  std::uint32_t packets = 1;       // that carry data, or the one packet of an empty operation
  std::uint32_t next_packet = 0;   // first that was not sent yet
  std::uint32_t copies = 0;        // packets that will be placed, duplicates included
  std::uint32_t placed = 0;        // whose bytes are where they belong
  std::uint32_t rnr_attempts = 0;  // how often the target had no receive
  std::uint8_t status = 0;         // how it ended
  bool ended = false;              // nothing more is placed
  bool answered = false;           // the completion is on its way
  bool timing_out = false;         // nobody answers
  bool faulted = false;            // a fault plan has something in store for it (sim/faults)
  bool abroad = false;             // it has reached a NIC of another process, which may know of it
  std::uint8_t rnr_retries = 0;    // how often it looks for a receive again
  RemoteBytes* bytes = nullptr;    // of an operation between processes, when it has payload

  std::array<std::byte, kMostInlineBytes> inline_data;

  Operation() {}  // NOLINT: leaves inline_data alone

  // False for an operation of live mode, which has ended before anybody could ask for its id.
  bool in_table() const { return id.generation != 0; }

  // Every byte has left the sender and is where it belongs.
  bool all_placed() const { return next_packet == packets && placed == copies; }

  // Calls visit(piece) for each piece of local memory that holds payload bytes [range), in order.
  template <typename Visit>
  void Walk(Range range, Visit visit) const {
    WalkSegments({segments.data(), segment_count}, range, visit);
  }

  // Copies payload bytes [range) to `target`. False: they are in another process, and are gone.
  bool CopyOut(MemoryBus& bus, Range range, std::byte* target) const {
    if (range.length == 0) return true;
    if (bytes != nullptr) [[unlikely]] {
      return bytes->Fetch(*this, range, target);
    }
    if (is_inline) {
      bus.Copy(target, inline_data.data() + range.offset, range.length);
      return true;
    }
    if (segment_count == 1) {  // nearly always
      bus.Copy(target, PointerTo(segments[0].address + range.offset), range.length);
      return true;
    }
    Walk(range, [&](const Segment& piece) {
      bus.Copy(target, PointerTo(piece.address), piece.length);
      target += piece.length;
    });
    return true;
  }

  // Copies the bytes at `source` to where payload bytes [range) belong. False: as CopyOut.
  bool CopyIn(MemoryBus& bus, Range range, const std::byte* source) const {
    bool copied = true;
    Walk(range, [&](const Segment& piece) {
      if (bytes != nullptr) [[unlikely]] {
        copied =
            bytes->Fetch(*this, {range.offset, piece.length}, PointerTo(piece.address)) && copied;
        range.offset += piece.length;
        return;
      }
      bus.Copy(PointerTo(piece.address), source, piece.length);
      source += piece.length;
    });
    return copied;
  }
};

}  // namespace sim

#endif  // SIM_OPERATION_H_
