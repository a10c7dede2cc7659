// Every work request that is under way anywhere in the world.

#ifndef SIM_OPERATION_TABLE_H_
#define SIM_OPERATION_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/memory.h"
#include "fabric/operation.h"
#include "sim/efa_address.h"
#include "sim/memory_table.h"

namespace sim {

class Nic;

// Slot and generation: the id of an operation that has ended finds nothing.
struct OperationId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  std::uint64_t Pack() const { return static_cast<std::uint64_t>(generation) << 32 | slot; }
  static OperationId Unpack(std::uint64_t packed) {
    return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32)};
  }
};

// Most that a 64-byte work request carries by itself.
inline constexpr std::size_t kInlineBytes = 32;

// One work request between its doorbell and its completion.
struct Operation {
  OperationId id;
  std::uint64_t sequence =
      0;  // over all operations of the world: the identity that random draws depend on

  Nic* initiator = nullptr;
  ProtectionDomain domain = 0;
  std::uint16_t queue_pair = 0;
  std::uint32_t qkey = 0;  // of our queue pair, to notice that it was replaced
  std::uint16_t request_id = 0;

  fabric::OperationKind kind = fabric::OperationKind::kSend;
  fabric::LocalBuffer local;
  fabric::RemoteBuffer remote;
  EfaAddress destination;
  std::optional<std::uint32_t> immediate;
  bool is_inline = false;  // the message was copied when it was posted
  std::array<std::byte, kInlineBytes> inline_data;

  std::uint32_t packets = 1;       // that carry data, or the one packet of an empty operation
  std::uint32_t next_packet = 0;   // first that was not sent yet
  std::uint32_t placed = 0;        // whose bytes are where they belong
  std::uint32_t rnr_attempts = 0;  // how often the target had no receive
  std::uint8_t status = 0;         // how it ended
  bool ended = false;              // the answer is on its way: nothing more is placed
  bool timing_out = false;         // nobody answers
};

// Not thread-safe.
class OperationTable {
 public:
  // A fresh operation with id and sequence set. Valid until the next Start.
  Operation& Start() {
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(operations_.size());
      operations_.emplace_back();
      live_slots_.push_back(false);
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    const std::uint32_t generation = operations_[slot].id.generation + 1;
    operations_[slot] = Operation{.id = {slot, generation}, .sequence = next_sequence_++};
    live_slots_[slot] = true;
    ++live_;
    return operations_[slot];
  }

  // Null when the operation has ended.
  Operation* Find(OperationId id) {
    if (id.slot >= operations_.size()) return nullptr;
    Operation& operation = operations_[id.slot];
    return operation.id.generation == id.generation ? &operation : nullptr;
  }

  void End(Operation& operation) {
    ++operation.id.generation;
    live_slots_[operation.id.slot] = false;
    free_.push_back(operation.id.slot);
    --live_;
  }

  // Ends every operation for which `predicate` holds.
  template <typename Predicate>
  void EndIf(Predicate predicate) {
    for (std::uint32_t slot = 0; slot < operations_.size(); ++slot) {
      if (live_slots_[slot] && predicate(operations_[slot])) End(operations_[slot]);
    }
  }

  std::size_t live() const { return live_; }

 private:
  std::vector<Operation> operations_;
  std::vector<bool> live_slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_sequence_ = 0;
  std::size_t live_ = 0;
};

}  // namespace sim

#endif  // SIM_OPERATION_TABLE_H_
