#include "drydock/sim/driver/vector_core.h"

#include <algorithm>

#include "drydock/coro/status_macros.h"
#include "drydock/sim/driver/sim_endpoint.h"

namespace drydock::sim {

VectorCore::~VectorCore() {
  for (const Entry& entry : entries_) {
    if (entry.live) domain_->nic.admin().DestroyAddressHandle(entry.handle);
  }
}

fabric::Peer VectorCore::SearchSource(std::uint16_t handle, std::uint16_t queue_pair) const {
  const std::vector<Source>& sources = sources_[handle];
  const auto found = std::find_if(sources.rbegin(), sources.rend(), [&](const Source& source) {
    return source.queue_pair == queue_pair;
  });
  return found == sources.rend() ? fabric::kNoPeer : found->peer;
}

absl::StatusOr<fabric::Peer> VectorCore::Insert(const EfaAddress& address) {
  const auto known = by_address_.find(KeyOf(address));
  if (known != by_address_.end()) return known->second;
  Surroundings& around = domain_->world.surroundings();
  NicState& nic = domain_->nic.state();
  const std::size_t known_machines = nic.handles.live();
  ASSIGN_OR_RETURN(const std::uint16_t handle,
                   domain_->nic.admin().CreateAddressHandle(domain_->domain, address.gid));
  if (around.faults != nullptr) {
    const coro::Duration late = around.faults->OnInsertPeer(nic, address);
    // A machine that the device knows already stays known.
    if (late > coro::Duration::zero() && nic.handles.live() > known_machines) {
      nic.handles.Introduce(handle, coro::After(around.timeline.TimeNow(), late));
    }
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  Entry& entry = entries_[slot];
  entry = {.address = address,
           .handle = handle,
           .nic = nic.handles.Find(handle, domain_->domain)->peer->index(),
           .generation = entry.generation + 1,
           .live = true};
  const auto peer = static_cast<fabric::Peer>(std::uint64_t{entry.generation} << 32 | slot);
  if (sources_.size() <= handle) sources_.resize(handle + 1u);
  sources_[handle].push_back({address.queue_pair, peer});
  by_address_.emplace(KeyOf(address), peer);
  return peer;
}

void VectorCore::Remove(fabric::Peer peer) {
  const auto slot = static_cast<std::uint32_t>(static_cast<std::uint64_t>(peer));
  Entry& entry = entries_[slot];
  std::erase_if(sources_[entry.handle],
                [peer](const Source& source) { return source.peer == peer; });
  domain_->nic.admin().DestroyAddressHandle(entry.handle);
  by_address_.erase(KeyOf(entry.address));
  entry.live = false;
  free_slots_.push_back(slot);
}

}  // namespace drydock::sim
