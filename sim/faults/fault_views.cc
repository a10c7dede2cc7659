#include "drydock/sim/faults/fault_views.h"

#include "drydock/fabric/operation.h"

namespace drydock::sim {

using fabric::OperationKind;
using fabric::faults::EventView;

void FaultViews::Inserted(const NicState& nic, const EfaAddress& address) {
  const Key key{nic.index(), address.gid, address.queue_pair, address.qkey};
  std::uint32_t& count = inserted_[nic.index()];
  if (peers_.try_emplace(key, count).second) ++count;
}

void FaultViews::Requested(const Operation& operation) {
  if (operation.peer == nullptr) return;
  Inserted(*operation.initiator,
           {operation.peer->gid, operation.destination_queue_pair, operation.destination_qkey});
}

std::optional<std::uint32_t> FaultViews::NumberOf(const NicState& nic, const NicState* peer,
                                                  std::uint16_t queue_pair,
                                                  std::uint32_t qkey) const {
  if (peer == nullptr) return std::nullopt;
  const auto found = peers_.find({nic.index(), peer->gid, queue_pair, qkey});
  if (found == peers_.end()) return std::nullopt;
  return found->second;
}

EventView FaultViews::Of(const NicState& nic) const {
  EventView view;
  view.time = by_time_ ? clock_.ElapsedNow() : clock_.elapsed();
  view.nic = nic.name;
  return view;
}

EventView FaultViews::AtInitiator(const Operation& operation) const {
  const NicState& nic = *operation.initiator;
  EventView view = Of(nic);
  if (const QueuePair* queue_pair = nic.queue_pairs.Find(operation.queue_pair, operation.qkey)) {
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

EventView FaultViews::AtTarget(const NicState& nic, const Operation& operation) const {
  EventView view = Of(nic);
  view.direction = fabric::faults::Direction::kTarget;
  const QueuePair* target =
      nic.queue_pairs.Find(operation.destination_queue_pair, operation.destination_qkey);
  if (target != nullptr) view.queue = target->ordinal;
  view.peer = NumberOf(nic, operation.initiator, operation.queue_pair, operation.qkey);
  view.operation = operation.kind;
  view.size_bytes = operation.length;
  if (operation.kind != OperationKind::kSend) view.key = operation.remote_key;
  return view;
}

}  // namespace drydock::sim
