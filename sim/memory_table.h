// The memory keys of one NIC: which ranges it may touch, and how.

#ifndef SIM_MEMORY_TABLE_H_
#define SIM_MEMORY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "fabric/memory.h"

namespace sim {

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

  // `most` regions at the same time, at most 2^18.
  explicit MemoryTable(std::uint64_t most) : most_(most), regions_(1) {}

  // kResourceExhausted: the table is full.
  absl::StatusOr<Keys> Register(ProtectionDomain domain, std::byte* data, std::size_t length_bytes,
                                fabric::Access access);

  // REQUIRES: `remote_key` is of a live registration.
  void Deregister(std::uint32_t remote_key);

  // True when [address, address + length) lies within the live region of this key and domain, with
  // these rights. Safe for any input: addresses and keys come from peers.
  bool AllowsLocal(ProtectionDomain domain, std::uint32_t local_key, std::uint64_t address,
                   std::uint64_t length_bytes, fabric::Access wanted) const;
  bool AllowsRemote(ProtectionDomain domain, std::uint32_t remote_key, std::uint64_t address,
                    std::uint64_t length_bytes, fabric::Access wanted) const;

  std::size_t live() const { return live_; }

 private:
  struct Region {
    std::uint64_t address = 0;
    std::uint64_t length_bytes = 0;
    std::uint32_t generation = 0;
    ProtectionDomain domain = 0;
    fabric::Access access = fabric::Access::kNone;
    bool live = false;
  };

  const Region* Find(std::uint32_t slot) const;
  static bool Allows(const Region* region, ProtectionDomain domain, std::uint64_t address,
                     std::uint64_t length_bytes, fabric::Access wanted);

  std::uint64_t most_;
  std::size_t live_ = 0;
  std::vector<Region> regions_;  // slot 0 is never used, so that a key of 0 is never valid
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace sim

#endif  // SIM_MEMORY_TABLE_H_
