#include "drydock/sim/memory/memory_table.h"

#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/sim/memory/device_rights.h"

namespace drydock::sim {

absl::Status MemoryTable::Check(std::uint64_t address, std::uint64_t length_bytes,
                                fabric::Access access, unsigned page_shift) const {
  if (length_bytes > UINT64_MAX - address) {
    return absl::InvalidArgumentError(absl::StrCat(
        "register memory: ", length_bytes, " bytes reach past the end of the address space"));
  }
  const std::uint64_t pages = PagesOf(address, length_bytes, page_shift);
  std::uint64_t most = std::min(device_.max_mr_pages, device_.max_total_pages - pages_);
  if (fabric::Allows(access, fabric::Access::kRemoteWrite))
    most = std::min(most, device_.max_remote_write_pages);
  if (pages > most) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "register memory: ", pages, " pages are over the ", most,
        " that the NIC has left for it; each has ", std::uint64_t{1} << page_shift, " bytes"));
  }
  if (live_ >= device_.max_mr || live_ >= kSlotMask) {
    return absl::ResourceExhaustedError(
        absl::StrCat("register memory: the NIC has no key left of its ", device_.max_mr));
  }
  return absl::OkStatus();
}

absl::StatusOr<MemoryTable::Keys> MemoryTable::Register(ProtectionDomain domain, std::byte* data,
                                                        std::size_t length_bytes,
                                                        fabric::Access access,
                                                        std::uint64_t page_bytes) {
  const auto page_shift = static_cast<std::uint8_t>(
      std::countr_zero(page_bytes != 0 ? page_bytes : std::uint64_t{device_.page_bytes}));
  if (absl::Status status =
          Check(reinterpret_cast<std::uint64_t>(data), length_bytes, access, page_shift);
      !status.ok()) {
    return status;
  }
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(regions_.size());
    regions_.emplace_back();
    regions_.back().local_generation = static_cast<std::uint32_t>(keys_.Next() >> 32);
    regions_.back().remote_generation = static_cast<std::uint32_t>(keys_.Next() >> 32);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Region& region = regions_[slot];
  ++region.local_generation;
  ++region.remote_generation;
  region.address = reinterpret_cast<std::uint64_t>(data);
  region.length_bytes = length_bytes;
  region.domain = domain;
  region.access = DeviceRights(access);
  region.page_shift = page_shift;
  region.live = true;
  ++live_;
  pages_ += PagesOf(region.address, length_bytes, page_shift);
  return Keys{LocalKey(slot, region.local_generation), RemoteKey(slot, region.remote_generation)};
}

void MemoryTable::Deregister(std::uint32_t remote_key) {
  const std::uint32_t slot = remote_key & kSlotMask;
  DD_CHECK(slot < regions_.size() && regions_[slot].live, "deregistering memory twice");
  Region& region = regions_[slot];
  region.live = false;
  ++withdrawals_;
  pages_ -= PagesOf(region.address, region.length_bytes, region.page_shift);
  free_slots_.push_back(slot);
  --live_;
}

void MemoryTable::Revoke(std::uint32_t remote_key) {
  const std::uint32_t slot = remote_key & kSlotMask;
  if (slot >= regions_.size()) return;
  Region& region = regions_[slot];
  if (RemoteKey(slot, region.remote_generation) != remote_key) return;
  region.access = fabric::Access::kNone;
  ++withdrawals_;
}

}  // namespace drydock::sim
