#include "drydock/sim/device/queue_pair_table.h"

#include <algorithm>
#include <utility>

#include "drydock/coro/check.h"

namespace drydock::sim {

std::size_t QueuePairTable::FreeNumber() const {
  const auto free = std::find(queue_pairs_.begin(), queue_pairs_.end(), nullptr);
  return static_cast<std::size_t>(free - queue_pairs_.begin());
}

void QueuePairTable::Insert(std::unique_ptr<QueuePair> queue_pair) {
  const std::uint16_t number = queue_pair->number;
  if (number >= queue_pairs_.size()) queue_pairs_.resize(number + 1u);
  DD_CHECK(queue_pairs_[number] == nullptr, "two queue pairs have one number");
  queue_pairs_[number] = std::move(queue_pair);
}

}  // namespace drydock::sim
