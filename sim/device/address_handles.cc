#include "drydock/sim/device/address_handles.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"

namespace drydock::sim {

absl::StatusOr<std::uint16_t> AddressHandles::Create(ProtectionDomain domain, const Gid& gid,
                                                     NicState* peer, std::uint32_t peer_index) {
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
    peer_indices_.emplace_back();
  }
  const std::uint16_t number = free_.back();
  free_.pop_back();
  handles_[number] = {
      .gid = gid, .peer = peer, .domain = domain, .references = 1, .known_from = {}};
  peer_indices_[number] = peer_index;
  numbers_[{domain, gid}] = number;
  known_[KeyOf(domain, peer_index)] = number;
  last_key_ = kNoKey;
  return number;
}

bool AddressHandles::Destroy(std::uint16_t number) {
  DD_CHECK(number < handles_.size() && handles_[number].references > 0,
           "destroying an address handle twice");
  Handle& handle = handles_[number];
  if (--handle.references > 0) return false;
  numbers_.erase({handle.domain, handle.gid});
  known_.erase(KeyOf(handle.domain, peer_indices_[number]));
  last_key_ = kNoKey;
  free_.push_back(number);
  return true;
}

std::uint16_t AddressHandles::Search(std::uint64_t key) const {
  const auto found = known_.find(key);
  last_key_ = key;
  last_number_ = found == known_.end() ? kUnknown : found->second;
  return last_number_;
}

}  // namespace drydock::sim
