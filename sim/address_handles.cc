#include "sim/address_handles.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "coro/check.h"
#include "sim/nic.h"

namespace sim {

absl::StatusOr<std::uint16_t> AddressHandles::Create(ProtectionDomain domain, const Gid& gid,
                                                     Nic* peer) {
  const auto found = numbers_.find({domain, gid});
  if (found != numbers_.end()) {
    ++handles_[found->second].references;
    return found->second;
  }
  if (numbers_.size() >= most_ || numbers_.size() >= kUnknown) {
    return absl::ResourceExhaustedError(
        absl::StrCat("create address handle: the NIC has none left of its ", most_));
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint16_t>(handles_.size()));
    handles_.emplace_back();
  }
  const std::uint16_t number = free_.back();
  free_.pop_back();
  handles_[number] = {.gid = gid, .peer = peer, .domain = domain, .references = 1};
  numbers_[{domain, gid}] = number;
  Know(domain, peer, number);
  return number;
}

bool AddressHandles::Destroy(std::uint16_t number) {
  DD_CHECK(number < handles_.size() && handles_[number].references > 0,
           "destroying an address handle twice");
  Handle& handle = handles_[number];
  if (--handle.references > 0) return false;
  numbers_.erase({handle.domain, handle.gid});
  Know(handle.domain, handle.peer, kUnknown);
  free_.push_back(number);
  return true;
}

void AddressHandles::Know(ProtectionDomain domain, const Nic* peer, std::uint16_t number) {
  if (peer == nullptr) return;
  if (known_.size() <= domain) known_.resize(domain + 1u);
  std::vector<std::uint16_t>& peers = known_[domain];
  if (peers.size() <= peer->index()) peers.resize(peer->index() + 1u, kUnknown);
  peers[peer->index()] = number;
}

}  // namespace sim
