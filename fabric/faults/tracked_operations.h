// Operations in flight whose completion a rule may change: their requests, and the decided outcome.
// The fabric below gets a token as their context.

#ifndef DRYDOCK_FABRIC_FAULTS_TRACKED_OPERATIONS_H_
#define DRYDOCK_FABRIC_FAULTS_TRACKED_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::faults {

class PeerDirectory;

// An endpoint, as its completion queue sees it.
struct EndpointState {
  PeerDirectory* peers = nullptr;
  std::size_t unposted = 0;  // operations that were accepted and never given to the fabric below
};

// The faults that the rules give one operation.
struct OperationFaults {
  Firing outcome;
  Firing timing;
};

struct TrackedOperation {
  EndpointState* endpoint = nullptr;
  OperationKind kind = OperationKind::kSend;
  Peer peer{};
  std::optional<Context> context;  // the program's own
  OperationFaults faults;
};

// The table of one queue, from tokens to operations. A token has a slot's index and its generation,
// so a completion that arrives after its operation was removed finds nothing, even if the slot is
// in use again. The table grows to the largest number of operations in flight and never shrinks.
// Threads: one at a time, as the queue.
class TrackedOperations {
 public:
  // Keeps a copy until Remove. Returns the token that the fabric below gets as the context.
  Context Add(const TrackedOperation& operation) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.live = true;
    slot.operation = operation;
    return static_cast<Context>(static_cast<std::uint64_t>(slot.generation) << 32 | index);
  }

  // Null: the operation is gone, because its endpoint was closed.
  TrackedOperation* Find(Context token) {
    Slot* slot = SlotOf(token);
    return slot == nullptr ? nullptr : &slot->operation;
  }

  // REQUIRES: Find(token) is not null.
  void Remove(Context token) { Free(static_cast<std::uint32_t>(Raw(token))); }

  // The endpoint closes: its tokens find nothing from now on.
  void RemoveAllOf(const EndpointState* endpoint) {
    for (std::uint32_t index = 0; index < slots_.size(); ++index) {
      if (slots_[index].live && slots_[index].operation.endpoint == endpoint) Free(index);
    }
  }

 private:
  struct Slot {
    TrackedOperation operation;
    std::uint32_t generation = 1;
    bool live = false;
  };

  static std::uint64_t Raw(Context token) { return static_cast<std::uint64_t>(token); }
  Slot* SlotOf(Context token) {
    const auto index = static_cast<std::uint32_t>(Raw(token));
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.live && slot.generation == Raw(token) >> 32 ? &slot : nullptr;
  }
  void Free(std::uint32_t index) {
    slots_[index].live = false;
    ++slots_[index].generation;
    free_.push_back(index);
  }

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_TRACKED_OPERATIONS_H_
