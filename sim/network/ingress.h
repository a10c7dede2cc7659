// The receiving side of a NIC's link: several senders share it.

#ifndef SIM_NETWORK_INGRESS_H_
#define SIM_NETWORK_INGRESS_H_

#include <algorithm>
#include <cstdint>

#include "coro/time.h"
#include "sim/network/link.h"
#include "sim/profile/profile.h"

namespace sim {

// A value.
class Ingress {
 public:
  explicit Ingress(const Profile& profile)
      : rate_(PicosecondsPerByte(profile.receive_gbps > 0 ? profile.receive_gbps
                                                          : profile.link_gbps)) {}

  // A packet of so many bytes on the link reaches it at `at`: how much later its last bit is in,
  // because other packets come first.
  coro::Duration Take(std::uint64_t bytes_on_link, coro::Time at) {
    const std::uint64_t takes = bytes_on_link * rate_;
    const auto at_ps = static_cast<std::uint64_t>(at.time_since_epoch().count()) * 1000;
    // The sender's own link has spaced the packets already: an idle receiver adds nothing.
    free_ps_ = std::max(free_ps_, at_ps - std::min(at_ps, takes)) + takes;
    return coro::Duration(
        static_cast<std::int64_t>(free_ps_ > at_ps ? (free_ps_ - at_ps) / 1000 : 0));
  }

 private:
  std::uint64_t rate_;         // picoseconds for each byte
  std::uint64_t free_ps_ = 0;  // picoseconds since the start of time
};

}  // namespace sim

#endif  // SIM_NETWORK_INGRESS_H_
