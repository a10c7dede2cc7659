// The payload of one operation between two processes: the bytes that came with its packets, and
// where the rest is.

#ifndef DRYDOCK_SIM_HOSTS_PAYLOAD_H_
#define DRYDOCK_SIM_HOSTS_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drydock/sim/device/operation.h"
#include "drydock/sim/memory/memory_bus.h"

namespace drydock::sim {

// The other process, as a reader of its memory sees it.
struct AcrossState {
  std::int32_t pid = 0;
  std::uint32_t readable = 0;  // its incarnation when its memory can be read; 0: it cannot
  bool doubtful = false;       // something of it could not be read
  std::uint64_t bytes_across = 0;
};

// Not thread-safe. What it refers to outlives it.
class Payload final : public PayloadElsewhere {
 public:
  Payload(std::uint64_t foreign, MemoryBus& bus, AcrossState& across)
      : foreign_(foreign), bus_(bus), across_(across) {}

  // The operation's id in the other process, for shadows.
  std::uint64_t foreign() const { return foreign_; }

  // A packet that came in a message. Only its first bytes.size() bytes reach memory.
  void Add(Range packet, std::span<const std::byte> bytes);
  // Bytes that come in no message are in these pieces of the other process's memory, laid end to
  // end, as long as it is this incarnation.
  void SetSources(std::uint32_t incarnation, std::span<const Segment> sources);
  bool has_sources() const { return incarnation_ != 0; }

  bool Fetch(const Operation& operation, Range range, std::byte* target) override;

 private:
  struct Piece {
    Range range;
    std::uint64_t left = 0;  // bytes that were not taken yet
    std::vector<std::byte> bytes;
  };

  bool FetchAcross(const Operation& operation, Range range, std::byte* target);

  const std::uint64_t foreign_;
  MemoryBus& bus_;
  AcrossState& across_;
  std::vector<Piece> pieces_;
  std::vector<Segment> sources_;
  std::uint32_t incarnation_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_PAYLOAD_H_
