#include "drydock/fabric/async/transfer/operations.h"

namespace drydock::fabric::async::transfer {

const ChunkPage* Operations::EndAny() {
  if (room() == slots_.size()) return nullptr;
  std::uint32_t number = 0;
  while (!slots_[number].under_way) ++number;
  return Free(number);
}

std::optional<Operations::Aged> Operations::Oldest() const {
  const Slot* oldest = nullptr;
  for (const Slot& slot : slots_) {
    const bool older = oldest == nullptr || slot.since < oldest->since;
    if (slot.under_way && older) oldest = &slot;
  }
  if (oldest == nullptr) return std::nullopt;
  return Aged{oldest->page, oldest->since};
}

void Operations::Postpone(coro::Duration gap) {
  for (Slot& slot : slots_) {
    if (slot.under_way) slot.since += gap;
  }
}

}  // namespace drydock::fabric::async::transfer
