// All operations of one endpoint, by the numbers that packets carry.

#ifndef DRYDOCK_SIM_RDM_OPERATION_TABLE_H_
#define DRYDOCK_SIM_RDM_OPERATION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "drydock/sim/rdm/operation.h"

namespace drydock::sim::rdm {

// Number = slot + generation: a late packet for an operation that has ended finds nothing, or so a
// peer that invents numbers. Not thread-safe.
class OperationTable {
 public:
  // Takes an operation over, and lets it begin. Returns its number; it may have ended already.
  OperationId Start(std::unique_ptr<Operation> operation);

  // Null when it has ended. Valid until something is done that may end it.
  Operation* Find(OperationId id) const;
  // The same, of one peer only: numbers that a peer sends are its own business.
  Operation* Find(OperationId id, const Peer& peer) const {
    Operation* operation = Find(id);
    return operation != nullptr && &operation->peer() == &peer ? operation : nullptr;
  }

  // Lets an operation go on after something happened to it, and ends it if it is done. Returns why
  // it stopped.
  Blocked Run(Operation& operation);
  // Lets those go on that were blocked, oldest first.
  void RunBlocked();

  // Calls `visit` for every operation, by slot, and runs each afterwards.
  void ForEach(const std::function<void(Operation&)>& visit);

  // True when `predicate` holds for some operation.
  bool Any(const std::function<bool(const Operation&)>& predicate) const;

  // Forgets all of them, without a report.
  void Clear();

  std::size_t size() const { return live_; }

 private:
  struct Slot {
    std::unique_ptr<Operation> operation;
    std::uint32_t generation = 0;
  };

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::deque<OperationId> blocked_;
  std::size_t live_ = 0;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_OPERATION_TABLE_H_
