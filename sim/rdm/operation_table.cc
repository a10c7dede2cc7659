#include "drydock/sim/rdm/operation_table.h"

#include <algorithm>
#include <utility>

#include "drydock/sim/rdm/device_context.h"

namespace drydock::sim::rdm {
namespace {

constexpr unsigned kSlotBits = 32;
// The bits that the device's contexts leave; see device_context.h.
constexpr std::uint32_t kGenerationMask = (std::uint32_t{1} << (kNumberBits - kSlotBits)) - 1;

}  // namespace

OperationId OperationTable::Start(std::unique_ptr<Operation> operation) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  ++live_;
  Slot& slot = slots_[number];
  slot.generation = (slot.generation + 1) & kGenerationMask;
  if (slot.generation == 0) slot.generation = 1;  // no number is kNoOperation
  const OperationId id = static_cast<OperationId>(slot.generation) << kSlotBits | number;
  slot.operation = std::move(operation);
  slot.operation->id_ = id;
  Run(*slot.operation);
  return id;
}

Operation* OperationTable::Find(OperationId id) const {
  const std::uint64_t number = id & UINT32_MAX;
  if (number >= slots_.size() || slots_[number].generation != id >> kSlotBits) return nullptr;
  return slots_[number].operation.get();
}

Blocked OperationTable::Run(Operation& operation) {
  const OperationId id = operation.id_;
  const Blocked blocked = operation.Advance();
  if (operation.Done()) {
    operation.Report();
    const auto number = static_cast<std::uint32_t>(id);
    // Out of the table first: code that runs at its end must not find it.
    const std::unique_ptr<Operation> ended = std::move(slots_[number].operation);
    free_.push_back(number);
    --live_;
  } else if (blocked != Blocked::kNo && !operation.waiting_) {
    operation.waiting_ = true;
    blocked_.push_back(id);
  }
  return blocked;
}

void OperationTable::RunBlocked() {
  std::deque<OperationId> waiting;
  waiting.swap(blocked_);
  while (!waiting.empty()) {
    const OperationId id = waiting.front();
    waiting.pop_front();
    Operation* operation = Find(id);
    if (operation == nullptr) continue;
    operation->waiting_ = false;
    if (Run(*operation) == Blocked::kByDevice) break;
  }
  // Those that had no turn stay in front of those that had.
  blocked_.insert(blocked_.begin(), waiting.begin(), waiting.end());
}

void OperationTable::ForEach(const std::function<void(Operation&)>& visit) {
  for (std::size_t number = 0; number < slots_.size(); ++number) {
    if (slots_[number].operation == nullptr) continue;
    visit(*slots_[number].operation);
    Run(*slots_[number].operation);
  }
}

void OperationTable::Clear() {
  for (std::size_t number = 0; number < slots_.size(); ++number) {
    if (slots_[number].operation == nullptr) continue;
    slots_[number].operation.reset();
    free_.push_back(static_cast<std::uint32_t>(number));
  }
  blocked_.clear();
  live_ = 0;
}

bool OperationTable::Any(const std::function<bool(const Operation&)>& predicate) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.operation != nullptr && predicate(*slot.operation);
  });
}

}  // namespace drydock::sim::rdm
