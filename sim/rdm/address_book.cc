#include "drydock/sim/rdm/address_book.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"

namespace drydock::sim::rdm {
namespace {

// Where the fields of an address lie (ofiwg/libfabric prov/efa: 16 bytes GID, 2 queue pair number,
// 2 padding, 4 qkey, 8 that mean something inside one process only).
constexpr std::size_t kQueuePairEnd = 18;
constexpr std::size_t kQkeyOffset = 20;
constexpr std::size_t kQkeyBytes = 4;

constexpr std::uint64_t kSlotMask = UINT32_MAX;

}  // namespace

std::uint32_t ConnidOf(const fabric::Address& address) {
  const std::span<const std::uint8_t> bytes = address.bytes();
  std::uint32_t connid = 0;
  for (std::size_t i = 0; i < kQkeyBytes; ++i) {
    connid |= static_cast<std::uint32_t>(bytes[kQkeyOffset + i]) << (8 * i);
  }
  return connid;
}

bool SameQueuePair(const fabric::Address& a, const fabric::Address& b) {
  return std::equal(a.bytes().begin(), a.bytes().begin() + kQueuePairEnd, b.bytes().begin());
}

AddressBook::Key AddressBook::KeyOf(const fabric::Address& address) {
  const std::span<const std::uint8_t> bytes = address.bytes();
  Key key{};
  std::copy_n(bytes.begin(), kQueuePairEnd, key.begin());
  std::copy_n(bytes.begin() + kQkeyOffset, kQkeyBytes, key.begin() + kQueuePairEnd);
  return key;
}

absl::StatusOr<std::shared_ptr<AddressEntry>> AddressBook::Use(const fabric::Address& address) {
  if (address.size() != fabric::Address::kEfaBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "address has ", address.size(), " bytes: an EFA address has ", fabric::Address::kEfaBytes));
  }
  const Key key = KeyOf(address);
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  absl::StatusOr<fabric::Peer> device_peer = device_->Insert(address);
  if (!device_peer.ok()) return device_peer.status();
  auto entry = std::make_shared<AddressEntry>();
  entry->number = next_number_++;
  entry->address = address;
  entry->device_peer = *device_peer;
  entries_.emplace(key, entry);
  by_device_peer_.emplace(*device_peer, key);
  return entry;
}

absl::StatusOr<fabric::Peer> AddressBook::Insert(const fabric::Address& address) {
  absl::StatusOr<std::shared_ptr<AddressEntry>> entry = Use(address);
  if (!entry.ok()) return entry.status();
  if ((*entry)->handle != fabric::kNoPeer) return (*entry)->handle;
  if (free_handles_.empty()) {
    free_handles_.push_back(static_cast<std::uint32_t>(handles_.size()));
    handles_.emplace_back();
  }
  const std::uint32_t slot = free_handles_.back();
  free_handles_.pop_back();
  Handle& handle = handles_[slot];
  ++handle.generation;
  handle.entry = *entry;
  handle.address = address;
  const auto peer =
      static_cast<fabric::Peer>(static_cast<std::uint64_t>(handle.generation) << 32 | slot);
  (*entry)->handle = peer;
  (*entry)->inserted = true;
  return peer;
}

const AddressBook::Handle* AddressBook::FindHandle(fabric::Peer peer) const {
  const auto packed = static_cast<std::uint64_t>(peer);
  const std::uint64_t slot = packed & kSlotMask;
  if (slot >= handles_.size() || handles_[slot].entry == nullptr) return nullptr;
  return handles_[slot].generation == packed >> 32 ? &handles_[slot] : nullptr;
}

std::shared_ptr<AddressEntry> AddressBook::Find(fabric::Peer peer) const {
  const Handle* handle = FindHandle(peer);
  return handle == nullptr ? nullptr : handle->entry;
}

std::shared_ptr<AddressEntry> AddressBook::FindDevicePeer(fabric::Peer device_peer) const {
  const auto found = by_device_peer_.find(device_peer);
  return found == by_device_peer_.end() ? nullptr : entries_.at(found->second);
}

std::shared_ptr<AddressEntry> AddressBook::FindAddress(const fabric::Address& address) const {
  const auto found = entries_.find(KeyOf(address));
  return found == entries_.end() ? nullptr : found->second;
}

std::shared_ptr<AddressEntry> AddressBook::FindConnid(const AddressEntry& same_queue_pair,
                                                      std::uint32_t connid) const {
  Key key = KeyOf(same_queue_pair.address);
  for (std::size_t i = 0; i < kQkeyBytes; ++i) {
    key[kQueuePairEnd + i] = static_cast<std::uint8_t>(connid >> (8 * i));
  }
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second;
}

absl::Status AddressBook::Remove(fabric::Peer peer) {
  if (FindHandle(peer) == nullptr) return absl::NotFoundError("remove peer: no such peer");
  const auto slot = static_cast<std::uint32_t>(static_cast<std::uint64_t>(peer) & kSlotMask);
  Handle& handle = handles_[slot];
  handle.entry->handle = fabric::kNoPeer;
  const Key key = KeyOf(handle.entry->address);
  handle.entry.reset();
  free_handles_.push_back(slot);
  DropIfUnused(key);
  return absl::OkStatus();
}

absl::StatusOr<fabric::Address> AddressBook::Lookup(fabric::Peer peer) const {
  const Handle* handle = FindHandle(peer);
  if (handle == nullptr) return absl::NotFoundError("look up peer: no such peer");
  return handle->address;
}

void AddressBook::DropIfUnused(const Key& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.use_count() > 1) return;
  device_->Remove(found->second->device_peer).IgnoreError();
  by_device_peer_.erase(found->second->device_peer);
  entries_.erase(found);
}

void AddressBook::Collect() {
  std::vector<Key> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  for (const Key& key : keys) DropIfUnused(key);
}

}  // namespace drydock::sim::rdm
