// The queue pairs of one NIC, by number.

#ifndef DRYDOCK_SIM_DEVICE_QUEUE_PAIR_TABLE_H_
#define DRYDOCK_SIM_DEVICE_QUEUE_PAIR_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/sim/device/queue_pair.h"

namespace drydock::sim {

// Not thread-safe.
class QueuePairTable {
 public:
  // Null when there is none with this number. Safe for any number: it comes from a peer.
  QueuePair* Find(std::uint16_t number) const {
    return number < queue_pairs_.size() ? queue_pairs_[number].get() : nullptr;
  }
  // The same, and null when it is another one than the one with this qkey.
  QueuePair* Find(std::uint16_t number, std::uint32_t qkey) const {
    QueuePair* queue_pair = Find(number);
    return queue_pair != nullptr && queue_pair->qkey == qkey ? queue_pair : nullptr;
  }
  // The same, and null when that one is gone, whatever its qkey became: `serial` is its own.
  QueuePair* FindSame(std::uint16_t number, std::uint32_t serial) const {
    QueuePair* queue_pair = Find(number);
    return queue_pair != nullptr && queue_pair->serial == serial ? queue_pair : nullptr;
  }

  // The lowest number that is free; it equals size() where none below is.
  std::size_t FreeNumber() const;
  std::size_t size() const { return queue_pairs_.size(); }
  // Takes the queue pair under queue_pair->number. REQUIRES: the number is free.
  void Insert(std::unique_ptr<QueuePair> queue_pair);
  void Erase(std::uint16_t number) { queue_pairs_[number] = nullptr; }

  // Calls visit(queue_pair) for each, lowest number first.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& queue_pair : queue_pairs_) {
      if (queue_pair != nullptr) visit(*queue_pair);
    }
  }

 private:
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;  // index = number; null: free
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_QUEUE_PAIR_TABLE_H_
