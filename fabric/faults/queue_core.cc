#include "drydock/fabric/faults/queue_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/faults/peer_directory.h"

namespace drydock::fabric::faults {
namespace {

// The operations that are posted through the contract's own calls, with a known peer.
constexpr OperationSet kTrackable = {OperationKind::kSend, OperationKind::kWrite,
                                     OperationKind::kRead};

bool ComesFromAPeer(OperationKind kind) {
  return kind == OperationKind::kReceive || kind == OperationKind::kRemoteWrite ||
         kind == OperationKind::kTaggedReceive;
}

std::int32_t StatusFor(const Firing& outcome) {
  switch (outcome.fault()) {
    case Fault::kUnsignalledError:
    case Fault::kRemoteWriteError:
      return static_cast<std::int32_t>(outcome.parameters().status);
    case Fault::kDroppedPeer:
      return *StatusOf(Fault::kUnreachable);  // or kUnresponsive: TakeDue
    default:
      break;
  }
  const std::optional<std::int32_t> own = StatusOf(outcome.fault());
  if (!own.has_value()) RefuseFault(outcome.fault());
  return *own;
}

// How long a completion is kept back, and (0: by time only) for how many others.
struct Lateness {
  coro::Duration delay{};
  std::int64_t behind = 0;
};

Lateness LatenessOf(const Firing& timing) {
  if (!timing) return {};
  switch (timing.fault()) {
    case Fault::kDelayedCompletion:
    case Fault::kHeldCompletion:
    case Fault::kSlowPeer:
      return {timing.Delay(), timing.parameters().behind};
    default:
      RefuseFault(timing.fault());
  }
}

void Fail(Completion& completion, std::int32_t status) {
  completion.error = ErrorOfStatus(status);
  completion.provider_error = status;
  completion.immediate.reset();
  completion.length_bytes = 0;
}

}  // namespace

QueueCore::QueueCore(std::shared_ptr<Session> session, std::string nic)
    : session_(std::move(session)), nic_(std::move(nic)), number_(session_->NumberQueue()) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(OperationKind::kAtomic); ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (!session_->Concerns(Point::kOutcome, kind) && !session_->Concerns(Point::kTiming, kind)) {
      continue;
    }
    (kTrackable.Has(kind) ? tracked_ : arrivals_).Add(kind);
  }
  idle_ = tracked_.empty() && arrivals_.empty() && !session_->Concerns(Point::kRead);
}

// ---- For endpoints ----

void QueueCore::CompleteUnposted(const TrackedOperation& operation) {
  const OperationFaults& faults = operation.faults;
  HeldCompletion held;
  held.completion.context = operation.context;
  held.completion.kind = operation.kind;
  Fail(held.completion, StatusFor(faults.outcome));
  const Lateness late = LatenessOf(faults.timing);
  held.due = coro::After(session_->Now(), faults.outcome.Delay() + late.delay);
  held.behind = late.behind;
  held.rule = faults.outcome.rule;
  held.endpoint = operation.endpoint;
  held.unposted = true;
  held.peer = operation.peer;
  ++operation.endpoint->unposted;
  held_.Add(held);
  session_->WakeAt(held.due);
}

void QueueCore::Forget(EndpointState* endpoint) {
  operations_.RemoveAllOf(endpoint);
  held_.RemoveAllOf(endpoint);
  std::erase(receivers_, endpoint);
}

// ---- For the queue ----

ReadResult QueueCore::Read(CompletionQueue& below, std::span<Completion> entries) {
  if (entries.empty()) return below.Read(entries);
  ++polls_;
  if (idle_) return below.Read(entries);
  injected_.clear();
  more_ = false;
  const std::size_t room = RoomOf(entries.size());
  more_ = room < entries.size();
  entries = entries.first(room);
  ReadResult result;
  result.count = TakeDue(entries);
  while (result.count < room) {
    const ReadResult got = below.Read(entries.subspan(result.count));
    const std::size_t left = Filter(entries.subspan(result.count, got.count));
    result.count += left;
    result.error = got.error;
    // Where an entry was taken out, the queue must not look empty while entries are behind it.
    if (left == got.count || got.error != ErrorCode::kOk) break;
  }
  result.count += TakeDue(entries.subspan(result.count));
  more_ = more_ && (room == 0 || result.count == room);
  return result;
}

std::size_t QueueCore::RoomOf(std::size_t room) {
  if (!session_->Concerns(Point::kRead)) return room;
  EventView view;
  view.nic = nic_;
  view.queue = number_;
  const Firing firing = session_->Decide(Point::kRead, view);
  if (!firing) return room;
  switch (firing.fault()) {
    case Fault::kShortRead:
      return std::min(room, static_cast<std::size_t>(firing.parameters().entries));
    case Fault::kEmptyRead:
      session_->WakeAt(coro::After(session_->Now(), firing.Delay()));
      return 0;
    default:
      RefuseFault(firing.fault());
  }
}

