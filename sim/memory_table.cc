#include "sim/memory_table.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "coro/check.h"

namespace sim {
namespace {

constexpr unsigned kSlotBits = 18;
constexpr std::uint32_t kSlotMask = (1u << kSlotBits) - 1;
constexpr std::uint32_t kLocalGenerations = 1u << 6;
constexpr std::uint32_t kRemoteGenerations = 1u << 14;

std::uint32_t LocalKey(std::uint32_t slot, std::uint32_t generation) {
  return (generation % kLocalGenerations) << kSlotBits | slot;
}
std::uint32_t RemoteKey(std::uint32_t slot, std::uint32_t generation) {
  return (generation % kRemoteGenerations) << kSlotBits | slot;
}

}  // namespace

absl::StatusOr<MemoryTable::Keys> MemoryTable::Register(ProtectionDomain domain, std::byte* data,
                                                        std::size_t length_bytes,
                                                        fabric::Access access) {
  if (live_ >= most_ || live_ >= kSlotMask) {
    return absl::ResourceExhaustedError(
        absl::StrCat("register memory: the NIC has no key left of its ", most_));
  }
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(regions_.size());
    regions_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Region& region = regions_[slot];
  ++region.generation;
  region.address = reinterpret_cast<std::uint64_t>(data);
  region.length_bytes = length_bytes;
  region.domain = domain;
  region.access = access;
  region.live = true;
  ++live_;
  return Keys{LocalKey(slot, region.generation), RemoteKey(slot, region.generation)};
}

void MemoryTable::Deregister(std::uint32_t remote_key) {
  const std::uint32_t slot = remote_key & kSlotMask;
  DD_CHECK(slot < regions_.size() && regions_[slot].live, "deregistering memory twice");
  regions_[slot].live = false;
  free_slots_.push_back(slot);
  --live_;
}

const MemoryTable::Region* MemoryTable::Find(std::uint32_t slot) const {
  return slot < regions_.size() && regions_[slot].live ? &regions_[slot] : nullptr;
}

bool MemoryTable::Allows(const Region* region, ProtectionDomain domain, std::uint64_t address,
                         std::uint64_t length_bytes, fabric::Access wanted) {
  if (region == nullptr || region->domain != domain) return false;
  if (!fabric::Allows(region->access, wanted)) return false;
  if (address < region->address) return false;
  const std::uint64_t offset = address - region->address;  // no sum that could wrap around
  return offset <= region->length_bytes && length_bytes <= region->length_bytes - offset;
}

bool MemoryTable::AllowsLocal(ProtectionDomain domain, std::uint32_t local_key,
                              std::uint64_t address, std::uint64_t length_bytes,
                              fabric::Access wanted) const {
  const std::uint32_t slot = local_key & kSlotMask;
  const Region* region = Find(slot);
  if (region != nullptr && LocalKey(slot, region->generation) != local_key) return false;
  return Allows(region, domain, address, length_bytes, wanted);
}

bool MemoryTable::AllowsRemote(ProtectionDomain domain, std::uint32_t remote_key,
                               std::uint64_t address, std::uint64_t length_bytes,
                               fabric::Access wanted) const {
  const std::uint32_t slot = remote_key & kSlotMask;
  const Region* region = Find(slot);
  if (region != nullptr && RemoteKey(slot, region->generation) != remote_key) return false;
  return Allows(region, domain, address, length_bytes, wanted);
}

}  // namespace sim
