// An address names one life of an endpoint: a program that was told of its end asks for the new
// address.

#ifndef DRYDOCK_SIM_CHECKS_PEER_INCARNATION_H_
#define DRYDOCK_SIM_CHECKS_PEER_INCARNATION_H_

#include <cstdint>
#include <vector>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/device/posted.h"
#include "drydock/sim/efa_status.h"

namespace drydock::sim {

// Of one endpoint. Does nothing before a peer has refused something.
class PeerIncarnation {
 public:
  // How often a program may post to a peer after it had read that the peer is gone, or does not
  // know it, with no success between. The first can never work again; the second may be a peer that
  // is still starting, asked over and over.
  static constexpr std::uint32_t kFutile = 16;
  static constexpr std::uint32_t kFutileToUninserted = 1000;

  // The program read the completion of `posted`.
  void Completed(const Posted& posted, std::uint8_t status) {
    if (status != 0 || !notes_.empty()) [[unlikely]] {
      Note(posted, status);
    }
  }

  // A request to this peer was accepted: returns the state that the program was told of often
  // enough before; kReachable when it was told of none.
  PeerState Accepted(const Posted& posted) {
    return notes_.empty() ? PeerState::kReachable : Count(posted.peer);
  }

 private:
  struct PeerNote {
    fabric::Peer peer{};
    PeerState told = PeerState::kReachable;
    std::uint32_t posts = 0;  // since
  };

  void Note(const Posted& posted, std::uint8_t status);
  PeerState Count(fabric::Peer peer);

  std::vector<PeerNote> notes_;  // of peers that refused something; few
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_PEER_INCARNATION_H_
