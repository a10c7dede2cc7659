// The peers of an address vector by number: how selectors name them.

#ifndef DRYDOCK_FABRIC_FAULTS_PEER_DIRECTORY_H_
#define DRYDOCK_FABRIC_FAULTS_PEER_DIRECTORY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::faults {

// Plans name peers by small numbers, because the fabric's own numbers differ from backend to
// backend. Shared by the address vector and the endpoints that are opened with it. Threads: not
// thread-safe; belongs to the thread of its address vector.
class PeerDirectory : public std::enable_shared_from_this<PeerDirectory> {
 public:
  // By which a domain finds the directory of a vector that it is given, through other wrappers.
  static constexpr PowerId kPower{"fabric::faults::PeerDirectory"};

  // An address has its number for good, as in the simulated device: also when it is inserted again.
  // One that names a peer of the vector, by other bytes that mean nothing, has that peer's.
  void Add(Peer peer, const Address& address) {
    if (peers_.contains(static_cast<std::uint64_t>(peer))) return;
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    const std::uint32_t number = numbers_.try_emplace(address.ToHex(), next).first->second;
    peers_.try_emplace(static_cast<std::uint64_t>(peer), Entry{.number = number});
  }
  void Remove(Peer peer) { peers_.erase(static_cast<std::uint64_t>(peer)); }

  // The index of the peer in the order of first insertion, from 0; absent: it is not in the vector.
  std::optional<std::uint32_t> NumberOf(Peer peer) const {
    const auto found = peers_.find(static_cast<std::uint64_t>(peer));
    if (found == peers_.end()) return std::nullopt;
    return found->second.number;
  }

  // An operation to the peer succeeded. EFA's status distinguishes a peer that became silent (13)
  // from one that never answered (15).
  void Answered(Peer peer) {
    const auto found = peers_.find(static_cast<std::uint64_t>(peer));
    if (found != peers_.end()) found->second.answered = true;
  }
  bool HasAnswered(Peer peer) const {
    const auto found = peers_.find(static_cast<std::uint64_t>(peer));
    return found != peers_.end() && found->second.answered;
  }

 private:
  struct Entry {
    std::uint32_t number = 0;
    bool answered = false;
  };
  absl::flat_hash_map<std::uint64_t, Entry> peers_;          // never iterated
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;  // nor this: by address
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_PEER_DIRECTORY_H_
