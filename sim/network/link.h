// A NIC's own link, and how far behind it the slowest of the paths is that it sends by.
//
//   packets ──► link ══► path 0..n-1, as many packets each ══► receiver
//                        one of them has less to give: it falls behind while the link is full,
//                        and catches up while the link is idle
//
// SRD sprays packets evenly over paths that other traffic loads unevenly. A sender that always has
// something to send meets that as delay only, for the link stays full; one that waits for the last
// packet of many waits for the slowest path. How far that path can fall behind is bounded:
// congestion control moves the packets elsewhere.
//
// An assumption, with two figures that fit the published ones of p5 (docs/performance.md).

#ifndef DRYDOCK_SIM_NETWORK_LINK_H_
#define DRYDOCK_SIM_NETWORK_LINK_H_

#include <algorithm>
#include <cstdint>

#include "drydock/coro/time.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// A rate as the time of one byte, in femtoseconds: of 366 Gbit/s it is 21.857 picoseconds, and
// whole ones would be 4 % less.
constexpr std::uint64_t FemtosecondsPerByte(double gbps) {
  return static_cast<std::uint64_t>(8e6 / gbps);
}

// How long so many bytes take at that rate, in picoseconds. REQUIRES: the product fits into 64 bits.
constexpr std::uint64_t TimeOnLink(std::uint64_t bytes, std::uint64_t femtoseconds_per_byte) {
  return bytes * femtoseconds_per_byte / 1000;
}

// A value.
class Link {
 public:
  explicit Link(const Profile& profile)
      : rate_(profile.instant
                  ? 0
                  : std::max(FemtosecondsPerByte(profile.link_gbps),
                             profile.dma_gbps > 0 ? FemtosecondsPerByte(profile.dma_gbps) : 0)),
        slowest_(
            profile.path_imbalance > 0
                ? static_cast<std::uint64_t>(8e6 / profile.link_gbps * (1 + profile.path_imbalance))
                : 0),
        most_behind_(static_cast<std::uint64_t>(profile.path_lag.count()) * 1000) {}

  // The time at which the last bit has left, of a packet that is ready to leave at `ready`.
  // `slowness`: femtoseconds for each byte, where it may not leave as fast as the link could.
  coro::Time Send(std::uint64_t bytes_on_link, coro::Time ready, std::uint64_t slowness = 0) {
    const auto ready_ps = static_cast<std::uint64_t>(ready.time_since_epoch().count()) * 1000;
    const std::uint64_t begins = std::max(free_ps_, ready_ps);
    free_ps_ = begins + TimeOnLink(bytes_on_link, std::max(rate_, slowness));
    if (slowest_ > 0) {
      slowest_free_ps_ =
          std::min(std::max(slowest_free_ps_, begins) + TimeOnLink(bytes_on_link, slowest_),
                   free_ps_ + most_behind_);
    }
    return coro::Time(coro::Duration(static_cast<std::int64_t>(free_ps_ / 1000)));
  }

  // The first moment at which nothing is on it.
  coro::Time free() const {
    return coro::Time(coro::Duration(static_cast<std::int64_t>((free_ps_ + 999) / 1000)));
  }

  // How much later than by the fastest path the packet that was sent last arrives by the slowest.
  coro::Duration behind() const {
    return coro::Duration(static_cast<std::int64_t>(
        slowest_free_ps_ > free_ps_ ? (slowest_free_ps_ - free_ps_) / 1000 : 0));
  }

 private:
  std::uint64_t rate_;         // femtoseconds for each byte
  std::uint64_t slowest_;      // the same, if all paths were as the slowest; 0: they are even
  std::uint64_t most_behind_;  // picoseconds
  std::uint64_t free_ps_ = 0;  // picoseconds since the start of time
  std::uint64_t slowest_free_ps_ = 0;  // the same, of the slowest path
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_NETWORK_LINK_H_
