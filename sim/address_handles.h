// The address handles of one NIC: numbers for (protection domain, peer) that work requests name.

#ifndef SIM_ADDRESS_HANDLES_H_
#define SIM_ADDRESS_HANDLES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/efa_address.h"
#include "sim/memory_table.h"

namespace sim {

class Nic;

// Not thread-safe.
class AddressHandles {
 public:
  // What a completion entry says where the sender has no handle here.
  static constexpr std::uint16_t kUnknown = 0xffff;

  struct Handle {
    Gid gid{};
    Nic* peer = nullptr;  // null: no machine of this world has the GID
    ProtectionDomain domain = 0;
    std::uint32_t references = 0;  // 0: the number is free
  };

  // At most `most` handles at the same time (the device's max_ah).
  explicit AddressHandles(std::uint64_t most) : most_(most) {}

  // One number per domain and GID: creating it again counts a reference. kResourceExhausted: the
  // device has none left.
  absl::StatusOr<std::uint16_t> Create(ProtectionDomain domain, const Gid& gid, Nic* peer);

  // Gives up a reference; true when it was the last one, and the number means nobody from now on.
  // REQUIRES: `number` is live.
  bool Destroy(std::uint16_t number);

  // Null when no live handle of `domain` has this number. Safe for any number: it comes from a work
  // request.
  const Handle* Find(std::uint16_t number, ProtectionDomain domain) const {
    if (number >= handles_.size()) return nullptr;
    const Handle& handle = handles_[number];
    return handle.references > 0 && handle.domain == domain ? &handle : nullptr;
  }

  // The handle by which `domain` knows a peer; kUnknown when it does not. `peer_index` is
  // Nic::index().
  std::uint16_t NumberOf(ProtectionDomain domain, std::uint32_t peer_index) const {
    if (domain >= known_.size() || peer_index >= known_[domain].size()) return kUnknown;
    return known_[domain][peer_index];
  }

  std::size_t live() const { return numbers_.size(); }

 private:
  void Know(ProtectionDomain domain, const Nic* peer, std::uint16_t number);

  std::uint64_t most_;
  std::vector<Handle> handles_;  // index = number
  std::vector<std::uint16_t> free_;
  std::map<std::pair<ProtectionDomain, Gid>, std::uint16_t> numbers_;
  std::vector<std::vector<std::uint16_t>> known_;  // domain, index of the peer's NIC
};

}  // namespace sim

#endif  // SIM_ADDRESS_HANDLES_H_
