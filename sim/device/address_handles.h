// The address handles of one NIC: numbers for (protection domain, peer) that work requests name.

#ifndef DRYDOCK_SIM_DEVICE_ADDRESS_HANDLES_H_
#define DRYDOCK_SIM_DEVICE_ADDRESS_HANDLES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/memory/memory_table.h"

namespace drydock::sim {

struct NicState;

// Not thread-safe.
class AddressHandles {
 public:
  // The handle in a completion entry whose sender has no handle here.
  static constexpr std::uint16_t kUnknown = 0xffff;

  struct Handle {
    Gid gid{};
    NicState* peer = nullptr;  // the NIC with this GID
    ProtectionDomain domain = 0;
    std::uint32_t references = 0;  // 0: the number is free
    coro::Time known_from{};       // the device takes it into account from then on
  };

  // At most `most` handles at the same time (the device's max_ah).
  explicit AddressHandles(std::uint64_t most) : most_(most) {}

  // One number per domain and GID: creating it again counts a reference. `peer_index`: of the peer
  // in the world. kResourceExhausted: the device has none left.
  absl::StatusOr<std::uint16_t> Create(ProtectionDomain domain, const Gid& gid, NicState* peer,
                                       std::uint32_t peer_index);

  // The device does not know the peer before `when`, although it has the handle.
  // REQUIRES: `number` is live.
  void Introduce(std::uint16_t number, coro::Time when) { handles_[number].known_from = when; }

  // Gives up a reference; true when it was the last one, and the number means no peer from now on.
  // REQUIRES: `number` is live.
  bool Destroy(std::uint16_t number);

  // Null when no live handle of `domain` has this number. Safe for any number: it comes from a work
  // request.
  const Handle* Find(std::uint16_t number, ProtectionDomain domain) const {
    if (number >= handles_.size()) return nullptr;
    const Handle& handle = handles_[number];
    return handle.references > 0 && handle.domain == domain ? &handle : nullptr;
  }

  // The handle by which `domain` knows a peer; kUnknown when it does not. `peer_index`: in the
  // world.
  std::uint16_t NumberOf(ProtectionDomain domain, std::uint32_t peer_index) const {
    const std::uint64_t key = KeyOf(domain, peer_index);
    return key == last_key_ ? last_number_ : Search(key);
  }
  // Whether it does, and the device has taken that into account by `now`.
  bool Knows(ProtectionDomain domain, std::uint32_t peer_index, coro::Time now) const {
    const std::uint16_t number = NumberOf(domain, peer_index);
    return number != kUnknown && handles_[number].known_from <= now;
  }

  // Handles that are in use.
  std::size_t live() const { return numbers_.size(); }

 private:
  static constexpr std::uint64_t kNoKey = UINT64_MAX;

  static std::uint64_t KeyOf(ProtectionDomain domain, std::uint32_t peer_index) {
    return std::uint64_t{domain} << 32 | peer_index;
  }
  std::uint16_t Search(std::uint64_t key) const;

  std::uint64_t most_;
  std::vector<Handle> handles_;              // index = number
  std::vector<std::uint32_t> peer_indices_;  // index = number
  std::vector<std::uint16_t> free_;
  absl::flat_hash_map<std::pair<ProtectionDomain, Gid>, std::uint16_t> numbers_;  // as known_
  absl::flat_hash_map<std::uint64_t, std::uint16_t> known_;  // by KeyOf; only looked up
  mutable std::uint64_t last_key_ = kNoKey;  // the look-up before: peers come in runs
  mutable std::uint16_t last_number_ = kUnknown;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_ADDRESS_HANDLES_H_
