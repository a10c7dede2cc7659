// One work request between the moment the device fetched it and its completion.

#ifndef DRYDOCK_SIM_DEVICE_OPERATION_H_
#define DRYDOCK_SIM_DEVICE_OPERATION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drydock/coro/time.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/memory/memory_table.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/network/operation_draws.h"

namespace drydock::sim {

class PayloadElsewhere;
struct NicState;

// Slot and generation in the operation table: the id of an operation that has ended finds nothing.
struct OperationId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  std::uint64_t Pack() const { return static_cast<std::uint64_t>(generation) << 32 | slot; }
  static OperationId Unpack(std::uint64_t packed) {
    return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32)};
  }
  friend bool operator==(const OperationId&, const OperationId&) = default;
};

// Most bytes that a work request carries by itself, and most local segments of one.
inline constexpr std::size_t kMostInlineBytes = 80;
inline constexpr std::size_t kMostSendSegments = 2;

// Trivially copyable; `inline_data` is not initialised. Fields that the device reads from the work
// request come from a program, or from a GPU: nothing about them is trusted.
struct Operation {
  OperationId id;
  std::uint64_t sequence = 0;  // over all operations of the world: random draws depend on it
  OperationDraws draws;

  // --- The initiator ---
  NicState* initiator = nullptr;
  std::uint32_t source = 0;  // QueuePair::serial; 0: the work request came from another process
  std::uint32_t qkey = 0;    // of its queue pair, when the work request was fetched
  std::uint16_t queue_pair = 0;
  std::uint16_t request_id = 0;
  ProtectionDomain domain = 0;
  // MemoryTable::withdrawals of the initiator when all local memory was found valid; of no table:
  // it was not looked at.
  std::uint64_t withdrawals = UINT64_MAX;

  // --- The request ---
  fabric::OperationKind kind = fabric::OperationKind::kSend;  // kSend, kWrite or kRead
  bool datagram = false;
  bool has_immediate = false;
  bool completion_requested = true;     // of a success there is none otherwise
  bool is_inline = false;               // the payload was copied when the work request was fetched
  bool unsolicited_immediates = false;  // QueuePair::unsolicited_immediates of its queue pair
  std::uint8_t segment_count = 0;
  std::uint32_t immediate = 0;
  std::uint64_t length = 0;  // bytes of payload
  std::array<Segment, kMostSendSegments> segments{};
  std::uint64_t remote_address = 0;  // writes and reads
  std::uint32_t remote_key = 0;

  // --- The target ---
  std::uint32_t destination_qkey = 0;
  std::uint16_t address_handle = 0;
  std::uint16_t destination_queue_pair = 0;
  NicState* peer = nullptr;  // null: no machine has that address
  // Of the queue pair that has taken its first packet; 0: none has.
  std::uint32_t target_serial = 0;

  // --- Its packets ---
  std::uint64_t packet_bytes = 0;  // of payload in each packet but the last
  std::uint32_t packets = 1;       // that carry data, or the one packet of an empty operation
  std::uint32_t next_packet = 0;   // first that was not sent yet
  std::uint32_t copies = 0;        // packets that will be placed, duplicates included
  std::uint32_t placed = 0;        // whose bytes are where they belong
  std::uint64_t bytes_placed = 0;  // copies not counted
  std::uint32_t together = 1;      // packets of the wire that travel as one of these

  // --- How far it is ---
  std::uint32_t rnr_attempts = 0;  // how often the target had no receive
  std::uint8_t rnr_retries = 0;    // how often it looks for a receive again
  std::uint8_t status = 0;         // how it ended
  bool ended = false;              // nothing more is placed
  bool answered = false;           // the completion is on its way
  bool silent = false;             // no answer is on its way: the time-out runs, or will
  bool asked_again = false;        // after a time-out it looks for its receive once more
  bool undisturbed = false;        // see sim/network/undisturbed.h
  bool faulted = false;            // a fault plan has something in store for it (fault_points.h)
  bool remote = false;             // it has reached a NIC of another process, which may know of it
  PayloadElsewhere* payload = nullptr;  // where its bytes are, if not in this process's memory

  std::array<std::byte, kMostInlineBytes> inline_data;

  Operation() {}  // NOLINT: leaves inline_data alone

  // Whose machine has the bytes in its memory, and to whose they go. REQUIRES: there is a peer.
  const NicState& Reader() const {
    return kind == fabric::OperationKind::kRead ? *peer : *initiator;
  }
  const NicState& Placer() const {
    return kind == fabric::OperationKind::kRead ? *initiator : *peer;
  }

  // Every byte has left the sender and is where it belongs.
  bool all_placed() const { return next_packet == packets && placed == copies; }

  // Decides which packets carry its payload: one where there are no more bytes than `most_bytes`,
  // and for a message. `many`: so many travel as one.
  void Divide(std::uint64_t most_bytes, std::uint32_t many = 1) {
    together = many;
    most_bytes *= many;
    const bool one = kind == fabric::OperationKind::kSend || length <= most_bytes;
    packet_bytes = one ? length : most_bytes;
    packets = one ? 1 : static_cast<std::uint32_t>((length + most_bytes - 1) / most_bytes);
    copies = packets;
  }

  // The payload of a packet. REQUIRES: packet < packets.
  Range PacketRange(std::uint32_t packet) const {
    const std::uint64_t offset = packet * packet_bytes;
    return {offset, std::min(packet_bytes, length - offset)};
  }

  // The number by which a packet draws: that of the first packet of its piece.
  std::uint32_t FirstOf(std::uint32_t packet) const { return packet * together; }

  // Its local memory.
  std::span<const Segment> local() const { return {segments.data(), segment_count}; }

  // Calls visit(piece) for each piece of local memory that holds payload bytes [range), in order.
  template <typename Visit>
  void Walk(Range range, Visit visit) const {
    WalkSegments(local(), range, visit);
  }
};

// Payload in another process's memory (sim/hosts): it came with the packets, or is to be read from
// there. Owned by the code that brought the operation here.
class PayloadElsewhere {
 public:
  virtual ~PayloadElsewhere() = default;
  // Copies payload bytes [range), of a packet that has arrived, to `target`, which is host memory
  // or a device's. False: they cannot be had any more. A packet's bytes may be gone once all of
  // them were copied.
  virtual bool Fetch(const Operation& operation, Range range, std::byte* target) = 0;
};

// A packet in an event, in Event::a: its number, and flags of this piece.
struct PacketFlags {
  static constexpr std::uint32_t kSecondCopy = 1u << 31;   // the packet arrives again
  static constexpr std::uint32_t kOfRead = 1u << 30;       // it carries data of a read
  static constexpr std::uint32_t kOfMessage = 1u << 29;    // it is a message
  static constexpr std::uint32_t kCopyFollows = 1u << 28;  // to another process: so will a copy
  static constexpr std::uint32_t kNumber = kCopyFollows - 1;

  static std::uint32_t NumberOf(std::uint32_t flags) { return flags & kNumber; }
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_OPERATION_H_
