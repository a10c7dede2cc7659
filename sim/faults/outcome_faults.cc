// How operations end: a failure where the device would find it. What the device sees by itself
// fails without a packet; what only a peer can say needs a peer that is there to say it.

#include "sim/faults/fault_model.h"
#include "sim/world.h"

namespace sim {

using fabric::OperationKind;
using fabric::faults::Fault;

namespace {

// An operation that is to be served after others is served all the same when none come.
constexpr coro::Duration kMostBehind{100'000};

}  // namespace

void FaultModel::Take(const QueuePair& queue_pair, Operation& operation, bool sound) {
  const bool bare = bare_.erase({queue_pair.qkey, operation.request_id}) > 0;
  const bool outcome = sound && !operation.datagram && Concerns(Point::kOutcome, operation.kind);
  const bool placement = sound && !operation.datagram && operation.length > 0 &&
                         Concerns(Point::kPlacement, operation.kind);
  const bool timing = Concerns(Point::kTiming, operation.kind);
  if (!outcome && !placement && !timing) return;
  EventView view = ViewOf(operation);
  view.signalled = !bare;
  Fate fate;
  if (outcome) fate.outcome = Decide(Point::kOutcome, view);
  if (timing) fate.timing = Decide(Point::kTiming, view);
  if (placement) fate.placement = Decide(Point::kPlacement, view);
  if (fate.any()) FateOf(operation) = fate;
}

bool FaultModel::HoldsBack(Nic& nic, Operation& operation) {
  Fate& fate = FateOf(operation);
  if (fate.Fails() && fate.RunsNot() && !IsAnswer(fate.Status())) {
    Fail(operation, fate);
    return true;
  }
  if (!fate.placement) return false;
  const OperationId id = operation.id;
  const auto begin = [this, &nic, id] {
    std::erase_if(behind_,
                  [&](const Behind& waiting) { return waiting.operation.Pack() == id.Pack(); });
    if (const Operation* found = world_.operations().Find(id)) nic.Begin(*found);
  };
  if (fate.placement.fault() == Fault::kLateSourceRead) {
    After(fate.placement.Delay(), begin);
    return true;
  }
  if (fate.placement.fault() != Fault::kReorderedOperations) return false;
  behind_.push_back({.nic = &nic,
                     .operation = id,
                     .queue_pair = operation.queue_pair,
                     .qkey = operation.qkey,
                     .sequence = operation.sequence,
                     .left = fate.placement.parameters().behind});
  After(kMostBehind, [this, id, begin] {
    for (const Behind& waiting : behind_) {
      if (waiting.operation.Pack() == id.Pack()) return begin();
    }
  });
  return true;
}

void FaultModel::Served(const Operation& served) {
  for (Behind& waiting : behind_) {
    const bool later = waiting.nic == served.initiator && waiting.qkey == served.qkey &&
                       waiting.queue_pair == served.queue_pair &&
                       waiting.sequence < served.sequence;
    if (later) --waiting.left;
  }
  for (std::size_t i = 0; i < behind_.size();) {
    if (behind_[i].left > 0) {
      ++i;
      continue;
    }
    const Behind ready = behind_[i];
    behind_.erase(behind_.begin() + static_cast<std::ptrdiff_t>(i));
    if (const Operation* found = world_.operations().Find(ready.operation)) {
      ready.nic->Begin(*found);
    }
  }
}

// The end that the rule wants, after its delay. Nothing more is placed from now on.
void FaultModel::Fail(Operation& operation, const Fate& fate) {
  operation.ended = true;
  if (operation.watched != nullptr) world_.checks().memory().Silent(*operation.watched);
  const OperationId id = operation.id;
  const EfaStatus status = fate.Status();
  After(fate.outcome.Delay(), [this, id, status] {
    Operation* found = world_.operations().Find(id);
    if (found == nullptr) return;
    if (!IsAnswer(status)) return found->initiator->FinishLocally(*found, status);
    if (!found->peer->alive()) return found->initiator->StartTimeout(*found);
    found->peer->Finish(*found, status);
  });
}

bool FaultModel::Refuses(Nic& nic, QueuePair& target, Operation& operation) {
  Fate& fate = FateOf(operation);
  if (!fate.Fails() || fate.RunsWhole()) return false;
  // Of a message that fails no receive is taken: what reaches memory is the next one's to
  // overwrite.
  if (operation.kind != OperationKind::kSend && !fate.RunsNot()) return false;
  Landing landing;
  const std::uint64_t placed = fate.Placed(operation.length);
  const bool lands = placed > 0 && target.receive.Peek(landing.receive) &&
                     operation.length <= landing.receive.length &&
                     nic.ReceiveIsValid(target, landing.receive) &&
                     operation.initiator->LocalIsValid(operation, {0, placed});
  if (lands) nic.PlaceMessage(operation, landing, {0, placed});
  Fail(operation, fate);
  return true;
}

bool FaultModel::RefusesAbroad(Operation& operation) {
  const Fate& fate = FateOf(operation);
  if (!fate.Fails() || fate.RunsWhole()) return false;
  if (operation.kind != OperationKind::kSend && !fate.RunsNot()) return false;
  Fail(operation, fate);
  return true;
}

bool FaultModel::RefusesReceive(Nic& nic, QueuePair& target, Operation& operation,
                                Landing& landing) {
  const OperationKind kind = OperationKind::kReceive;
  if (!Concerns(Point::kOutcome, kind) && !Concerns(Point::kTiming, kind)) return false;
  EventView view = TargetViewOf(nic, operation);
  view.operation = kind;
  view.key.reset();
  if (operation.has_immediate) view.immediate = operation.immediate;
  Fate& fate = landing.fate;
  fate.outcome = Decide(Point::kOutcome, view);
  fate.timing = Decide(Point::kTiming, view);
  if (!fate.Fails()) return false;
  const std::uint64_t placed = fate.Placed(operation.length);
  if (placed > 0) nic.PlaceMessage(operation, landing, {0, placed});
  After(fate.outcome.Delay(), [&nic, number = target.number, qkey = target.qkey,
                               receive = landing.receive, status = fate.Status()] {
    QueuePair* found = nic.FindQueuePair(number, qkey);
    if (found != nullptr && nic.alive()) nic.RefuseReceive(*found, receive, status);
  });
  if (fate.Status() == EfaStatus::kFlushed) {  // the message looks for the next one
    world_.Schedule(world_.Now(), &nic, EventKind::kRnrRetry, 0, operation.id.Pack());
  } else if (operation.datagram) {
    nic.FinishLocally(operation, EfaStatus::kOk);
  } else {
    nic.Finish(operation, EfaStatus::kRemoteBadAddress);
  }
  return true;
}

bool FaultModel::Ends(Operation& operation) {
  Fate& fate = FateOf(operation);
  if (!fate.Fails()) return false;
  Fail(operation, fate);
  return true;
}

bool FaultModel::IsCut(const Operation& operation) const {
  const Fate* fate = Find(operation);
  return fate != nullptr && fate->Fails() && !fate->RunsWhole();
}

}  // namespace sim
