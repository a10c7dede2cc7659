// Between two NICs: many paths, each with a delay of its own; packets that are lost and sent again,
// or that arrive twice; directions that a security group blocks.
//
//   sender's link ──► path 0..n-1, drawn per packet ──► receiver
//
// SRD spreads the packets of one operation over many paths, and promises no order
// (amzn/amzn-drivers SRD.txt).

#ifndef SIM_WIRE_H_
#define SIM_WIRE_H_

#include <cstdint>
#include <set>
#include <utility>

#include "coro/time.h"
#include "sim/calm.h"
#include "sim/profile.h"
#include "sim/random.h"

namespace sim {

class Nic;

// What a packet is for: packets of one operation draw independently.
enum class PacketKind : std::uint64_t { kRequest, kResponse, kAnswer };

// How one packet travels.
struct Flight {
  bool arrives = false;    // false: the direction is blocked, or the receiver is dead
  coro::Duration delay{};  // from leaving the sender's link
  std::uint32_t retransmissions = 0;
  bool twice = false;             // a second copy arrives,
  coro::Duration second_delay{};  // after this
};

// Not thread-safe. One per world.
class Wire {
 public:
  Wire(std::uint64_t seed, const Profile& profile) : seed_(seed), profile_(profile) {}

  // The journey of packet `packet` of the operation with this sequence number. Depends on nothing
  // else, but where paths are loaded unevenly (Profile::path_imbalance) on what `from` has sent.
  Flight Send(const Nic& from, const Nic& to, std::uint64_t operation, PacketKind kind,
              std::uint32_t packet) const;

  // Operations that meet nothing but the least delay from now on, on the wire and in the NICs.
  void UseCalm(Calm calm) { calm_ = std::move(calm); }
  const Calm& calm() const { return calm_; }

  // Whether anything gets from one NIC to the other.
  bool Passes(const Nic& from, const Nic& to) const {
    return IsAlive(to) && (blocked_.empty() || !IsBlocked(from, to));
  }

  // Whether no security group blocks either direction between two NICs.
  bool Connects(const Nic& one, const Nic& other) const {
    return blocked_.empty() || (!IsBlocked(one, other) && !IsBlocked(other, one));
  }

  // A security group that lets nothing pass from one NIC to the other, from now on.
  void Block(const Nic& from, const Nic& to);
  void Unblock(const Nic& from, const Nic& to);

 private:
  static bool IsAlive(const Nic& nic);
  bool IsBlocked(const Nic& from, const Nic& to) const;
  coro::Duration PathDelay(const Nic& from, const Nic& to, std::uint64_t path,
                           PacketKind kind) const;

  const std::uint64_t seed_;
  const Profile& profile_;
  Calm calm_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> blocked_;  // indices of NICs: from, to
};

}  // namespace sim

#endif  // SIM_WIRE_H_
