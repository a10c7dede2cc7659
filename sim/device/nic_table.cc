#include "drydock/sim/device/nic_table.h"

#include "drydock/coro/check.h"

namespace drydock::sim {

void NicTable::Enter(NicState& nic) {
  DD_CHECK(nic.index() == nics_.size(), "NICs are entered in the order of their index");
  nics_.push_back(&nic);
  DD_CHECK(by_gid_.emplace(nic.gid, &nic).second, "two NICs have one GID");
}

NicState* NicTable::Find(const Gid& gid) {
  const auto found = by_gid_.find(gid);
  if (found != by_gid_.end()) return found->second;
  return neighbours_ == nullptr ? nullptr : neighbours_->Find(gid);
}

}  // namespace drydock::sim
