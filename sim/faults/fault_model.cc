#include "sim/faults/fault_model.h"

#include <utility>

#include "sim/world.h"

namespace sim {

using fabric::OperationKind;
using fabric::faults::Direction;

FaultModel::FaultModel(World& world, std::shared_ptr<fabric::faults::FaultEngine> engine)
    : world_(world), engine_(std::move(engine)) {}

// ---- What is known of an event ----

FaultModel::EventView FaultModel::ViewOf(const Nic& nic) const {
  EventView view;
  view.time = world_.Elapsed();
  view.nic = nic.name();
  return view;
}

FaultModel::EventView FaultModel::ViewOf(const Operation& operation) const {
  const Nic& nic = *operation.initiator;
  EventView view = ViewOf(nic);
  if (const QueuePair* queue_pair = nic.FindQueuePair(operation.queue_pair, operation.qkey)) {
    view.queue = queue_pair->ordinal;
  }
  view.peer =
      NumberOf(nic, operation.peer, operation.destination_queue_pair, operation.destination_qkey);
  view.operation = operation.kind;
  view.size_bytes = operation.length;
  if (operation.kind != OperationKind::kSend) view.key = operation.remote_key;
  if (operation.has_immediate) view.immediate = operation.immediate;
  return view;
}

FaultModel::EventView FaultModel::TargetViewOf(const Nic& nic, const Operation& operation) const {
  EventView view = ViewOf(nic);
  view.direction = Direction::kTarget;
  const QueuePair* target =
      nic.FindQueuePair(operation.destination_queue_pair, operation.destination_qkey);
  if (target != nullptr) view.queue = target->ordinal;
  view.peer = NumberOf(nic, operation.initiator, operation.queue_pair, operation.qkey);
  view.operation = operation.kind;
  view.size_bytes = operation.length;
  if (operation.kind != OperationKind::kSend) view.key = operation.remote_key;
  return view;
}

std::optional<std::uint32_t> FaultModel::NumberOf(const Nic& nic, const Nic* peer,
                                                  std::uint16_t queue_pair,
                                                  std::uint32_t qkey) const {
  if (peer == nullptr) return std::nullopt;
  const auto found = peers_.find({nic.index(), peer->gid(), queue_pair, qkey});
  if (found == peers_.end()) return std::nullopt;
  return found->second;
}

// ---- Operations ----

Fate& FaultModel::FateOf(Operation& operation) {
  operation.faulted = true;
  return fates_[operation.id.Pack()];
}

const Fate* FaultModel::Find(const Operation& operation) const {
  if (!operation.faulted) return nullptr;
  const auto found = fates_.find(operation.id.Pack());
  return found == fates_.end() ? nullptr : &found->second;
}

void FaultModel::PostedWithoutContext(const QueuePair& queue_pair, std::uint16_t request) {
  if (Concerns(Point::kOutcome)) bare_.insert({queue_pair.qkey, request});
}

// ---- Timers ----

void FaultModel::After(coro::Duration delay, std::function<void()> action) {
  timers_.emplace(next_timer_, std::move(action));
  world_.Schedule(coro::After(world_.Now(), delay), this, EventKind::kFault, 0, next_timer_++);
}

void FaultModel::OnEvent(const Event& event) {
  const auto found = timers_.find(event.b);
  const std::function<void()> action = std::move(found->second);
  timers_.erase(found);
  action();
}

}  // namespace sim
