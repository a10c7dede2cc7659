#include "drydock/sim/checks/peer_incarnation.h"

#include <algorithm>

namespace drydock::sim {

void PeerIncarnation::Note(const Posted& posted, std::uint8_t status) {
  PeerState told = PeerState::kReachable;
  if (status == static_cast<std::uint8_t>(EfaStatus::kRemoteBadQueuePair)) {
    told = PeerState::kNoQueuePair;
  } else if (status == static_cast<std::uint8_t>(EfaStatus::kRemoteUnknownPeer)) {
    told = PeerState::kNotInserted;
  } else if (status != 0) {
    return;
  }
  const auto found = std::find_if(notes_.begin(), notes_.end(),
                                  [&](const PeerNote& note) { return note.peer == posted.peer; });
  if (told == PeerState::kReachable) {
    if (found != notes_.end()) notes_.erase(found);
  } else if (found == notes_.end()) {
    notes_.push_back({.peer = posted.peer, .told = told});
  } else if (found->told != told) {
    *found = {.peer = posted.peer, .told = told};
  }
}

PeerState PeerIncarnation::Count(fabric::Peer peer) {
  for (PeerNote& note : notes_) {
    if (note.peer != peer) continue;
    const std::uint32_t most = note.told == PeerState::kNoQueuePair ? kFutile : kFutileToUninserted;
    if (++note.posts % most == 0) return note.told;
  }
  return PeerState::kReachable;
}

}  // namespace drydock::sim
