#include "drydock/fabric/async/transfer/paths.h"

#include <cstddef>

#include "absl/status/statusor.h"

namespace drydock::fabric::async::transfer {

void Paths::Learn(Introduction& introduction, AddressVector& peers) {
  if (paths_.size() <= introduction.peer) paths_.resize(introduction.peer + 1);
  std::vector<Path>& paths = paths_[introduction.peer];
  paths.assign(introduction.addresses.size(), Path{});
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (introduction.addresses[i].empty()) continue;
    const absl::StatusOr<Peer> peer = peers.Insert(introduction.addresses[i]);
    introduction.inserted[i] = peer.ok();
    if (peer.ok()) {
      paths[i].peer = *peer;
    } else if (introduction.status.ok()) {
      introduction.status = peer.status();
    }
  }
}

}  // namespace drydock::fabric::async::transfer
