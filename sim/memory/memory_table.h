// The memory keys of one NIC: which ranges it may touch, and how.

#ifndef DRYDOCK_SIM_MEMORY_MEMORY_TABLE_H_
#define DRYDOCK_SIM_MEMORY_MEMORY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/memory.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/random.h"

namespace drydock::sim {

// A protection domain of a NIC: keys of one say nothing in another.
using ProtectionDomain = std::uint16_t;

// Key = slot + generation, so that a key of a closed region does not open the next region in the
// same slot. Like the device's: 24 bits of local key (18 of slot, 6 of generation), 32 bits of
// remote key (18 + 14).
class MemoryTable {
 public:
  struct Keys {
    std::uint32_t local;
    std::uint32_t remote;
  };

  // `keys` decides where the generations begin, so that the keys of two NICs, or of two ends of a
  // mix-up, differ.
  MemoryTable(const DeviceAttributes& device, const RandomStream& keys)
      : device_(device), keys_(keys), regions_(1) {}

  // `access`: as the program asked, see device_rights.h. `page_bytes`, a power of two: of the pages
  // that the range is made of; 0: the host's.
  // kResourceExhausted: the table is full (max_mr regions, at most 2^18), or there are too many
  // pages: in one region, in one that peers may write, or in all together. kInvalidArgument: the
  // range wraps around the address space.
  absl::StatusOr<Keys> Register(ProtectionDomain domain, std::byte* data, std::size_t length_bytes,
                                fabric::Access access, std::uint64_t page_bytes = 0);

  // REQUIRES: `remote_key` is of a live registration.
  void Deregister(std::uint32_t remote_key);

  // No access to the region is allowed any more: a peer gets status 7, we get status 5. It is still
  // to be deregistered. Any key is fine.
  void Revoke(std::uint32_t remote_key);

  // True when [address, address + length) lies within the live region of this key and domain, with
  // these rights. Safe for any input: addresses and keys come from peers.
  bool AllowsLocal(ProtectionDomain domain, std::uint32_t local_key, std::uint64_t address,
                   std::uint64_t length_bytes, fabric::Access wanted) const {
    const std::uint32_t slot = local_key & kSlotMask;
    if (slot >= regions_.size()) return false;
    const Region& region = regions_[slot];
    return LocalKey(slot, region.local_generation) == local_key &&
           region.Allows(domain, address, length_bytes, wanted);
  }
  bool AllowsRemote(ProtectionDomain domain, std::uint32_t remote_key, std::uint64_t address,
                    std::uint64_t length_bytes, fabric::Access wanted) const {
    const std::uint32_t slot = remote_key & kSlotMask;
    if (slot >= regions_.size()) return false;
    const Region& region = regions_[slot];
    return RemoteKey(slot, region.remote_generation) == remote_key &&
           region.Allows(domain, address, length_bytes, wanted);
  }

  std::size_t live() const { return live_; }
  // How often an allowed access ceased to be allowed: while this stays the same, every access that
  // was allowed before still is.
  std::uint64_t withdrawals() const { return withdrawals_; }

 private:
  struct Region {
    std::uint64_t address = 0;
    std::uint64_t length_bytes = 0;
    std::uint32_t local_generation = 0;
    std::uint32_t remote_generation = 0;
    fabric::Access access = fabric::Access::kNone;
    ProtectionDomain domain = 0;
    std::uint8_t page_shift = 0;
    bool live = false;

    bool Allows(ProtectionDomain asking, std::uint64_t begin, std::uint64_t length,
                fabric::Access wanted) const {
      const std::uint64_t offset =
          begin - address;  // huge if begin comes before: no sum wraps around
      return live && domain == asking && fabric::Allows(access, wanted) && offset <= length_bytes &&
             length <= length_bytes - offset;
    }
  };

  static_assert(sizeof(Region) <= 32);  // two of them share a cache line

  static constexpr unsigned kSlotBits = 18;
  static constexpr std::uint32_t kSlotMask = (1u << kSlotBits) - 1;
  static constexpr std::uint32_t kLocalGenerations = 1u << 6;
  static constexpr std::uint32_t kRemoteGenerations = 1u << 14;

  static std::uint32_t LocalKey(std::uint32_t slot, std::uint32_t generation) {
    return (generation % kLocalGenerations) << kSlotBits | slot;
  }
  static std::uint32_t RemoteKey(std::uint32_t slot, std::uint32_t generation) {
    return (generation % kRemoteGenerations) << kSlotBits | slot;
  }
  static std::uint64_t PagesOf(std::uint64_t address, std::uint64_t length_bytes,
                               unsigned page_shift) {
    return ((address + length_bytes - 1) >> page_shift) - (address >> page_shift) + 1;
  }
  absl::Status Check(std::uint64_t address, std::uint64_t length_bytes, fabric::Access access,
                     unsigned page_shift) const;

  const DeviceAttributes& device_;
  RandomStream keys_;
  std::uint64_t pages_ = 0;  // of all live regions
  std::size_t live_ = 0;
  std::uint64_t withdrawals_ = 0;
  std::vector<Region> regions_;  // slot 0 is never used, so that a key of 0 is never valid
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MEMORY_MEMORY_TABLE_H_
