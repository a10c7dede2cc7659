// The ways from one NIC to those of its peers: which it may take, and which have failed.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_PATHS_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_PATHS_H_

#include <cstdint>
#include <vector>

#include "drydock/fabric/async/transfer/messages.h"
#include "drydock/fabric/domain.h"

namespace drydock::fabric::async::transfer {

// The way to one NIC of a peer.
struct Path {
  Peer peer = kNoPeer;  // kNoPeer: there is none
  bool failed = false;  // the last page that took it
};

// Not thread-safe.
class Paths {
 public:
  // Learns the ways to a peer's NICs, and answers in the introduction.
  void Learn(Introduction& introduction, AddressVector& peers);
  // REQUIRES: it was introduced with so many NICs.
  Path& To(std::uint32_t peer, std::uint16_t nic) { return paths_[peer][nic]; }

 private:
  std::vector<std::vector<Path>> paths_;  // by peer, by its NIC
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_PATHS_H_
