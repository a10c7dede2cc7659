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

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "drydock/coro/time.h"
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

  // A packet of so many bytes on the link, from the NIC `sender`, reaches the queue at `at`. Calls
  // are in the order in which packets leave.
  Passage Take(std::uint32_t sender, std::uint64_t bytes_on_link, coro::Time at);

  // How long the NIC `sender` holds back a packet that would reach the queue at `at`, if it left
  // now. Counts on it that the packet leaves then, and `behind` it others of so many bytes.
  coro::Duration Hold(std::uint32_t sender, std::uint64_t bytes_on_link, coro::Time at,
                      std::uint64_t behind = 0);

 private:
  struct Sender {
    std::uint64_t slow_from_ps = 0;  // it knows of the queue
    bool impaired = false;           // a packet of it was lost
  };

  std::uint64_t rate_;    // femtoseconds for each byte
  std::uint64_t target_;  // the figures of the profile, in picoseconds
  std::uint64_t longest_;
  std::uint64_t retransmit_delay_;
  std::uint64_t answer_;            // from when a packet is in until its sender knows
  std::uint64_t free_ps_ = 0;       // picoseconds since the start of time
  std::uint64_t next_held_ps_ = 0;  // the same: until then others, held back as well, go
  absl::flat_hash_map<std::uint32_t, Sender> slow_;  // whose packets have waited; only looked up
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_NETWORK_INGRESS_H_
