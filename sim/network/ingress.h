// The receiving side of a NIC's link: several senders share it.
//
//   sender a ── holds back ──► ┐
//   sender b ── holds back ──► ├──► queue ──► the receiver's link
//   sender c ── holds back ──► ┘     full: the packet is lost, and sent again
//
// SRD limits the rate of each connection by its round-trip times, so that queues stay short (L.
// Shalev and others, IEEE Micro 40(6), 2020). So it is here: a sender whose packet waits too long
// learns it when the answer does not come in time, and from then on holds packets back for as long
// as the queue is too long; packets that are held back go one after the other, from all senders.
// Before that, the queue may overflow. When it is empty, and no sender holds back, all senders
// start anew.
//
// The exact behaviour of a sender, and the figures, are a guess.

#ifndef DRYDOCK_SIM_NETWORK_INGRESS_H_
#define DRYDOCK_SIM_NETWORK_INGRESS_H_

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "drydock/coro/time.h"
#include "drydock/sim/network/link.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// The passage of a packet through the link of its receiver.
struct Passage {
  coro::Duration wait{};              // until its last bit is in: other packets come first
  std::uint32_t retransmissions = 0;  // how often it was lost before, for want of room
  bool impairs = false;               // it is the first of its sender that was
};

// A value.
class Ingress {
 public:
  explicit Ingress(const Profile& profile);

  // Packets of one size from one sender, while no others come.
  class Train {
   public:
    // `ingress` outlives it, and is not used before this has ended. `bytes_on_link`: of each.
    Train(Ingress& ingress, std::uint32_t sender, std::uint64_t bytes_on_link)
        : ingress_(ingress),
          sender_(sender),
          takes_(TimeOnLink(bytes_on_link, ingress.rate_)),
          free_ps_(ingress.free_ps_) {}
    ~Train() { ingress_.free_ps_ = free_ps_; }
    Train(const Train&) = delete;
    Train& operator=(const Train&) = delete;

    // The next one reaches the queue at `at`.
    Passage Take(coro::Time at) {
      const auto at_ps = static_cast<std::uint64_t>(at.time_since_epoch().count()) * 1000;
      // The sender's own link has spaced the packets already: an idle receiver adds nothing.
      free_ps_ = std::max(free_ps_, at_ps - std::min(at_ps, takes_)) + takes_;
      const std::uint64_t wait = free_ps_ > at_ps ? free_ps_ - at_ps : 0;
      if (wait > ingress_.short_) [[unlikely]]
        return ingress_.Queue(sender_, at_ps, wait);
      return {.wait = FromPicoseconds(wait)};
    }

   private:
    Ingress& ingress_;
    const std::uint32_t sender_;
    const std::uint64_t takes_;  // picoseconds
    std::uint64_t free_ps_;      // Ingress::free_ps_
  };

  // A packet of so many bytes on the link, from the NIC `sender`, reaches the queue at `at`. Calls
  // are in the order in which packets leave.
  Passage Take(std::uint32_t sender, std::uint64_t bytes_on_link, coro::Time at) {
    return Train(*this, sender, bytes_on_link).Take(at);
  }

  // How long the NIC `sender` holds back a packet that would reach the queue at `at`, if it left
  // now. Counts on it that the packet leaves then, and `behind` it others of so many bytes.
  coro::Duration Hold(std::uint32_t sender, std::uint64_t bytes_on_link, coro::Time at,
                      std::uint64_t behind = 0);

 private:
  static constexpr coro::Duration FromPicoseconds(std::uint64_t ps) {
    return coro::Duration(static_cast<std::int64_t>(ps / 1000));
  }

  struct Sender {
    std::uint64_t slow_from_ps = 0;  // it knows of the queue
    bool impaired = false;           // a packet of it was lost
  };

  // A packet that would wait longer than `short_`: its sender will know of it, or it is lost.
  Passage Queue(std::uint32_t sender, std::uint64_t at_ps, std::uint64_t wait);

  std::uint64_t rate_;    // femtoseconds for each byte
  std::uint64_t target_;  // the figures of the profile, in picoseconds
  std::uint64_t longest_;
  std::uint64_t short_;  // the shorter one of these two that is not 0
  std::uint64_t retransmit_delay_;
  std::uint64_t answer_;            // from when a packet is in until its sender knows
  std::uint64_t free_ps_ = 0;       // picoseconds since the start of time
  std::uint64_t next_held_ps_ = 0;  // the same: until then others, held back as well, go
  absl::flat_hash_map<std::uint32_t, Sender> slow_;  // whose packets have waited; only looked up
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_NETWORK_INGRESS_H_
