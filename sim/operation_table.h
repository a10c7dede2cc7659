// Every work request that is under way anywhere in the world.

#ifndef SIM_OPERATION_TABLE_H_
#define SIM_OPERATION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <vector>

#include "sim/operation.h"

namespace sim {

// Not thread-safe. References stay valid until the operation ends.
class OperationTable {
 public:
  // A fresh operation with id and sequence set.
  Operation& Start() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(operations_.size()));
      operations_.emplace_back();
      live_slots_.push_back(false);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    Operation& operation = operations_[slot];
    const std::uint32_t generation = operation.id.generation + 1;
    ::new (&operation) Operation;  // without parentheses: nobody has to clear its inline bytes
    operation.id = {slot, generation};
    operation.sequence = next_sequence_++;
    live_slots_[slot] = true;
    ++live_;
    return operation;
  }

  // Null when the operation has ended.
  Operation* Find(OperationId id) {
    if (id.slot >= operations_.size()) return nullptr;
    Operation& operation = operations_[id.slot];
    return operation.id.generation == id.generation && live_slots_[id.slot] ? &operation : nullptr;
  }

  void End(Operation& operation) {
    live_slots_[operation.id.slot] = false;
    free_.push_back(operation.id.slot);
    --live_;
  }

  // Calls visit(operation) for every one that is under way, oldest slot first; visit may end it.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (std::uint32_t slot = 0; slot < operations_.size(); ++slot) {
      if (live_slots_[slot]) visit(operations_[slot]);
    }
  }

  // The number of an operation that never enters the table.
  std::uint64_t NextSequence() { return next_sequence_++; }

  std::size_t live() const { return live_; }
  // How many there have been: the next one's sequence.
  std::uint64_t started() const { return next_sequence_; }

 private:
  std::deque<Operation> operations_;
  std::vector<bool> live_slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_sequence_ = 0;
  std::size_t live_ = 0;
};

}  // namespace sim

#endif  // SIM_OPERATION_TABLE_H_
