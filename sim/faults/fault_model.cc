#include "drydock/sim/faults/fault_model.h"

#include <algorithm>
#include <bit>

#include "drydock/sim/faults/placement_plan.h"
#include "drydock/sim/random.h"

namespace drydock::sim {

using fabric::OperationKind;
using fabric::faults::Capacity;
using fabric::faults::Fault;

namespace {

bool HasWindow(const fabric::faults::FaultPlan& plan) {
  return std::any_of(plan.rules.begin(), plan.rules.end(),
                     [](const auto& rule) { return rule.when.window.has_value(); });
}

bool NamesPeers(const fabric::faults::FaultPlan& plan) {
  return std::any_of(plan.rules.begin(), plan.rules.end(),
                     [](const auto& rule) { return !rule.when.peers.empty(); });
}

}  // namespace

FaultModel::FaultModel(const WorldClock& clock, std::shared_ptr<fabric::faults::FaultEngine> engine)
    : clock_(clock),
      engine_(std::move(engine)),
      views_(clock, HasWindow(engine_->plan())),
      names_peers_(NamesPeers(engine_->plan())) {}

void FaultModel::OnGone(const Operation& operation) {
  if (operation.faulted) faults_.erase(operation.id.Pack());
}

// ---- The initiator ----

FetchVerdict FaultModel::OnFetch(const QueuePair& queue_pair, Operation& operation, bool sound) {
  const bool bare = bare_.erase({queue_pair.qkey, operation.request_id}) > 0;
  if (sound && names_peers_) views_.Requested(operation);
  const bool outcome = sound && !operation.datagram && Concerns(Point::kOutcome, operation.kind);
  const bool placement = sound && !operation.datagram && operation.length > 0 &&
                         Concerns(Point::kPlacement, operation.kind);
  const bool timing = Concerns(Point::kTiming, operation.kind);
  if (!outcome && !placement && !timing) return {};
  EventView view = views_.AtInitiator(operation);
  view.signalled = !bare;
  OperationFaults faults;
  if (outcome) faults.outcome = Decide(Point::kOutcome, view);
  if (timing) faults.timing = Decide(Point::kTiming, view);
  if (placement) faults.placement = Decide(Point::kPlacement, view);
  if (!faults.any()) return {};
  Mark(operation) = faults;
  return sound ? Serving(faults) : FetchVerdict{};
}

// An error that the device sees by itself comes without a packet; one that only a peer can report
// needs a living peer.
FetchVerdict FaultModel::Serving(const OperationFaults& faults) {
  using When = FetchVerdict::When;
  if (faults.Fails() && faults.RunsNot() && !IsAnswer(faults.Status())) {
    return {.when = When::kNever, .failure = faults.AsFailure()};
  }
  if (!faults.placement) return {};
  if (faults.placement.fault() == Fault::kLateSourceRead) {
    return {.when = When::kLater, .delay = faults.placement.Delay()};
  }
  if (faults.placement.fault() == Fault::kReorderedOperations) {
    return {.when = When::kAfterOthers, .others = faults.placement.parameters().behind};
  }
  return {};
}

// ---- The network ----

FaultModel::EventView FaultModel::ViewOfPacket(const NicState& from, const Operation& operation,
                                               DrawPurpose purpose) const {
  return purpose == DrawPurpose::kRequest ? views_.AtInitiator(operation)
                                          : views_.AtTarget(from, operation);
}

namespace {

// Longer than anything waits, and far from the end of what can be counted.
constexpr coro::Duration kForEver = std::chrono::hours(24 * 365);

// So often as long. What a plan allows at the most is more than can be counted.
coro::Duration Times(coro::Duration delay, std::int64_t factor) {
  return delay < kForEver / factor ? delay * factor : kForEver;
}

// A device tries again until the link is back, unless its patience ends first.
DepartureVerdict WaitForLink(const fabric::faults::Firing& flap, coro::Duration now,
                             coro::Duration patience) {
  const fabric::faults::Parameters& turn = flap.parameters();
  const auto& window = flap.rule->when.window;
  const coro::Duration since = now - (window.has_value() ? window->from : coro::Duration::zero());
  const coro::Duration at = since % (turn.up + turn.down);
  if (at < turn.up) return {};
  const coro::Duration left = turn.up + turn.down - at;
  return {.leaves = left < patience, .delay = left, .retransmissions = 1};
}

}  // namespace

DepartureVerdict FaultModel::OnDeparture(const NicState& from, const Operation& operation,
                                         DrawPurpose purpose) {
  using Machine = DepartureVerdict::Machine;
  if (!Concerns(Point::kMachine)) return {};
  EventView view = ViewOfPacket(from, operation, purpose);
  view.operation.reset();
  const Firing firing = Decide(Point::kMachine, view);
  if (!firing) return {};
  switch (firing.fault()) {
    case Fault::kLinkBlocked:
      return {.leaves = false};
    case Fault::kLinkFlap:
      return WaitForLink(firing, clock_.ElapsedNow(),
                         operation.initiator->profile.unresponsive_timeout);
    case Fault::kNicDies:
      return {.machine = Machine::kNicDies, .leaves = false};
    case Fault::kNicResets:
      return {.machine = Machine::kNicResets};
    case Fault::kNodePauses:
      return {.machine = Machine::kPauses, .delay = firing.Delay()};
    default:
      RefuseFault(firing.fault());
  }
}

void FaultModel::OnFlight(const NicState& from, Operation& operation, DrawPurpose purpose,
                          Flight& flight) {
  const bool request = purpose == DrawPurpose::kRequest;
  if (operation.faulted && request) {
    const OperationFaults& faults = FaultsOf(operation);
    const bool straggles = faults.placement && faults.placement.fault() == Fault::kStragglerWrite;
    if (straggles) flight.delay += faults.placement.Delay();
  }
  if (!Concerns(Point::kPacket, operation.kind)) return;
  const Firing firing = Decide(Point::kPacket, ViewOfPacket(from, operation, purpose));
  if (!firing) return;
  switch (firing.fault()) {
    case Fault::kImmediateFlood:
      // Asked for each packet; the immediate is one.
      Mark(operation).floods =
          std::max(Mark(operation).floods, static_cast<std::uint32_t>(firing.parameters().copies));
      return;
    case Fault::kSlowLink:
      flight.delay = Times(flight.delay, firing.parameters().factor);
      break;
    case Fault::kPacketLoss:
      flight.retransmissions += static_cast<std::uint32_t>(firing.parameters().attempts);
      flight.delay += Times(from.profile.retransmit_delay, firing.parameters().attempts);
      break;
    default:
      RefuseFault(firing.fault());
  }
  flight.arrives = flight.delay < operation.initiator->profile.unresponsive_timeout;
}

// ---- The target ----

FaultPoints::ArrivalVerdict FaultModel::OnArrival(const NicState& /*nic*/,
                                                  const Operation& operation) {
  const OperationFaults& faults = FaultsOf(operation);
  if (!faults.IsCut()) return {};
  const bool message = operation.kind == OperationKind::kSend;
  if (!message && !faults.RunsNot()) return {};  // its placement is decided by packet
  return {.failure = faults.AsFailure(),
          .placed_bytes = message ? faults.Placed(operation.length) : 0};
}

OperationFaults FaultModel::DecideAtTarget(OperationKind kind, const EventView& view) {
  OperationFaults faults;
  if (Concerns(Point::kOutcome, kind)) faults.outcome = Decide(Point::kOutcome, view);
  if (Concerns(Point::kTiming, kind)) faults.timing = Decide(Point::kTiming, view);
  return faults;
}

ReceiveVerdict FaultModel::OnReceive(const NicState& nic, const Operation& operation) {
  const OperationKind kind = OperationKind::kReceive;
  if (!Concerns(Point::kOutcome, kind) && !Concerns(Point::kTiming, kind)) return {};
  EventView view = views_.AtTarget(nic, operation);
  view.operation = kind;
  view.key.reset();
  if (operation.has_immediate) view.immediate = operation.immediate;
  const OperationFaults faults = DecideAtTarget(kind, view);
  ReceiveVerdict verdict;
  verdict.completion = faults.Completion();
  if (faults.Fails()) {
    verdict.failure = faults.AsFailure();
    verdict.placed_bytes = faults.Placed(operation.length);
  }
  return verdict;
}

// ---- Memory ----

PlacementVerdict FaultModel::OnPlacement(const NicState& nic, const Operation& operation,
                                         Range range) {
  OperationFaults& faults = FaultsOf(operation);
  PlacementVerdict verdict =
      PlanPlacement(faults, operation.length, range, nic.profile.split_placement_delay);
  const bool closes = operation.kind != OperationKind::kSend && faults.placement &&
                      faults.placement.fault() == Fault::kRegionCloses;
  if (closes) {
    verdict.region_closes = faults.arrivals++ == Below(faults.placement.word, operation.packets);
  }
  return verdict;
}

bool FaultModel::OnWritten(const Operation& operation) { return !FaultsOf(operation).IsCut(); }

// ---- The end ----

std::optional<Failure> FaultModel::OnEnd(const Operation& operation) {
  const OperationFaults& faults = FaultsOf(operation);
  return faults.Fails() ? std::optional(faults.AsFailure()) : std::nullopt;
}

CompletionVerdict FaultModel::OnCompletion(const Operation& operation) {
  return FaultsOf(operation).Completion();
}

CompletionVerdict FaultModel::OnImmediate(const NicState& nic, const Operation& operation,
                                          DeviceCompletion& completion) {
  const OperationKind kind = OperationKind::kRemoteWrite;
  CompletionVerdict verdict;
  if (Concerns(Point::kOutcome, kind) || Concerns(Point::kTiming, kind)) {
    EventView view = views_.AtTarget(nic, operation);
    view.operation = kind;
    view.immediate = operation.immediate;
    const OperationFaults faults = DecideAtTarget(kind, view);
    if (faults.Fails()) {
      if (faults.outcome.fault() != Fault::kRemoteWriteError) RefuseFault(faults.outcome.fault());
      completion.status = static_cast<std::uint8_t>(faults.Status());
      completion.immediate = 0;  // the flag stays: without it the entry is none
      completion.length_bytes = 0;
    }
    verdict = faults.Completion();
  }
  if (operation.faulted && completion.unsolicited) verdict.repeats = FaultsOf(operation).floods;
  return verdict;
}

// ---- The driver ----

FaultModel::Firing FaultModel::DecideCapacity(const NicState& nic, Capacity capacity, Fault fault) {
  EventView view = views_.Of(nic);
  view.capacity = capacity;
  const Firing firing = Decide(Point::kCapacity, view);
  if (firing && firing.fault() != fault) RefuseFault(firing.fault());
  return firing;
}

void FaultModel::OnOpenEndpoint(const NicState& nic, fabric::Limits& limits) {
  if (!Concerns(Point::kCapacity)) return;
  const auto shrink = [&](Capacity capacity, Fault fault, std::size_t& limit) {
    if (const Firing firing = DecideCapacity(nic, capacity, fault)) {
      limit = std::min(limit, static_cast<std::size_t>(firing.parameters().entries));
    }
  };
  shrink(Capacity::kSendQueue, Fault::kSendQueueDepth, limits.send_queue_depth);
  shrink(Capacity::kReceiveQueue, Fault::kReceiveQueueDepth, limits.receive_queue_depth);
  if (const Firing firing = DecideCapacity(nic, Capacity::kInject, Fault::kInjectLimit)) {
    const auto most = static_cast<std::size_t>(firing.parameters().bytes);
    limits.inject_bytes = std::min(limits.inject_bytes, most);
    limits.inject_rma_bytes = std::min(limits.inject_rma_bytes, most);
  }
}

std::size_t FaultModel::OnOpenCompletionQueue(const NicState& nic, std::size_t entries) {
  if (!Concerns(Point::kCapacity)) return entries;
  const Firing firing =
      DecideCapacity(nic, Capacity::kCompletionQueue, Fault::kCompletionQueueDepth);
  if (!firing) return entries;
  return std::min(entries, std::bit_floor(static_cast<std::size_t>(firing.parameters().entries)));
}

void FaultModel::OnPostWithoutContext(const QueuePair& queue_pair, std::uint16_t request_id) {
  if (Concerns(Point::kOutcome)) bare_.insert({queue_pair.qkey, request_id});
}

coro::Duration FaultModel::OnInsertPeer(const NicState& nic, const EfaAddress& address) {
  views_.Inserted(nic, address);
  if (!Concerns(Point::kInsertPeer)) return {};
  const Firing firing = Decide(Point::kInsertPeer, views_.Of(nic));
  if (!firing) return {};
  if (firing.fault() != Fault::kLateIntroduction) RefuseFault(firing.fault());
  return firing.Delay();
}

// ---- Other processes ----

namespace {

// Whether none of the bytes land there. How the others land is not for this process to say.
bool IsLost(const fabric::faults::Firing& placement) {
  if (!placement) return false;
  switch (placement.fault()) {
    case Fault::kLostPlacement:
      return true;
    case Fault::kReorderedOperations:
    case Fault::kReorderedSegments:
    case Fault::kDuplicatePlacement:
    case Fault::kTornPlacement:
    case Fault::kLateSourceRead:
    case Fault::kMixedRead:
    case Fault::kStragglerWrite:
    case Fault::kCorruptPlacement:
    case Fault::kRegionCloses:
      return false;
    default:
      RefuseFault(placement.fault());
  }
}

}  // namespace

ForwardVerdict FaultModel::OnForward(const Operation& operation, Range range) {
  const OperationFaults& faults = FaultsOf(operation);
  ForwardVerdict verdict{.kept_bytes = range.length, .announces = !faults.IsCut()};
  if (IsLost(faults.placement)) {
    verdict.kept_bytes = 0;
  } else if (faults.IsCut()) {
    const std::uint64_t end = std::max(range.offset, faults.Placed(operation.length));
    verdict.kept_bytes = std::min(range.length, end - range.offset);
  }
  verdict.flipped = PlanCorruption(faults, operation.length, range);
  return verdict;
}

}  // namespace drydock::sim
