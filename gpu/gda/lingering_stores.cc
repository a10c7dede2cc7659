#include "drydock/gpu/gda/lingering_stores.h"

#include <algorithm>
#include <cstring>

namespace drydock::gpu::gda {
namespace {

void Do(const LingeringStore& store) { std::memcpy(store.where, &store.value, store.bytes); }

void OverlayOne(const LingeringStore& store, const unsigned char* where, unsigned char* bytes,
                unsigned count) {
  const unsigned char* const begin = std::max<const unsigned char*>(where, store.where);
  const unsigned char* const end =
      std::min<const unsigned char*>(where + count, store.where + store.bytes);
  if (begin >= end) return;
  const auto* const value = reinterpret_cast<const unsigned char*>(&store.value);
  std::copy(value + (begin - store.where), value + (end - store.where), bytes + (begin - where));
}

bool AnyMeets(const std::vector<LingeringStore>& stores, const unsigned char* where,
              unsigned count) {
  return std::any_of(stores.begin(), stores.end(), [&](const LingeringStore& store) {
    return store.where < where + count && where < store.where + store.bytes;
  });
}

}  // namespace

void LingeringBlock::Take(std::vector<LingeringStore>& stores) {
  const std::lock_guard lock(mutex_);
  stores_.insert(stores_.end(), stores.begin(), stores.end());
  stores.clear();
}

void LingeringBlock::Happen() {
  const std::lock_guard lock(mutex_);
  for (const LingeringStore& store : stores_) Do(store);
  stores_.clear();
}

bool LingeringBlock::Holds(const unsigned char* where, unsigned count) {
  const std::lock_guard lock(mutex_);
  return AnyMeets(stores_, where, count);
}

void LingeringBlock::Read(const unsigned char* where, unsigned char* bytes, unsigned count) {
  const std::lock_guard lock(mutex_);  // a store is in memory or in the list at any time
  std::copy(where, where + count, bytes);
  for (const LingeringStore& store : stores_) OverlayOne(store, where, bytes, count);
}

void LingeringStores::Store(void* where, std::uint64_t value, unsigned bytes) {
  const LingeringStore store{static_cast<unsigned char*>(where), value, bytes};
  // Half of them are not late at all. One that is must not be overtaken by a later store to the
  // same place.
  const bool late = (coro::Combine(key_, count_++) & 1) != 0;
  if (late || AnyMeets(stores_, store.where, bytes) || block_.Holds(store.where, bytes)) {
    stores_.push_back(store);
  } else {
    Do(store);
  }
}

std::uint64_t LingeringStores::Load(const void* where, unsigned bytes) {
  const auto* const from = static_cast<const unsigned char*>(where);
  std::uint64_t value = 0;
  auto* const to = reinterpret_cast<unsigned char*>(&value);
  block_.Read(from, to, bytes);
  for (const LingeringStore& store : stores_) OverlayOne(store, from, to, bytes);
  return value;
}

void LingeringStores::Fence() {
  block_.Happen();
  for (const LingeringStore& store : stores_) Do(store);
  stores_.clear();
}

}  // namespace drydock::gpu::gda
