// Between two NICs: many paths, each with a delay of its own; packets that are lost and sent again,
// or that arrive twice; directions that a security group blocks.
//
//   sender's link ──► path 0..n-1, drawn per packet ──► receiver
//
// SRD spreads the packets of one operation over many paths, and promises no order
// (amzn/amzn-drivers SRD.txt).

#ifndef DRYDOCK_SIM_NETWORK_WIRE_H_
#define DRYDOCK_SIM_NETWORK_WIRE_H_

#include <cstdint>
#include <set>
#include <utility>

#include "drydock/coro/time.h"
#include "drydock/sim/network/operation_draws.h"
#include "drydock/sim/network/packet_draws.h"
#include "drydock/sim/network/port.h"
#include "drydock/sim/network/undisturbed.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/random.h"

namespace drydock::sim {

// How one packet travels.
struct Flight {
  bool arrives = false;    // false: the direction is blocked, or the receiver is dead
  coro::Duration delay{};  // from leaving the sender's link
  std::uint32_t retransmissions = 0;
  bool twice = false;             // a second copy arrives,
  coro::Duration second_delay{};  // after this
};

// The rate limit of a packet beside that of the link of `from`, in femtoseconds for each byte; 0:
// none. `response`: it carries data that `to` reads. Between rails, and back to the NIC itself, all
// of its packets are slower: that congestion control would let others pass is not published.
std::uint64_t Slowness(const Port& from, const Port& to, bool response);

// Not thread-safe. One per world.
class Wire {
 public:
  // `profile` outlives the wire.
  Wire(std::uint64_t seed, const Profile& profile)
      : profile_(profile),
        draws_base_(RandomStream(seed, Subsystem::kWire, 0, 0).At(0)),
        path_base_(RandomStream(seed, Subsystem::kPath, 0, 0).At(0)),
        tail_(profile.one_way.tail_one_in),
        lost_(profile.retransmit_one_in),
        quiet_(profile.one_way.jitter == coro::Duration::zero() &&
               profile.one_way.tail_one_in == 0 && profile.path_spread == coro::Duration::zero() &&
               profile.path_imbalance == 0 && profile.retransmit_one_in == 0) {}

  // The draws of the operation with this sequence number.
  OperationDraws DrawsOf(std::uint64_t operation) const { return {draws_base_, operation}; }

  // The journey of packet `packet` of an operation: `purpose` says in which direction. Depends on
  // nothing but the draws and the two ports, and, where paths are loaded unevenly
  // (Profile::path_imbalance), on what `from` has sent. `undisturbed`: the operation is one.
  Flight Send(const Port& from, const Port& to, const OperationDraws& draws, DrawPurpose purpose,
              std::uint32_t packet, bool undisturbed) const;

  // The same for a packet that left when the slowest path was so far `behind` (Link::behind).
  // REQUIRES: the direction is not blocked.
  Flight Travel(const Port& from, const Port& to, const OperationDraws& draws, DrawPurpose purpose,
                std::uint32_t packet, bool undisturbed, coro::Duration behind) const;

  // Whether nothing but delays of every day happens to a packet: no tail, no loss, no second copy.
  bool IsOrdinary(const Port& to, const OperationDraws& draws, DrawPurpose purpose,
                  std::uint32_t packet, bool undisturbed) const {
    if (IsCalm(to, undisturbed)) return true;
    const PacketDraws drawn(draws, purpose, packet);
    return !tail_(drawn.tail()) && !lost_(drawn.loss()) && !to.twice(drawn.copy());
  }

  // The longest flight of such a packet, beside how far the slowest path is behind.
  coro::Duration longest_ordinary() const {
    return profile_.one_way.fixed + profile_.one_way.jitter + profile_.path_spread;
  }

  // Operations that meet nothing but the least delay from now on, on the wire and in the NICs.
  void UseUndisturbed(Undisturbed undisturbed) { undisturbed_ = undisturbed; }
  const Undisturbed& undisturbed() const { return undisturbed_; }

  // Whether anything gets from one NIC to the other.
  bool Passes(const Port& from, const Port& to) const {
    return to.alive && (blocked_.empty() || !IsBlocked(from, to));
  }

  // A security group that lets nothing pass from one NIC to the other, from now on.
  void Block(const Port& from, const Port& to) { blocked_.insert({from.index, to.index}); }
  void Unblock(const Port& from, const Port& to) { blocked_.erase({from.index, to.index}); }

 private:
  bool IsBlocked(const Port& from, const Port& to) const {
    return blocked_.count({from.index, to.index}) > 0;
  }
  // Nothing is drawn for it.
  bool IsCalm(const Port& to, bool undisturbed) const {
    return (quiet_ && to.profile.duplicate_one_in == 0) || undisturbed;
  }
  coro::Duration PathDelay(const Port& from, const Port& to, std::uint64_t path,
                           DrawPurpose purpose, coro::Duration behind) const;

  const Profile& profile_;
  const std::uint64_t draws_base_;
  const std::uint64_t path_base_;
  const OneIn tail_;
  const OneIn lost_;
  const bool quiet_;  // packets all take the same time
  Undisturbed undisturbed_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> blocked_;  // indices of NICs: from, to
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_NETWORK_WIRE_H_
