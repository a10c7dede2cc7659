// Every work request that is under way anywhere in the world.

#ifndef DRYDOCK_SIM_DEVICE_OPERATION_TABLE_H_
#define DRYDOCK_SIM_DEVICE_OPERATION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "drydock/sim/device/operation.h"

namespace drydock::sim {

// Not thread-safe. References stay valid until the operation ends. Allocates only when more
// operations are under way than ever before.
class OperationTable {
 public:
  // A fresh operation with id and sequence set.
  Operation& Start() {
    if (free_.empty()) [[unlikely]] {
      Grow();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    Operation& operation = At(slot);
    const std::uint32_t generation = operation.id.generation + 1;
    ::new (&operation) Operation;  // without parentheses: nothing clears its inline bytes
    operation.id = {slot, generation};
    operation.sequence = next_sequence_++;
    ++live_;
    return operation;
  }

  // Null when the operation has ended, or never was. Safe for any id.
  Operation* Find(OperationId id) {
    if (id.slot >= slots_) return nullptr;
    Operation& operation = At(id.slot);
    return operation.id.generation == id.generation && IsLive(operation) ? &operation : nullptr;
  }

  void End(Operation& operation) {
    ++operation.id.generation;
    free_.push_back(operation.id.slot);
    --live_;
  }

  // Calls visit(operation) for every one that is under way, lowest slot first; visit may end it.
  template <typename Visit>
  void ForEach(Visit visit) {
    if (live_ == 0) return;
    for (std::uint32_t slot = 0; slot < slots_; ++slot) {
      if (Operation& operation = At(slot); IsLive(operation)) visit(operation);
    }
  }

  std::size_t live() const { return live_; }
  // How many there have been: the next one's sequence.
  std::uint64_t started() const { return next_sequence_; }

 private:
  static constexpr unsigned kChunkBits = 6;
  static constexpr std::uint32_t kChunk = 1u << kChunkBits;

  // A generation is odd while its operation is under way.
  static bool IsLive(const Operation& operation) { return (operation.id.generation & 1) != 0; }
  Operation& At(std::uint32_t slot) { return chunks_[slot >> kChunkBits][slot & (kChunk - 1)]; }
  void Grow() {
    chunks_.push_back(std::make_unique<Operation[]>(kChunk));
    for (std::uint32_t i = kChunk; i > 0; --i) free_.push_back(slots_ + i - 1);
    slots_ += kChunk;
  }

  std::vector<std::unique_ptr<Operation[]>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t slots_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::size_t live_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_OPERATION_TABLE_H_
