// The payload of one operation between two processes: the bytes that came with its packets, and
// where the rest is.

#ifndef DRYDOCK_SIM_HOSTS_PAYLOAD_H_
#define DRYDOCK_SIM_HOSTS_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drydock/sim/device/operation.h"
#include "drydock/sim/hosts/memory_access.h"
#include "drydock/sim/hosts/message.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// How often a packet may come. A device sends it again, and a fault plan some times more.
inline constexpr std::uint64_t kMostPacketArrivals = 64;

// Bytes of one process's messages that wait here until they are placed, with the room that keeping
// them takes.
struct PayloadRoom {
  const std::uint64_t most;
  std::uint64_t held = 0;
};

// Not thread-safe. What it refers to outlives it.
class Payload final : public PayloadElsewhere {
 public:
  // `room`: of this one and the others of its process.
  Payload(std::uint64_t foreign, MemoryBus& bus, MemoryAccess& access, PayloadRoom& room)
      : foreign_(foreign), bus_(bus), access_(access), room_(room) {}
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;
  ~Payload() override { Drop(); }

  // The operation's id in the other process, for shadows.
  std::uint64_t foreign() const { return foreign_; }

  // A packet that came, with payload bytes [packet). `sources`: pieces of the other process's
  // memory, laid end to end, where the payload is that comes in no message. False: the message's
  // payload has another length, or is where it cannot be, or there is no room.
  bool Take(const Incoming& incoming, Range packet, std::span<const Segment> sources);
  // Nothing is fetched any more: lets go of what came in messages.
  void Drop();

  bool Fetch(const Operation& operation, Range range, std::byte* target) override;

 private:
  struct Piece {
    Range range;
    std::uint64_t left = 0;  // bytes that were not taken yet
    std::vector<std::byte> bytes;

    std::uint64_t held() const { return sizeof(Piece) + bytes.size(); }
  };

  const std::uint64_t foreign_;
  MemoryBus& bus_;
  MemoryAccess& access_;
  PayloadRoom& room_;
  std::vector<Piece> pieces_;
  std::vector<Segment> sources_;
  std::uint32_t incarnation_ = 0;  // whose memory the sources are in; 0: there are none
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_PAYLOAD_H_
