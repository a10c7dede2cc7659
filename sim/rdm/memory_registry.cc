#include "drydock/sim/rdm/memory_registry.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/sim/memory/device_rights.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Access;
using fabric::Capability;

// True when [address, address + length) lies within [start, start + size); no sum can wrap around.
bool Within(std::uint64_t address, std::uint64_t length, std::uint64_t start, std::uint64_t size) {
  if (address < start) return false;
  const std::uint64_t offset = address - start;
  return offset <= size && length <= size - offset;
}

// The rights that the device must know of. A device without remote memory access refuses to
// register for it.
Access ForDevice(Access access, const fabric::NicInfo& nic) {
  auto rights = static_cast<std::uint32_t>(access);
  const auto without = [&](Capability capability, Access right) {
    if (!nic.capabilities.Has(capability)) rights &= ~static_cast<std::uint32_t>(right);
  };
  without(Capability::kRemoteWrite, Access::kWrite | Access::kRemoteWrite);
  without(Capability::kRemoteRead, Access::kRead | Access::kRemoteRead);
  return rights != 0 ? static_cast<Access>(rights) : Access::kReceive;
}

}  // namespace

absl::StatusOr<MemoryRegistry::Region*> MemoryRegistry::Add(const fabric::MemoryRequest& request) {
  if (by_local_key_.size() >= most_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("register memory: the domain has no region left of its ", most_));
  }
  fabric::MemoryRequest for_device = request;
  for_device.access = ForDevice(request.access, device_.nic());
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> device = device_.RegisterMemory(for_device);
  if (!device.ok()) return device.status();
  auto region = std::make_unique<Region>();
  region->device = *std::move(device);
  region->access = request.access;
  Region* added = region.get();
  by_remote_key_[added->device->remote().key] = added;
  const std::uint64_t key = added->device->local_key();
  DD_CHECK(by_local_key_.emplace(key, std::move(region)).second, "two regions with one local key");
  return added;
}

void MemoryRegistry::Remove(Region* region) {
  ++removals_;
  for (const auto& borrowed : region->borrowed) {
    if (const auto held = borrowed.lock()) held->Close().IgnoreError();
  }
  region->device->Close().IgnoreError();
  by_remote_key_.erase(region->device->remote().key);
  by_local_key_.erase(region->device->local_key());
}

MemoryRegistry::Region* MemoryRegistry::Find(const fabric::LocalBuffer& buffer) const {
  const auto found = by_local_key_.find(buffer.local_key);
  if (found == by_local_key_.end()) return nullptr;
  const fabric::MemoryRegion& device = *found->second->device;
  const bool within = Within(reinterpret_cast<std::uint64_t>(buffer.data), buffer.length_bytes,
                             reinterpret_cast<std::uint64_t>(device.data()), device.length_bytes());
  return within ? found->second.get() : nullptr;
}

bool MemoryRegistry::Allows(const fabric::LocalBuffer& buffer, fabric::Access access) const {
  if (buffer.length_bytes == 0) return true;
  const Region* region = Find(buffer);
  return region != nullptr && fabric::Allows(DeviceRights(region->access), access);
}

std::optional<fabric::LocalBuffer> MemoryRegistry::FindRemote(fabric::RemoteBuffer place,
                                                              std::uint64_t length_bytes,
                                                              fabric::Access access) const {
  const auto found = by_remote_key_.find(place.key);
  if (found == by_remote_key_.end()) return std::nullopt;
  const fabric::MemoryRegion& device = *found->second->device;
  const std::uint64_t start = device.remote().address;
  if (!fabric::Allows(found->second->access, access) ||
      !Within(place.address, length_bytes, start, device.length_bytes())) {
    return std::nullopt;
  }
  return fabric::LocalBuffer{device.data() + (place.address - start), length_bytes,
                             device.local_key()};
}

std::shared_ptr<fabric::MemoryRegion> MemoryRegistry::Borrow(const fabric::LocalBuffer& buffer,
                                                             fabric::Access access) {
  Region* region = Find(buffer);
  if (region == nullptr || buffer.length_bytes == 0) return nullptr;
  auto device = device_.RegisterMemory(
      {.data = buffer.data, .length_bytes = buffer.length_bytes, .access = access});
  if (!device.ok()) return nullptr;
  std::shared_ptr<fabric::MemoryRegion> borrowed = *std::move(device);
  auto& list = region->borrowed;
  list.erase(
      std::remove_if(list.begin(), list.end(),
                     [](const std::weak_ptr<fabric::MemoryRegion>& old) { return old.expired(); }),
      list.end());
  list.push_back(borrowed);
  return borrowed;
}

}  // namespace drydock::sim::rdm