std::size_t QueueCore::TakeDue(std::span<Completion> entries) {
  std::size_t count = 0;
  return held_.TakeDue(session_->Now(), entries.size(), [&](const HeldCompletion& held) {
    Completion& seen = entries[count++];
    seen = held.completion;
    if (held.unposted) {
      --held.endpoint->unposted;
      // Whether the peer ever answered is seen when the operation is given up.
      const bool answered = held.endpoint->peers->HasAnswered(held.peer);
      if (answered && held.rule->fault == Fault::kDroppedPeer) {
        Fail(seen, *StatusOf(Fault::kUnresponsive));
      }
    }
    if (held.rule != nullptr) Remember(seen, held.rule);
  });
}

std::size_t QueueCore::Filter(std::span<Completion> entries) {
  std::size_t left = 0;
  for (Completion& completion : entries) {
    if (Judge(completion) == Verdict::kGone) continue;
    held_.OtherSeen(session_->Now());
    entries[left++] = completion;
  }
  return left;
}

QueueCore::Verdict QueueCore::Judge(Completion& completion) {
  if (completion.context.has_value() && tracked_.Has(completion.kind)) {
    return JudgeTracked(completion);
  }
  if (completion.ok() && arrivals_.Has(completion.kind)) return JudgeArrived(completion);
  return Verdict::kSeen;
}

QueueCore::Verdict QueueCore::JudgeTracked(Completion& completion) {
  const Context token = *completion.context;
  const TrackedOperation* found = operations_.Find(token);
  if (found == nullptr) return Verdict::kGone;  // of an endpoint that was closed
  const TrackedOperation operation = *found;
  operations_.Remove(token);
  completion.context = operation.context;
  if (completion.ok()) operation.endpoint->peers->Answered(operation.peer);
  const Firing& outcome = operation.faults.outcome;
  if (outcome && outcome.fault() != Fault::kLostCompletion) {
    Fail(completion, StatusFor(outcome));
  }
  // The success of a request without a context is not reported.
  if (completion.ok() && !completion.context.has_value()) return Verdict::kGone;
  return Apply(operation.faults, operation.endpoint, completion);
}

QueueCore::Verdict QueueCore::JudgeArrived(Completion& completion) {
  EventView view;
  view.nic = nic_;
  view.operation = completion.kind;
  view.immediate = completion.immediate;
  if (ComesFromAPeer(completion.kind)) {
    view.direction = Direction::kTarget;
    view.size_bytes = completion.length_bytes;
  }
  const OperationFaults faults{session_->Decide(Point::kOutcome, view),
                               session_->Decide(Point::kTiming, view)};
  if (faults.outcome && faults.outcome.fault() != Fault::kLostCompletion) {
    Fail(completion, StatusFor(faults.outcome));
  }
  return Apply(faults, receivers_.size() == 1 ? receivers_.front() : nullptr, completion);
}

QueueCore::Verdict QueueCore::Apply(const OperationFaults& faults, EndpointState* endpoint,
                                    Completion& completion) {
  const FaultRule* rule = nullptr;
  if (faults.outcome && faults.outcome.fault() == Fault::kLostCompletion) return Verdict::kGone;
  Lateness late = LatenessOf(faults.timing);
  if (faults.outcome) {
    rule = faults.outcome.rule;
    late.delay += faults.outcome.Delay();
  }
  if (late.delay == coro::Duration::zero() && late.behind == 0) {
    if (rule != nullptr) Remember(completion, rule);
    return Verdict::kSeen;
  }
  const coro::Time due = coro::After(session_->Now(), late.delay);
  held_.Add({completion, due, late.behind, rule, endpoint, false});
  session_->WakeAt(due);
  return Verdict::kGone;
}

void QueueCore::Remember(const Completion& completion, const FaultRule* rule) {
  injected_.push_back({completion.context, completion.provider_error, rule});
}

std::string QueueCore::ErrorText(const Completion& completion) const {
  for (const Injected& injected : injected_) {
    if (injected.context != completion.context ||
        injected.provider_error != completion.provider_error) {
      continue;
    }
    const std::string_view fault = Describe(injected.rule->fault).name;
    return absl::StrCat(absl::string_view(fault.data(), fault.size()), " (EFA status ",
                        completion.provider_error, "), made by the fault rule ",
                        injected.rule->name);
  }
  return "";
}

void QueueCore::Wait(BlockingWait& below, coro::Time deadline) {
  EventView view;
  view.nic = nic_;
  view.queue = number_;
  if (const Firing firing = session_->Decide(Point::kWait, view)) {
    if (firing.fault() != Fault::kSpuriousWake) RefuseFault(firing.fault());
    return;
  }
  if (more_ || held_.next_due() <= session_->Now()) return;
  below.Wait(std::min(deadline, held_.next_due()));
}

}  // namespace drydock::fabric::faults
